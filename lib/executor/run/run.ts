import { nowMs } from '../../system/clock.ts'
import { createDeferred } from '../../protocol/deferred.ts'
import type { Capture, Captured } from '../../output/capture.ts'
import type { KeptTexts } from '../../output/part.ts'
import { MisuseError } from '../../protocol/errors.ts'
import type { RunEvent } from '../../protocol/result/event.ts'
import type { JobEntry, JobOutput } from '../../protocol/result/job.ts'
import { describeJob } from '../jobs/describe-job.ts'
import type { Reading } from '../../protocol/result/reading.ts'
import {
  interruption,
  type KeptPlace,
  type Running,
  shutdown,
  type StopOptions,
  type StopReport,
} from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { Result, StopReason } from '../../protocol/result/result.ts'
import { Asked } from './asked.ts'
import { createDeadlines, type Deadlines } from './deadlines.ts'
import type { EventStream } from './event-stream.ts'
import { endedResult, runningResult } from '../results.ts'

/**
 * One command taken through the executor, from its start on. Also a run that was denied or did not
 * start is one: it has ended.
 */
export interface Run {
  readonly id: string
  readonly request: Request
  /** Of its first process; null where it has none, or none yet (it waits for its session). */
  readonly pid: number | null
  /**
   * The result as the caller asked to wait for it: the final one, or a running one, and then the run is
   * a job. Rejects with what the run's listener threw, and with nothing else.
   */
  readonly result: Promise<Result>
  /** The final result. Never rejects. */
  readonly ended: Promise<Result>
  /**
   * What happens, in order, for each `for await` over it. One that begins right after `start` gets
   * everything; while it has not taken what came, the command waits.
   */
  readonly events: AsyncIterable<RunEvent>
  /** The clean text line by line, without the newlines, to its end. */
  lines(): AsyncIterable<string>
  /** How it stands. */
  look(): Result
  /** A part of the clean text; the caller holds the cursor. */
  read(reading?: Reading): JobOutput
  /**
   * Writes to its terminal or its open standard input, after what was written before. Settles when all
   * of it has been taken. Rejects with `MisuseError` where nobody reads, and where too much waits to be
   * read already (`input_full`).
   */
  write(data: string): Promise<void>
  /** Ends its input, after what was written. Throws `MisuseError` where there is none. */
  endInput(): void
  /** Changes the size of its terminal. */
  resize(columns: number, rows: number): void
  /**
   * Stops everything that it started; the first reason is kept. `interrupt`: as Ctrl-C does, with INT
   * first. Gives the final result.
   */
  stop(reason?: StopReason, options?: StopOptions): Promise<Result>
  /** The path of the control group that holds all that it started; null where there is none. */
  readonly group: string | null
  /** Its caller waits no more: the run is a job from now on. Gives how it stands. */
  detach(): Result
  /** No other nacre can find it as a job, since its record could not be written. */
  readonly isHidden: boolean
  /** At the end of a block (`await using run = …`): stops it, unless it has ended or is a job. */
  [Symbol.asyncDispose](): Promise<void>
}

/** What the executor knows of a run beside what its caller sees. */
export interface LiveRun extends Run {
  /** ISO 8601, UTC. */
  readonly startedAt: string
  /** As a line of the list of jobs. */
  describe(): JobEntry
  /** Its caller waits no more. */
  readonly isJob: boolean
  /** Settles when the caller is to wait no more: it left, or the deadline says so. */
  readonly left: Promise<void>
  /** Settles when every nacre of this user can find the run, where it is a job. */
  readonly declared: Promise<void>
  /** Where it goes on without this process; null where it does not. */
  readonly place: KeptPlace | null
  /** All clean text that is kept. */
  kept(): KeptTexts
  /** A short sentence for the reader of the result. */
  notice(text: string): void
  /** As `notice`, for a job that no other nacre can find. */
  hide(text: string): void
  /** Says that output came. */
  touch(): void
  /** How long nothing has been written. */
  quietMs(): number
}

/** What a run has of the call that has started it. */
export interface RunCall {
  stream: EventStream
  /** Takes the final result before anybody else sees it. */
  settle(result: Result): Promise<Result>
  /** Waits for the run as its caller asked. */
  wait(run: LiveRun): Promise<Result>
}

export interface RunParts {
  request: Request
  running: Running
  capture: Capture
  /** When it started: by `nowMs`, and for people. */
  times: { startedAtMs: number; startedAt: Date }
  /** Aborting it stops the run. */
  signal: AbortSignal | undefined
  call: RunCall
  /** Is told once, when the run becomes a job. */
  onLeave(run: LiveRun): Promise<void>
}

/** What may wait to be read by one run. */
const inputMaxBytes = 4 * 1024 * 1024

/** Follows a started process to its end. Every cause of a stop comes together in `end`. */
export function createRun(parts: RunParts): LiveRun {
  const { request, running, capture, signal, call } = parts
  const notices: string[] = []
  let stopping: { reason: StopReason; report: Promise<StopReport> } | null = null
  let final: Result | null = null
  const { startedAtMs, startedAt } = parts.times
  let endedAt: Date | null = null
  let declared: Promise<void> | null = null
  let unreadBytes = 0
  let isHidden = false
  const { promise: left, resolve: leave } = createDeferred()

  // Those of an array are its tasks'.
  const own = request.array ? { timeoutMs: null, inactivityMs: null } : request
  const deadlines: Deadlines = createDeadlines(
    own,
    {
      onTimeout() {
        if (request.onTimeout === 'background') leave()
        else void stop('timeout')
      },
      onInactivity: () => void stop('inactivity'),
    },
    running.begun,
  )
  const onAbort = () =>
    void stop(signal?.reason === shutdown ? shutdown : 'cancel', {
      interrupt: signal?.reason === interruption,
    })
  if (signal?.aborted) onAbort()
  else signal?.addEventListener('abort', onAbort, { once: true })

  function stop(reason: StopReason, options?: StopOptions): Promise<StopReport> {
    stopping ??= { reason, report: running.stop(reason, options) }
    return stopping.report
  }

  function progress(captured: Captured) {
    const durationMs = nowMs() - startedAtMs
    return { captured, durationMs, notices, sandbox: running.sandbox, tasks: running.tasks() }
  }

  async function end(): Promise<Result> {
    const exit = await running.exited
    const stopped = stopping && { reason: stopping.reason, ...(await stopping.report) }
    deadlines.clear()
    signal?.removeEventListener('abort', onAbort)
    const measured = progress(await capture.finish())
    // A caller that waits for nothing is told of a job, however soon the command has ended.
    await declared
    const result = await call.settle(endedResult(request, measured, exit, stopped))
    final = result
    endedAt = new Date()
    return result
  }

  const look = () =>
    final ?? runningResult(request, progress(capture.snapshot()), running.waitingForInput())

  const asked = {
    pid: () => running.pid,
    startedAt: () => startedAt.toISOString(),
    group: () => running.group,
    result: () => result,
    declared: () => declared,
    isHidden: () => isHidden,
  }
  const run: LiveRun = Object.assign(new Asked(asked), {
    id: request.id,
    request,
    ended: end(),
    left,
    place: running.kept,
    describe: (): JobEntry => describeRun(run, final, endedAt?.toISOString() ?? null),
    events: call.stream,
    lines: () => readLines(run),
    look,
    read: (reading: Reading = {}): JobOutput => ({
      ...capture.read(reading),
      status: final?.status ?? 'running',
    }),
    kept: () => capture.kept(),
    async write(data: string) {
      // A terminal whose program has ended would take what is written and tell nobody.
      if (final) throw new MisuseError('no_input', `The run \`${request.id}\` has ended`, 'job_id')
      const bytes = Buffer.byteLength(data)
      if (unreadBytes > 0 && unreadBytes + bytes > inputMaxBytes) throw inputFull(unreadBytes)
      unreadBytes += bytes
      try {
        await running.write(data)
      } finally {
        unreadBytes -= bytes
      }
    },
    endInput: () => running.endInput(),
    resize: (columns: number, rows: number) => running.resize(columns, rows),
    async stop(reason: StopReason = 'cancel', options?: StopOptions): Promise<Result> {
      if (!final) await stop(reason, options)
      return run.ended
    },
    detach(): Result {
      leave()
      if (!declared) running.leave()
      declared ??= parts.onLeave(run)
      return look()
    },
    notice(text: string) {
      if (final) final.notices.push(text)
      else notices.push(text)
    },
    hide(text: string) {
      isHidden = true
      run.notice(text)
    },
    touch: () => deadlines.touch(),
    quietMs: () => deadlines.quietMs(),
    async [Symbol.asyncDispose]() {
      if (!run.isJob) await run.stop()
    },
  })
  const result = markHandled(call.wait(run))
  return run
}

/** A run of this process as a line of the list of jobs. */
export function describeRun(
  { id, pid, request, startedAt }: Pick<LiveRun, 'id' | 'pid' | 'request' | 'startedAt'>,
  final: Result | null,
  endedAt: string | null,
): JobEntry {
  const { command, cwd, origin, pty } = request
  const owner = { ownerPid: process.pid, ownerAlive: true }
  const facts = { id, command, cwd, origin, pid, pty: pty !== null, ...owner, startedAt, endedAt }
  return describeJob({ ...facts, artifact: null }, final)
}

/** A caller that holds the run need not look at its result: that is no fault of nacre's. */
export function markHandled(result: Promise<Result>): Promise<Result> {
  result.catch(() => undefined)
  return result
}

function inputFull(unreadBytes: number): MisuseError {
  const message = `${unreadBytes} bytes of input wait to be read; write more once they are`
  return new MisuseError('input_full', message, 'data')
}

/** The text of a run from a place on, piece by piece; the place moves on with it. */
export function* readOn(run: Pick<Run, 'read'>, place: { cursor: number }): Generator<string> {
  for (;;) {
    const { text, cursor } = run.read(place)
    if (text === '') return
    place.cursor = cursor
    yield text
  }
}

/** Follows the text of a run by its events; what is not whole yet waits for its newline or the end. */
export async function* readLines(run: Pick<Run, 'events' | 'read'>): AsyncGenerator<string> {
  const place = { cursor: 0 }
  let unfinished = ''
  function* readNew(): Generator<string> {
    for (const text of readOn(run, place)) {
      const lines = (unfinished + text).split('\n')
      unfinished = lines.pop() ?? ''
      yield* lines
    }
  }
  for await (const { type } of run.events) if (type === 'output') yield* readNew()
  yield* readNew()
  if (unfinished !== '') yield unfinished
}
