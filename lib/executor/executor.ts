import { join } from 'node:path'
import { nowMs } from '../system/clock.ts'
import { createGuard } from '../guard/guard.ts'
import { createArtifactStore, type ArtifactStore } from '../output/artifact/store.ts'
import type { Capture, createCapture } from '../output/capture.ts'
import { createNoCapture } from '../output/no-capture.ts'
import { MisuseError } from '../protocol/errors.ts'
import { parseRequest } from '../protocol/parse-request.ts'
import { type OutputSink, StartError } from '../protocol/ports.ts'
import type { Request, RequestInput } from '../protocol/request.ts'
import type { Result } from '../protocol/result.ts'
import type { Sessions } from '../protocol/sessions.ts'
import type { Verdict } from '../protocol/verdict.ts'
import { createAudit } from './audit.ts'
import { decide } from './decide.ts'
import { createJobs, type Jobs, refuseJob } from './jobs.ts'
import { createListening, type Listening } from './listening.ts'
import type { ExecutorOptions, RunOptions } from './options.ts'
import { deniedResult, notStartedResult } from './results.ts'
import type { Registry } from './registry/registry.ts'
import { createRunners } from './runners.ts'
import { createTask, type Task } from './task.ts'
import { mayReturnEarly, waitAsAsked } from './wait.ts'

export type { ArtifactStore } from '../output/artifact/store.ts'
export type { ExecutorOptions, RunOptions } from './options.ts'

export interface Executor {
  /** Takes one command the whole way. Rejects with `MisuseError`, or with what a listener threw. */
  run: (input: RequestInput, options?: RunOptions) => Promise<Result>
  /** The request that `run` would make of it. Throws `MisuseError`. */
  parse: (input: RequestInput) => Request
  /** What the guard says of a command, without running it. Rejects with `MisuseError` only. */
  judge(input: RequestInput): Promise<Verdict>
  readonly jobs: Jobs
  /** Leaves the result of an ended run where other nacres find it, as that of a job. */
  keep(id: string): Promise<void>
  readonly sessions: Sessions
  /** Null where nothing is kept. */
  readonly artifacts: ArtifactStore | null
  /** Stops every run and frees everything. */
  close(): Promise<void>
}

/** What belongs to one call of `run`. */
interface Call {
  runOptions: RunOptions
  listening: Listening
  /** Takes the final result before anybody else sees it. */
  settle(result: Result): Promise<Result>
}

/** Makes an executor of its own: two in one process know nothing of each other. */
export function createExecutor(options: ExecutorOptions): Executor {
  const { stateDir } = options
  const environment = options.environment ?? process.env
  const cwd = options.cwd ?? process.cwd()
  const artifacts = openArtifacts(options)
  const openCapture = createCaptureOpener(artifacts)
  const audit = stateDir === null ? null : createAudit(join(stateDir, 'audit.jsonl'))
  const guard =
    options.guard ?? createGuard({ ...options.guardOptions, home: environment['HOME'] ?? '/' })
  const runners = createRunners({
    environment,
    toTerminal: options.toTerminal ?? false,
    prefix: options.prefix ?? [],
    stateDir,
    reaper: options.reaper ?? null,
    sandbox: {
      home: environment['HOME'] ?? null,
      base: cwd,
      stateDir,
      writable: options.sandbox?.writable ?? [],
      hidden: options.sandbox?.hidden ?? [],
      fallback: options.sandbox?.fallback ?? false,
    },
  })
  const jobs = createJobs()
  let registry: Promise<Registry> | null = null
  const { defaults, timeoutSeconds, terminals } = options
  const context = { cwd, defaults, timeoutSeconds, terminals }
  let closing: Promise<void> | null = null
  /** Runs whose process is about to start. */
  const starting = new Set<Promise<unknown>>()

  async function run(input: RequestInput, runOptions: RunOptions = {}): Promise<Result> {
    refuseIfClosed()
    const request = parseRequest(input, context)
    const verdict = await decide(request, guard, runOptions.approve)
    const listening = createListening(runOptions.onEvent)
    const settle = (result: Result) => conclude(result, verdict, listening)
    const result =
      verdict.decision === 'allow'
        ? await startAndWait(request, { runOptions, listening, settle })
        : await settle(deniedResult(request, verdict))
    listening.rethrow()
    return result
  }

  async function startAndWait(request: Request, call: Call): Promise<Result> {
    const mayBecomeJob = mayReturnEarly(request)
    const registry = mayBecomeJob ? await openRegistry() : null
    const refusal = mayBecomeJob ? refuseJob(registry?.countAlive() ?? jobs.aliveCount) : null
    if (refusal) return call.settle(notStartedResult(request, { ...refusal, exitCode: 125 }))
    // It may have been closed while the guard asked.
    refuseIfClosed()
    const begun = start(request, call)
    starting.add(begun)
    const task = await begun.finally(() => starting.delete(begun))
    if ('status' in task) return call.settle(task)
    jobs.add(task)
    await registry?.declare(task)
    const result = await waitAsAsked(task, request)
    if (result.status === 'running') {
      jobs.detach(request.id)
      void registry?.keep(task)
    } else {
      registry?.withdraw(task)
    }
    return result
  }

  function refuseIfClosed(): void {
    if (closing) throw new MisuseError('closed', 'This executor is closed; make a new one')
  }

  /** Starts the process with its output on the way to the capture and to whoever listens. */
  async function start(request: Request, call: Call): Promise<Task | Result> {
    const { signal, text = true } = call.runOptions
    const { hear, onFailure } = call.listening
    const startedAtMs = nowMs()
    const capture = await openCapture(request, text)
    let touch = () => {}
    const sink: OutputSink = {
      write(stream, bytes) {
        touch()
        const kept = capture.write(stream, bytes)
        const heard = hear({ type: 'output', id: request.id, stream, bytes })
        return kept instanceof Promise ? kept.then(() => heard) : heard
      },
    }
    try {
      const running = await runners.choose(request)(request, sink)
      const task = createTask({ ...call, request, running, capture, startedAtMs, signal })
      touch = () => task.touch()
      onFailure((message) => {
        task.notice(message)
        void task.stop('cancel')
      })
      await hear({
        type: 'started',
        id: request.id,
        pid: running.pid,
        command: request.command,
      })
      return task
    } catch (error) {
      await capture.finish()
      if (error instanceof StartError) return notStartedResult(request, error.failure)
      throw error
    }
  }

  /** Loaded with the first run that may become a job. Null where nothing is kept. */
  function openRegistry(): Promise<Registry> | null {
    if (stateDir === null) return null
    registry ??= import('./registry/registry.ts').then(({ createRegistry }) =>
      createRegistry(join(stateDir, 'jobs'), jobs),
    )
    return registry
  }

  /** Every run ends here, however it ended. */
  async function conclude(result: Result, verdict: Verdict, { hear }: Listening): Promise<Result> {
    const lost = audit?.record(result, verdict.decision)
    if (lost) result.notices.push(lost)
    await hear({ type: 'exited', id: result.id, result })
    return result
  }

  async function close(): Promise<void> {
    // What was about to start is stopped as soon as it has.
    while (starting.size + jobs.aliveCount > 0) {
      await Promise.allSettled([jobs.stopAll('shutdown'), ...starting])
      // What is still to come may come from the event loop, which promises alone never let turn.
      await new Promise((turned) => setImmediate(turned))
    }
    await (await registry)?.close()
    await runners.close()
    audit?.close()
  }

  return {
    run,
    parse: (input) => parseRequest(input, context),
    judge: async (input) => guard(parseRequest(input, context)),
    jobs,
    keep: async (id) => (await openRegistry())?.keep(jobs.find(id)),
    sessions: runners.sessions,
    artifacts,
    close: () => (closing ??= close()),
  }
}

function openArtifacts({
  stateDir,
  artifactDir,
  artifactLimits,
}: ExecutorOptions): ArtifactStore | null {
  const dir = artifactDir ?? (stateDir === null ? null : join(stateDir, 'artifacts'))
  return dir === null ? null : createArtifactStore({ ...artifactLimits, dir })
}

/** What reads output is loaded with the first run whose text is wanted. */
function createCaptureOpener(store: ArtifactStore | null) {
  let create: typeof createCapture | null = null
  return async (request: Request, text: boolean): Promise<Capture> => {
    if (!text && request.artifact === 'never') return createNoCapture(request.streams)
    create ??= (await import('../output/capture.ts')).createCapture
    return create({ runId: request.id, command: request.command, request, store })
  }
}
