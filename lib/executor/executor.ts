import { realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createDeferred, createLazy } from '../protocol/deferred.ts'
import { findWorkspace, type FixedFolder, fixFolder, ifSeen } from '../system/look.ts'
import { expandHome } from '../protocol/words.ts'
import { createGuard } from '../guard/guard.ts'
import type { ArtifactStore } from '../output/artifact/store.ts'
import { createCaptureOpener } from '../output/open-capture.ts'
import { MisuseError } from '../protocol/errors.ts'
import { parseRequest } from '../protocol/request/parse-request.ts'
import { originPolicies } from '../protocol/origin.ts'
import {
  type Bounds,
  type Guard,
  type Runner,
  shutdown,
  StartError,
  type StartFailure,
  type StopOptions,
  type Sessions,
} from '../protocol/ports.ts'
import type { Request, RequestInput } from '../protocol/request/request.ts'
import type { Result } from '../protocol/result/result.ts'
import type { Verdict } from '../protocol/rules.ts'
import { openAudit } from './audit.ts'
import { createSessionOrder, decide, type Turn } from './admission.ts'
import { createJobs, refuseJob } from './jobs/jobs.ts'
import { type Jobs, notFound } from './jobs/port.ts'
import {
  type ExecutorOptions,
  type HolderStart,
  keepWithin,
  openArtifacts,
  type RunOptions,
} from './options.ts'
import { deniedResult, neverStartedResult, notStartedResult } from './results.ts'
import { LiveRun, type Run, type RunParts } from './run.ts'
import type { Holder } from './jobs/holder.ts'
import type { KnownJobs } from './jobs/known-jobs.ts'
import type { Registry } from './jobs/registry.ts'
import { createRunners } from './runners.ts'
import { createSecrets } from '../run/secrets.ts'
import { createControlGroups } from '../system/process/control-group.ts'

export type { ArtifactStore } from '../output/artifact/store.ts'
export type { Approve, ExecutorOptions, RunOptions, TextBounds } from './options.ts'
export type { Run } from './run.ts'

export interface Executor {
  /**
   * Takes one command the whole way, and gives the run as soon as its process has started (or waits for
   * its session). A run that was denied or could not start is one that has ended. Rejects with
   * `MisuseError` only.
   */
  start: (input: RequestInput, options?: RunOptions) => Promise<Run>
  /** Does what `start` does and waits for the `result`. */
  run: (input: RequestInput, options?: RunOptions) => Promise<Result>
  /** Does what `run` does, for a run that may outlive this process: where there is a holder, in that. */
  hold: (input: RequestInput, options?: RunOptions) => Promise<Result>
  /** The request that `start` would make of it. Throws `MisuseError`. */
  parse: (input: RequestInput) => Request
  /** Has a workspace be the folder that has this path now, and no other, for all that this executor runs. */
  fixWorkspace(path: string): void
  /** What the guard says of a command, without running it. Rejects with `MisuseError` only. */
  judge(input: RequestInput): Promise<Verdict>
  /** What a run would be confined by; null: nothing. Rejects with `MisuseError` and `StartError`. */
  boundsOf(input: RequestInput): Promise<Bounds | null>
  /** The jobs of every nacre of this user. */
  readonly jobs: Jobs
  /**
   * Takes up a job on another machine whose nacre was killed. Null: there is nothing to take up any more.
   * Rejects with `MisuseError`.
   */
  takeUp(id: string): Promise<Run | null>
  readonly sessions: Sessions
  /** Null where nothing is kept. */
  readonly artifacts: ArtifactStore | null
  /** The hosts on which a model may run commands. */
  readonly agentHosts: readonly string[]
  /** Stops every run and frees everything. */
  close(how?: StopOptions): Promise<void>
  /** `close`, at the end of a block: `await using executor = createExecutor()`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Makes an executor of its own: two in one process know nothing of each other. */
export function createExecutor(options: ExecutorOptions): Executor {
  const { stateDir } = options
  const environment = options.environment ?? process.env
  const cwd = options.cwd ?? process.cwd()
  const artifacts = openArtifacts(options, environment)
  const secrets = createSecrets({ ...options, environment, ownEnvironment: process.env })
  const audit = openAudit(options, secrets)
  const ownGuard =
    options.guard ?? createGuard({ ...options.guardOptions, home: environment['HOME'] ?? '/' })
  const guard: Guard = (request) =>
    originPolicies[request.origin].guardRules === 'all' && request.sandbox !== 'off'
      ? untilStarted(runners.isConfined(request)).then((isConfined) =>
          ownGuard({ ...request, isConfined }),
        )
      : ownGuard(request)
  const ending = new AbortController()
  const folders = new Map<string, FixedFolder>()
  const runners = createRunners(createControlGroups(), {
    environment,
    secrets,
    toTerminal: options.toTerminal ?? false,
    prefix: options.prefix ?? [],
    cwd,
    ending: ending.signal,
    hosts: options.hosts ?? {},
    stateDir,
    program: options.program ?? null,
    sandbox: {
      folders,
      home: environment['HOME'] ?? null,
      configHome: environment['XDG_CONFIG_HOME'] || null,
      stateDir,
      artifactDir: artifacts?.dir ?? null,
      writable: options.sandbox?.writable ?? [],
      hidden: options.sandbox?.hidden ?? [],
      visible: options.sandbox?.visible ?? [],
    },
  })
  const openCapture = createCaptureOpener(artifacts, (request) => runners.viewOf(request))
  const jobsDir = stateDir === null ? null : join(stateDir, 'jobs')
  const holderStart = options.holder ? { ...options.holder, environment } : null
  /** The jobs that have records; loaded when somebody asks for jobs. */
  const known = createLazy<KnownJobs>(async () => {
    const { openKnownJobs } = await import('./jobs/known-jobs.ts')
    return openKnownJobs(jobsDir ?? '', holderStart)
  })
  const runs = createJobs(() => (jobsDir === null ? null : known.open()))
  const { jobs } = runs
  const registry = createLazy<Registry>(async () => {
    const { createRegistry } = await import('./jobs/registry.ts')
    return createRegistry(jobsDir ?? '', jobs)
  })
  /** What holds the runs that may outlive this process. */
  const holder = createLazy<Holder>(async () => {
    const { createHolder } = await import('./jobs/holder.ts')
    return createHolder(holderStart as HolderStart)
  })
  const { defaults, forPrograms } = options
  const home = environment['HOME']
  const base = resolve(cwd, defaults?.cwd ?? '.')
  // Found once: a run that adds or removes a `.git` does not move it.
  const workspace = findWorkspace(ifSeen(() => realpathSync.native(base)) ?? base)
  const context = { ...options, cwd, home, workspace }
  fixWorkspace(defaults?.workspace ? resolve(cwd, expandHome(defaults.workspace, home)) : workspace)
  let closing: Promise<void> | null = null
  /** Runs that are about to start, and those of the holder whose caller waits. */
  const starting = new Set<Promise<unknown>>()
  const order = createSessionOrder(ending.signal)

  /** Takes one command from its door to its process. */
  async function begin(
    input: RequestInput,
    options: RunOptions,
    opened: Promise<void> | null = null,
  ): Promise<LiveRun> {
    refuseIfClosed()
    const request = shapeRequest(input, options)
    return order.enter(request, (turn) => admit({ request, options, opened }, turn))
  }

  async function admit(
    { request, options, opened }: Pick<RunParts, 'request' | 'options' | 'opened'>,
    turn: Turn,
  ): Promise<LiveRun> {
    const verdict = await decide(request, guard, options)
    const dismissed = await turn(options.signal)
    const forProgram = forPrograms ?? false
    const run = makeRun({ request, options, opened, forProgram }, verdict.decision)
    if (verdict.decision !== 'allow') return run.refuse(deniedResult(request, verdict))
    if (options.signal?.aborted) return run.refuse(neverStartedResult(request, options.signal))
    // A run that becomes a job at its deadline only is not refused: nothing that it does is to be lost.
    const isJob = request.waitMs !== null || request.ready !== null
    const refusal = dismissed ?? (isJob ? await refuseAsJob(request) : null)
    if (refusal) return run.refuse(notStartedResult(request, refusal))
    const tasks = request.array ? await openTasks() : null
    // The executor may have been closed while the guard asked a person.
    refuseIfClosed()
    return launch(run, tasks ?? runners.choose(request, options.signal), options)
  }

  function makeRun(asked: Omit<RunParts, 'record' | 'onStart' | 'onDetach'>, decision: string) {
    const record = (result: Result) => audit?.record(result, decision)
    return new LiveRun({ ...asked, record, onStart, onDetach: runs.leave })
  }

  /** Why a run would be one job too many; null where it may start. */
  async function refuseAsJob({ belongsTo }: Request): Promise<StartFailure | null> {
    const recorded = jobsDir === null ? [] : (await known.open()).listAlive()
    const own = runs.listOwn().filter(({ id }) => recorded.every((job) => job.id !== id))
    return refuseJob([...recorded, ...own], belongsTo === null)
  }

  function fixWorkspace(path: string): void {
    const found = folders.has(path) ? null : fixFolder(path)
    if (found) folders.set(path, found)
  }

  function shapeRequest(input: RequestInput, options: RunOptions): Request {
    const { id, cwd, workspace } = options
    if (workspace) folders.set(workspace.name, workspace)
    const place = { ...(cwd && { cwd }), ...(workspace && { workspace: workspace.name }) }
    const isPlaced = cwd !== undefined || workspace !== undefined
    const from = isPlaced
      ? { ...context, ...place, defaults: { ...context.defaults, ...place } }
      : context
    const request = keepWithin(parseRequest(input, from), options)
    return id === undefined ? request : { ...request, id }
  }

  function refuseIfClosed(): void {
    if (closing) throw new MisuseError('closed', 'This executor is closed; make a new one')
  }

  /** A run that nobody is asked about: a task of an array, or one that was begun by another nacre. */
  function goOn(request: Request, runner?: Runner, startedAt?: Date): Promise<LiveRun> {
    const run = makeRun({ request, options: {} }, 'allow')
    return launch(run, runner ?? runners.choose(request), {}, startedAt)
  }

  async function launch(
    run: LiveRun,
    runner: Runner,
    { text = true }: RunOptions,
    startedAt?: Date,
  ): Promise<LiveRun> {
    const begun = openCapture(run.request, text).then((capture) =>
      run.start(runner, capture, startedAt),
    )
    try {
      return await untilStarted(begun)
    } catch (error) {
      if (!(error instanceof StartError)) throw error
      return run.refuse(notStartedResult(run.request, error.failure, error.reason))
    }
  }

  /** `close` waits for what begins here. */
  async function untilStarted<Begun>(begun: Promise<Begun>): Promise<Begun> {
    starting.add(begun)
    try {
      return await begun
    } finally {
      starting.delete(begun)
    }
  }

  /** A run has started: it is in the table, and where its caller may be gone at any moment, on disk. */
  async function onStart(run: LiveRun): Promise<void> {
    runs.add(run)
    const isDeclared = options.isHolder || run.request.array !== null
    if (isDeclared && jobsDir !== null) await (await registry.open()).declare(run)
  }

  /** What runs an array: each of its tasks has a process of its own. */
  async function openTasks(): Promise<Runner> {
    const { createArrayRunner } = await import('./array.ts')
    return createArrayRunner({
      startTask: (task, runner) => goOn(task, runner),
      dir: jobsDir,
      named: options.hosts ?? {},
      environment,
      cwd,
    })
  }

  async function takeUp(id: string): Promise<Run | null> {
    refuseIfClosed()
    if (jobsDir === null) throw notFound(id)
    const { takeUpJob } = await import('./jobs/killed.ts')
    return takeUpJob(jobsDir, id, async (request, place, startedAt) =>
      goOn(request, request.array ? await openTasks() : runners.resume(place), startedAt),
    )
  }

  async function hold(input: RequestInput, options: RunOptions = {}): Promise<Result> {
    if (holderStart === null) return run(input, options)
    refuseIfClosed()
    // Only this process knows what was fixed when its door opened, such as the workspace.
    const { workspace: name, host, origin } = shapeRequest(input, options)
    secrets.hideOwn(origin)
    const workspace = host === null && name !== null ? folders.get(name) : undefined
    const signal = AbortSignal.any([ending.signal, ...(options.signal ? [options.signal] : [])])
    return untilStarted(
      holder.open().then((it) => it.run(input, { ...options, signal, workspace })),
    )
  }

  /** Closed before its run is stopped, so that none of those that wait gets its turn. */
  async function closeSession(name: string): Promise<boolean> {
    order.dismiss(name)
    const [closed] = await Promise.all([
      runners.sessions.close(name),
      runs.stopAll('kill', {}, ({ request, pid }) => request.session === name && pid !== null),
    ])
    return closed
  }

  async function close(how?: StopOptions): Promise<void> {
    ending.abort(shutdown)
    // A run that was about to start is stopped as soon as it has started.
    do {
      await Promise.allSettled([runs.stopAll(shutdown, how), ...starting])
      // A start may need the event loop, and a loop of promises alone would never let that turn.
      await new Promise((turned) => setImmediate(turned))
    } while (starting.size + runs.aliveCount > 0)
    holder.made?.close()
    await registry.made?.close()
    await runners.close()
    audit?.close()
  }

  async function start(input: RequestInput, options: RunOptions = {}): Promise<Run> {
    const { promise: opened, resolve: open } = createDeferred()
    const begun = await begin(input, options, opened)
    setImmediate(open)
    return begun
  }

  async function run(input: RequestInput, options: RunOptions = {}): Promise<Result> {
    return (await begin(input, options)).result
  }

  const closeOnce = (how?: StopOptions) => (closing ??= close(how))

  return {
    start,
    run,
    hold,
    parse: (input) => parseRequest(input, context),
    fixWorkspace,
    judge: async (input) => guard(parseRequest(input, context)),
    boundsOf: async (input) => runners.boundsOf(parseRequest(input, context)),
    jobs,
    takeUp,
    sessions: {
      ...runners.sessions,
      close: closeSession,
      open: async (input) => runners.openTerminalSession(parseRequest(input, context)),
    },
    artifacts,
    agentHosts: options.agentHosts ?? [],
    close: closeOnce,
    [Symbol.asyncDispose]: () => closeOnce(),
  }
}
