import { join } from 'node:path'
import { createGuard, type GuardOptions } from '../guard/guard.ts'
import {
  createArtifactStore,
  type ArtifactStore,
  type StoreOptions,
} from '../output/artifact/store.ts'
import type { Capture, createCapture } from '../output/capture.ts'
import { createNoCapture } from '../output/no-capture.ts'
import type { RunListener } from '../protocol/event.ts'
import { MisuseError } from '../protocol/errors.ts'
import { type ParseContext, parseRequest } from '../protocol/parse-request.ts'
import { type Guard, type OutputSink, StartError } from '../protocol/ports.ts'
import type { Request, RequestDefaults, RequestInput } from '../protocol/request.ts'
import type { Result } from '../protocol/result.ts'
import type { Sessions } from '../protocol/sessions.ts'
import { allowed, type Verdict } from '../protocol/verdict.ts'
import { createAudit } from './audit.ts'
import { createJobs, type Jobs, refuseJob } from './jobs.ts'
import { deniedResult, notStartedResult } from './results.ts'
import type { Registry } from './registry/registry.ts'
import { createRunners } from './runners.ts'
import { createTask, type Task } from './task.ts'
import { mayReturnEarly, waitAsAsked } from './wait.ts'

export type { ArtifactStore } from '../output/artifact/store.ts'

export interface ExecutorOptions {
  /** Where relative directories begin. Default: the current directory. */
  cwd?: string
  /** What commands inherit. Default: the environment of this process. */
  environment?: Readonly<Record<string, string | undefined>>
  /** Folder for artifacts, jobs and the audit; null keeps nothing. */
  stateDir: string | null
  /** Folder for artifacts, where it is not that of the state. */
  artifactDir?: string
  /** Decides before the start. Default: nacre's own rules, with those of `guardOptions`. */
  guard?: Guard
  /** For nacre's own guard: rules of the user, the tools that the caller has. */
  guardOptions?: Omit<GuardOptions, 'home'>
  /** Laid under the input of every run. Default: nothing. */
  defaults?: RequestDefaults
  /** Deadlines by mode, in seconds. Default: 30, 900, 86,400. */
  timeoutSeconds?: ParseContext['timeoutSeconds']
  /** `off`: no run gets a terminal; `on`: every one that does not say otherwise. Default: `auto`. */
  terminals?: ParseContext['terminals']
  /** Put before the shell of an agent's command, `['nix', 'develop', '-c']`. Default: nothing. */
  prefix?: readonly string[]
  /** Quotas and age of the artifacts. Default: 256 MiB each, 2 GiB together, 14 days. */
  artifactLimits?: Pick<StoreOptions, 'artifactBytes' | 'storeBytes' | 'ageDays'>
  /** What the sandbox leaves open and hides beside its own rules. */
  sandbox?: {
    /** Folders that a run in mode `workspace` may write beside its workspace. */
    writable?: readonly string[]
    /** Files and folders that no sandboxed run may see, beside known secrets and the state folder. */
    hidden?: readonly string[]
    /** Where the sandbox does not work, run without one and say so. Default: do not start. */
    fallback?: boolean
  }
  /**
   * The words that start a program which ends the runs of a killed process; the name of that process
   * (`<pid>:<start time>`) is added. Default: none, its runs stay.
   */
  reaper?: readonly string[]
  /** Output goes straight to a terminal: `TERM` and `NO_COLOR` are left alone. */
  toTerminal?: boolean
}

export interface RunOptions {
  /** Aborting it stops the run (`reason: cancel`). */
  signal?: AbortSignal
  /** False: the output is only listened to; the result carries no text. Default: true. */
  text?: boolean
  /** Hears what happens as it happens. */
  onEvent?: RunListener
  /** Answers where the guard asks. Without it, asking is denying. */
  approve?: (request: Request, verdict: Verdict) => boolean | Promise<boolean>
}

export interface Executor {
  /** Takes one command the whole way. Rejects with `MisuseError` only. */
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
    const settle = (result: Result) => conclude(result, verdict, runOptions.onEvent)
    if (verdict.decision !== 'allow') return settle(deniedResult(request, verdict))
    const mayBecomeJob = mayReturnEarly(request)
    const registry = mayBecomeJob ? await openRegistry() : null
    const refusal = mayBecomeJob ? refuseJob(registry?.countAlive() ?? jobs.aliveCount) : null
    if (refusal) return settle(notStartedResult(request, { ...refusal, exitCode: 125 }))
    // It may have been closed while the guard asked.
    refuseIfClosed()
    const begun = start(request, runOptions, settle)
    starting.add(begun)
    const task = await begun.finally(() => starting.delete(begun))
    if ('status' in task) return settle(task)
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
  async function start(
    request: Request,
    runOptions: RunOptions,
    settle: (result: Result) => Promise<Result>,
  ): Promise<Task | Result> {
    const { signal, onEvent } = runOptions
    const startedAtMs = performance.now()
    const capture = await openCapture(request, runOptions.text ?? true)
    let touch = () => {}
    const sink: OutputSink = {
      write(stream, bytes) {
        touch()
        const kept = capture.write(stream, bytes)
        const heard = onEvent?.({ type: 'output', id: request.id, stream, bytes })
        return kept instanceof Promise ? kept.then(() => heard) : heard
      },
    }
    try {
      const running = await runners.choose(request)(request, sink)
      const task = createTask({ request, running, capture, startedAtMs, signal, settle })
      touch = () => task.touch()
      await onEvent?.({
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
  async function conclude(
    result: Result,
    verdict: Verdict,
    onEvent: RunListener | undefined,
  ): Promise<Result> {
    const lost = audit?.record(result, verdict.decision)
    if (lost) result.notices.push(lost)
    await onEvent?.({ type: 'exited', id: result.id, result })
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

/** The guard's verdict, where it asks with the answer of whoever can be asked. */
async function decide(
  request: Request,
  guard: Guard,
  approve: RunOptions['approve'],
): Promise<Verdict> {
  const verdict = await guard(request)
  if (verdict.decision !== 'ask') return verdict
  if (await approve?.(request, verdict)) return allowed
  const hint = approve ? '' : ` Nobody can be asked here; ${howToAllow(request)}.`
  return { ...verdict, decision: 'deny', reason: `${verdict.reason ?? ''}${hint}` }
}

/** A model must not be told how to get round the guard; its user may do it. */
function howToAllow({ origin }: Request): string {
  return origin === 'agent' || origin === 'mcp'
    ? 'if it is meant, the user can run it'
    : '--no-guard allows it for one call'
}
