import { join } from 'node:path'
import type { KeptPlace, Runner } from '../protocol/ports.ts'
import type { Request } from '../protocol/request/request.ts'
import { createFifoPool } from '../run/pipe/fifo.ts'
import type { Hosts } from '../run/host/host-runner.ts'
import { createPipeRunner } from '../run/pipe/pipe.ts'
import { createPrestarted } from '../run/pipe/prestarted.ts'
import type { Confine } from '../run/launch.ts'
import type { Sandbox, SandboxOptions } from '../run/sandbox/sandbox.ts'
import { createStartTurns } from '../run/start-turns.ts'
import { createSpareFifos } from '../run/pipe/spare-fifos.ts'
import type { Snapshots } from '../run/snapshot/snapshot.ts'
import { nameKeys } from '../run/environment.ts'
import { createPrepareLaunch, type LaunchOptions } from '../run/shell.ts'
import type { Sessions, TerminalSession } from '../protocol/sessions.ts'
import type { SessionRunner } from '../run/session/sessions.ts'
import type { TerminalSessionRunner } from '../run/terminal-session/terminal-sessions.ts'
import { createUninherited } from '../system/process/spawn.ts'
import type { ControlGroups } from '../system/process/control-group.ts'
import { createPresence, presenceFolder } from '../system/process/presence.ts'
import { createWatchdog } from '../run/watchdog.ts'
import { copyWithout } from '../system/process/run-variables.ts'

export interface RunnersOptions extends LaunchOptions {
  /** Null: nothing is kept on disk. */
  stateDir: string | null
  sandbox: SandboxOptions
  /** Where relative directories begin. */
  cwd: string
  /** Addresses of other machines by their names in the configuration. */
  hosts: Readonly<Record<string, string>>
  /** The words that start what ends the runs of a killed nacre; null: nothing does. */
  reaper: readonly string[] | null
  /** Its runs are to outlive this process, even where it is killed. */
  leavesRuns: boolean
}

export interface Runners {
  /**
   * How this request's process is attached. Where the system has too little for it, its start waits
   * for a moment, or until `signal` is aborted.
   */
  choose(request: Request, signal?: AbortSignal): Runner
  /** Finds a job on another machine again. */
  resume(place: KeptPlace): Runner
  readonly sessions: Omit<Sessions, 'open'>
  openTerminalSession(request: Request): Promise<TerminalSession>
  close(): Promise<void>
}

export function createRunners(groups: ControlGroups, options: RunnersOptions): Runners {
  const { stateDir, sandbox } = options
  const pipes = createFifoPool(stateDir === null ? null : createSpareFifos(join(stateDir, 'pipes')))
  let opened: Promise<Sandbox> | null = null

  /** Loaded and made with the first run that asks for it. */
  function openSandbox(): Promise<Sandbox> {
    opened ??= import('../run/sandbox/sandbox.ts').then(({ createSandbox }) =>
      createSandbox(sandbox),
    )
    return opened
  }

  const confine: Confine = async (launch, request, use) =>
    request.sandbox === 'off' ? launch : (await openSandbox()).confine(launch, request, use)
  let snapshots: Promise<Snapshots> | null = null
  const openSnapshots = () =>
    (snapshots ??= import('../run/snapshot/snapshot.ts').then(({ createSnapshots }) =>
      createSnapshots(),
    ))
  const prepare = createPrepareLaunch({ ...options, confine, openSnapshots })
  const uninherited = createUninherited()
  const keys = nameKeys(options.modelKeys)
  const watchdog =
    options.reaper &&
    createWatchdog({
      reaper: options.reaper,
      presence: stateDir === null ? null : createPresence(presenceFolder(stateDir)),
      leavesRuns: options.leavesRuns,
      environment: () => copyWithout(keys, options.environment),
      uninherited,
    })
  const turns = createStartTurns()
  const prestarted = createPrestarted(uninherited, groups, (env) => copyWithout(keys, env))
  const pipe = createPipeRunner({ prepare, pipes, uninherited, groups, prestarted })
  let pty: Runner | null = null

  /** The terminal's parts are loaded with the first run that wants one. */
  const onTerminal: Runner = async (request, sink) => {
    pty ??= (await import('../run/terminal/pty.ts')).createPtyRunner({
      prepare,
      uninherited,
      groups,
    })
    return pty(request, sink)
  }

  let sessions: SessionRunner | null = null

  const inSession: Runner = async (request, sink) => {
    const { createSessionRunner } = await import('../run/session/sessions.ts')
    sessions ??= createSessionRunner({ prepare, pipes, fresh: pipe, uninherited, groups })
    return sessions.runner(request, sink)
  }

  let terminalSessions: TerminalSessionRunner | null = null
  let openingTerminalSessions: Promise<TerminalSessionRunner> | null = null

  const openTerminalSessions = async (): Promise<TerminalSessionRunner> => {
    const { createTerminalSessionRunner } =
      await import('../run/terminal-session/terminal-sessions.ts')
    terminalSessions = createTerminalSessionRunner({ prepare, uninherited, groups })
    return terminalSessions
  }
  const inTerminalSession: Runner = async (request, sink) => {
    openingTerminalSessions ??= openTerminalSessions()
    return (await openingTerminalSessions).runner(request, sink)
  }

  /** What a process is connected to, and whether its shell stays, are independent. */
  const choose = (request: Request) => {
    if (request.session === null) return request.pty ? onTerminal : pipe
    return request.pty ? inTerminalSession : (sessions?.runner ?? inSession)
  }

  let hosts: Hosts | null = null
  const openHosts = async (): Promise<Hosts> => {
    const { createHosts } = await import('../run/host/host-runner.ts')
    hosts ??= createHosts({
      cwd: options.cwd,
      environment: options.environment,
      named: options.hosts,
      async attach(prepare) {
        const { createPtyRunner } = await import('../run/terminal/pty.ts')
        return {
          pipe: createPipeRunner({ prepare, pipes, uninherited }),
          terminal: createPtyRunner({ prepare, uninherited }),
        }
      },
    })
    return hosts
  }
  const onHost: Runner = async (request, sink) => (await openHosts()).runner(request, sink)

  const inSandbox: Runner = async (request, sink) => {
    const { runInSandbox } = await import('../run/sandbox/sandboxed-runner.ts')
    const parts = { sandbox: await openSandbox(), runner: choose(request), pipes }
    return runInSandbox(parts, request, sink)
  }

  return {
    choose(request, signal) {
      watchdog?.watch()
      const runner =
        request.host !== null ? onHost : request.sandbox === 'off' ? choose(request) : inSandbox
      return (...run) => turns.take(() => runner(...run), signal)
    },
    resume: (place) => async (request, sink) => (await openHosts()).resume(place)(request, sink),
    sessions: {
      list: () => [
        ...(sessions?.list() ?? []),
        ...(terminalSessions?.list() ?? []),
        ...(hosts?.listSessions() ?? []),
      ],
      async close(name) {
        const closed = await Promise.all([
          sessions?.close(name),
          terminalSessions?.close(name),
          hosts?.closeSession(name),
        ])
        return closed.includes(true)
      },
    },
    async openTerminalSession(request) {
      watchdog?.watch()
      openingTerminalSessions ??= openTerminalSessions()
      return (await openingTerminalSessions).open(request)
    },
    async close() {
      turns.close()
      await sessions?.closeAll()
      await hosts?.close()
      await terminalSessions?.closeAll()
      await prestarted.close()
      await groups.close()
      await pipes.close()
      await opened?.then((made) => made.close())
      await snapshots?.then((made) => made.close())
      watchdog?.close()
    },
  }
}
