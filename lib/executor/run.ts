import type { Capture, Captured } from '../output/capture.ts'
import { type KeptTexts, noText, readKept } from '../output/bounds.ts'
import { createDeferred } from '../protocol/deferred.ts'
import { messageOf, MisuseError, OutputLimitError } from '../protocol/errors.ts'
import {
  interruption,
  type OutputSink,
  type Runner,
  type Running,
  shutdown,
  type StopOptions,
  type StopReport,
} from '../protocol/ports.ts'
import type { Request } from '../protocol/request/request.ts'
import type { RunEvent } from '../protocol/result/event.ts'
import type { JobOutput, Reading } from '../protocol/result/reading.ts'
import type { Result, StopReason } from '../protocol/result/result.ts'
import { nowMs } from '../system/clock.ts'
import type { RunOptions } from './options.ts'
import { endedResult, runningResult } from './results.ts'
import {
  both,
  createEventStream,
  type GuardedListener,
  guardListener,
  listenForProgram,
  readLines,
} from './run-events.ts'
import { createDeadlines, type Deadlines, type WaitLimits, waitUntilOver } from './wait.ts'

/**
 * One command taken through the executor, from its start on. Also a run that was denied or did not
 * start is one: it has ended.
 */
export type Run = Pick<
  LiveRun,
  | 'id'
  | 'request'
  | 'pid'
  | 'result'
  | 'ended'
  | 'events'
  | 'lines'
  | 'look'
  | 'read'
  | 'write'
  | 'endInput'
  | 'resize'
  | 'stop'
  | 'group'
  | 'detach'
  | typeof Symbol.asyncDispose
>

/** What the executor gives its run, and hears of it. */
export interface RunParts {
  request: Request
  options: RunOptions
  /** Until it settles, output is held back: whoever gets the run can listen to all of it. */
  opened?: Promise<void> | null | undefined
  /** A program reads the result by itself. */
  forProgram?: boolean
  /** Is told of the end; gives a notice where it could not be written down. */
  record(result: Result): string | null | undefined
  /** Makes the run one that can be found; its start is told after that. */
  onStart(run: LiveRun): Promise<void>
  /** Is told once, when the run becomes a job. */
  onDetach(run: LiveRun): void
}

/** What may wait to be read by one run. */
const inputMaxBytes = 4 * 1024 * 1024

/**
 * A run from the verdict on: it is refused, or started and followed to its end. Every cause of a stop comes
 * together in `#stop`. It is a class, since V8 puts the getters of an object literal into its old generation,
 * where they keep all that they reach until a full collection.
 */
export class LiveRun {
  readonly id: string
  readonly request: Request
  readonly #events = createEventStream()
  /**
   * What happens, in order, for each `for await` over it. One that begins right after `start` gets
   * everything; while it has not taken what came, the command waits.
   */
  readonly events: AsyncIterable<RunEvent> = this.#events
  /** The final result. Never rejects. */
  readonly ended: Promise<Result>
  /**
   * The result as the caller asked to wait for it: the final one, or a running one, and then the run is
   * a job. Rejects with what the run's listener threw, and with nothing else.
   */
  readonly result: Promise<Result>
  readonly #parts: RunParts
  readonly #listener: GuardedListener
  /** It has been refused, or its process runs. */
  readonly #begun = createDeferred()
  /** The run can be found, and its start has been told. */
  readonly #told = createDeferred()
  /** Its caller is to wait no more: it left, or the deadline says so. */
  readonly #left = createDeferred()
  readonly #end = createDeferred<Result>()
  readonly #notices: string[] = []
  #running: Running | null = null
  #capture: Capture | null = null
  #deadlines: Deadlines | null = null
  #startedAtMs = 0
  #startedAt = new Date()
  #endedAt: Date | null = null
  #stopping: { reason: StopReason; report: Promise<StopReport> } | null = null
  #final: Result | null = null
  #isJob = false
  #isHidden = false
  #unreadBytes = 0

  constructor(parts: RunParts) {
    const { request, options, forProgram } = parts
    this.id = request.id
    this.request = request
    this.#parts = parts
    const isWhole = () => request.text === 'whole' && !this.isJob
    const onEvent = forProgram ? listenForProgram(options.onEvent, isWhole) : options.onEvent
    this.#listener = guardListener(onEvent, (error) => this.#failListener(error))
    this.ended = this.#end.promise
    this.result = this.#begun.promise.then(() => this.#waitAsAsked())
    // A caller that holds the run need not look at its result: that is no fault of nacre's.
    this.result.catch(() => undefined)
  }

  /** Ends it with this result, before anything was started for it. */
  async refuse(result: Result): Promise<this> {
    this.#end.resolve(this.#settle(result))
    await this.ended
    this.#begun.resolve()
    return this
  }

  /**
   * Starts its process, with the output on the way to the capture and to whoever listens. What the runner
   * rejects with is thrown, and the capture is finished then. `startedAt`: of a run that another nacre began.
   */
  async start(runner: Runner, capture: Capture, startedAt = new Date()): Promise<this> {
    const { id, request } = this
    this.#startedAt = startedAt
    this.#startedAtMs = nowMs() - Math.max(0, Date.now() - startedAt.getTime())
    let isTold = false
    const { opened } = this.#parts
    const told = (opened ? this.#told.promise.then(() => opened) : this.#told.promise).then(() => {
      isTold = true
    })
    const sink: OutputSink = {
      write: (stream, bytes) => {
        this.#deadlines?.touch()
        if (!isTold) return told.then(() => sink.write(stream, bytes))
        return both(capture.write(stream, bytes), this.#emit({ type: 'output', id, stream, bytes }))
      },
      tellTask: (end, counts) =>
        told.then(() => this.#emit({ type: 'task', id, ...end, ...counts })),
    }
    try {
      const running = await runner(request, sink)
      this.#follow(running, capture)
      await this.#parts.onStart(this)
      await this.#emit({ type: 'started', id, pid: running.pid(), command: request.command })
      return this
    } catch (error) {
      await capture.finish()
      throw error
    } finally {
      // Its end waits for this.
      this.#told.resolve()
    }
  }

  #follow(running: Running, capture: Capture): void {
    const { request } = this
    const { signal, leaving } = this.#parts.options
    leaving?.addEventListener('abort', () => this.detach(), { once: true })
    this.#running = running
    this.#capture = capture
    // Those of an array are its tasks'.
    const limits = request.array ? { timeoutMs: null, inactivityMs: null } : request
    const onTimeout = () => {
      if (request.onTimeout === 'background') this.#left.resolve()
      else void this.#stop('timeout')
    }
    const onInactivity = () => void this.#stop('inactivity')
    this.#deadlines = createDeadlines(limits, { onTimeout, onInactivity }, running.begun)
    const onAbort = () => {
      const reason = signal?.reason === shutdown ? shutdown : 'cancel'
      void this.#stop(reason, { interrupt: signal?.reason === interruption })
    }
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
    const release = () => signal?.removeEventListener('abort', onAbort)
    this.#end.resolve(this.#conclude(running, capture, release))
    this.#begun.resolve()
  }

  async #conclude(running: Running, capture: Capture, release: () => void): Promise<Result> {
    const exit = await running.exited
    const stopped = this.#stopping && {
      reason: this.#stopping.reason,
      ...(await this.#stopping.report),
    }
    this.#deadlines?.clear()
    release()
    const progress = this.#measure(running, await capture.finish())
    await this.#told.promise
    return this.#settle(endedResult(this.request, progress, exit, stopped))
  }

  /** Takes the final result; it is told and written down before anybody else sees it. */
  async #settle(result: Result): Promise<Result> {
    const notice = this.#parts.record(result)
    if (notice) result.notices.push(notice)
    await this.#emit({ type: 'exited', id: this.id, result })
    this.#final = result
    this.#endedAt = new Date()
    return result
  }

  #emit(event: RunEvent) {
    return both(this.#listener.emit(event), this.#events.push(event))
  }

  #failListener(error: unknown): void {
    if (this.#running === null) return
    const isLimit = error instanceof OutputLimitError
    this.notice(isLimit ? error.message : `Its listener failed: ${messageOf(error)}`)
    void this.#stop(isLimit ? 'output_limit' : 'cancel')
  }

  #stop(reason: StopReason, options?: StopOptions): Promise<StopReport> {
    if (this.#running === null) return Promise.resolve({ survivors: [] })
    this.#stopping ??= { reason, report: this.#running.stop(reason, options) }
    return this.#stopping.report
  }

  #measure(running: Running, captured: Captured) {
    const durationMs = nowMs() - this.#startedAtMs
    const { sandbox } = running
    return { captured, durationMs, notices: this.#notices, sandbox, tasks: running.tasks() }
  }

  /** To the end, for a while, until it is ready, until its deadline leaves it running, or the caller leaves. */
  async #waitAsAsked(): Promise<Result> {
    const { waitMs, ready } = this.request
    const over = Promise.race([this.ended, this.#left.promise])
    if (waitMs === null && ready === null) await over
    else if (waitMs !== 0) await waitUntilOver(this, over, { timeoutMs: waitMs, ready })
    if (this.#final === null) {
      this.detach()
      await this.#told.promise
    }
    this.#listener.rethrow()
    return this.look()
  }

  /** Waits for the end at most so long. Gives how it stands then. */
  async waitAtMost(limits: WaitLimits): Promise<Result> {
    await waitUntilOver(this, this.ended, limits)
    return this.look()
  }

  /** Of its first process; null if it has none, or none yet (it waits for its session). */
  get pid(): number | null {
    return this.#running?.pid() ?? null
  }

  /** The path of the control group that holds all that it started; null if there is none. */
  get group(): string | null {
    return this.#running?.group() ?? null
  }

  /** ISO 8601, UTC. */
  get startedAt(): string {
    return this.#startedAt.toISOString()
  }

  /** The same; null while it goes on. */
  get endedAt(): string | null {
    return this.#endedAt?.toISOString() ?? null
  }

  /** Its caller waits no more. */
  get isJob(): boolean {
    return this.#isJob
  }

  /** Its process, if it has come to one. */
  get running(): Running | null {
    return this.#running
  }

  /** The clean text line by line, without the newlines, to its end. */
  lines(): AsyncIterable<string> {
    return readLines(this)
  }

  /** How it stands. */
  look(): Result {
    if (this.#final) return this.#final
    if (!this.#running || !this.#capture) throw new Error('a run is looked at before its start')
    const progress = this.#measure(this.#running, this.#capture.snapshot())
    const result = runningResult(this.request, progress, this.#running.waitingForInput())
    return this.#isHidden ? { ...result, jobId: null } : result
  }

  /** A part of the clean text; the caller holds the cursor. */
  read(reading: Reading = {}): JobOutput {
    const part = this.#capture?.read(reading) ?? readKept(noText, reading)
    return { ...part, status: this.#final?.status ?? 'running' }
  }

  /** All clean text that is kept. */
  kept(): KeptTexts {
    return this.#capture?.kept() ?? noText
  }

  /**
   * Writes to its terminal or its open standard input, after what was written before. Settles when all
   * of it has been taken. Rejects with `MisuseError` if nobody reads, and if too much waits to be read
   * already (`input_full`).
   */
  async write(data: string): Promise<void> {
    const running = this.#openInput()
    const bytes = Buffer.byteLength(data)
    if (this.#unreadBytes > 0 && this.#unreadBytes + bytes > inputMaxBytes) {
      const message = `${this.#unreadBytes} bytes of input wait to be read; write more once they are`
      throw new MisuseError('input_full', message, 'data')
    }
    this.#unreadBytes += bytes
    try {
      await running.write(data)
    } finally {
      this.#unreadBytes -= bytes
    }
  }

  /** Ends its input, after what was written. Throws `MisuseError` if there is none. */
  endInput(): void {
    this.#openInput().endInput()
  }

  /** A terminal whose program has ended would take what is written and tell nobody. */
  #openInput(): Running {
    if (this.#running && !this.#final) return this.#running
    throw new MisuseError('no_input', `The run \`${this.id}\` has ended`, 'job_id')
  }

  /** Changes the size of its terminal. */
  resize(columns: number, rows: number): void {
    this.#running?.resize(columns, rows)
  }

  /**
   * Stops everything that it started; the first reason is kept. `interrupt`: as Ctrl-C does, with INT
   * first. Gives the final result.
   */
  async stop(reason: StopReason = 'cancel', options?: StopOptions): Promise<Result> {
    if (!this.#final) await this.#stop(reason, options)
    return this.ended
  }

  /** Its caller waits no more: the run is a job from now on. Gives how it stands. */
  detach(): Result {
    this.#left.resolve()
    if (!this.#isJob && this.#running !== null) {
      this.#isJob = true
      this.#running.leave()
      this.#parts.onDetach(this)
    }
    return this.look()
  }

  /** A short sentence for the reader of the result. */
  notice(text: string): void {
    if (this.#final) this.#final.notices.push(text)
    else this.#notices.push(text)
  }

  /** Tells why no other process can find it. */
  hide(text: string): void {
    this.#isHidden = true
    this.notice(text)
  }

  quietMs(): number {
    return this.#deadlines?.quietMs() ?? 0
  }

  /** At the end of a block (`await using run = …`): stops it, unless it has ended or is a job. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.isJob) await this.stop()
  }
}
