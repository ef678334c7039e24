import { createLazy } from '../protocol/deferred.ts'
import type { Bounds, KeptPlace, Runner, TerminalSession } from '../protocol/ports.ts'
import type { Request } from '../protocol/request/request.ts'
import { createFifoPool } from '../run/pipe/fifo.ts'
import { createPipeRunner } from '../run/pipe/pipe.ts'
import { createPrestarted } from '../run/pipe/prestarted.ts'
import type { SandboxOptions } from '../run/sandbox/sandbox.ts'
import { describeRefusal } from '../run/start-failure.ts'
import { type Confine, createPrepareLaunch, type LaunchOptions } from '../run/launch.ts'
import type { Secrets } from '../run/secrets.ts'
import type { SessionRunner } from '../run/session/sessions.ts'
import type { ControlGroups } from '../system/process/control-group.ts'
import { presenceFolder } from '../system/process/presence.ts'
import { createWatchdog } from '../run/watchdog.ts'

export interface RunnersOptions extends LaunchOptions {
  secrets: Secrets
  /** Null: nothing is kept on disk. */
  stateDir: string | null
  sandbox: SandboxOptions
  /** Where relative directories begin. */
  cwd: string
  /** Aborts when nacre ends. */
  ending: AbortSignal
  /** Addresses of other machines by their names in the configuration. */
  hosts: Readonly<Record<string, string>>
  /** The words that start a nacre, which ends the runs of a killed one; null: nothing does. */
  program: readonly string[] | null
}

export function createRunners(groups: ControlGroups, options: RunnersOptions) {
  const { stateDir, sandbox, ending, secrets } = options
  const pipes = createFifoPool()
  const sandboxes = createLazy(async () => {
    const { createSandbox } = await import('../run/sandbox/sandbox.ts')
    return createSandbox(sandbox)
  })
  const confine: Confine = async (launch, request, use) =>
    request.sandbox === 'off' ? launch : (await sandboxes.open()).confine(launch, request, use)
  const snapshots = createLazy(async () => {
    const { createSnapshots } = await import('../run/snapshot/snapshot.ts')
    return createSnapshots()
  })
  const prepare = createPrepareLaunch({ ...options, confine, openSnapshots: snapshots.open })
  const uninherited = new Set<number>()
  const watchdog =
    options.program &&
    createWatchdog({
      reaper: [...options.program, 'reap'],
      presences: stateDir === null ? null : presenceFolder(stateDir),
      environment: () => secrets.copyOpen(options.environment),
      uninherited,
    })
  const prestarted = createPrestarted(uninherited, groups, secrets.copyOpen)
  const pipe = createPipeRunner({ prepare, pipes, uninherited, groups, prestarted })
  const terminal = createLazy(async () => {
    const { createPtyRunner } = await import('../run/terminal/pty.ts')
    return createPtyRunner({ prepare, uninherited, groups })
  })
  const sessions = createLazy(async () => {
    const { createSessionRunner } = await import('../run/session/sessions.ts')
    return createSessionRunner({ prepare, pipes, fresh: pipe, uninherited, groups, ending })
  })
  const hosts = createLazy(async () => {
    const { createHosts } = await import('../run/host/host-runner.ts')
    return createHosts({
      cwd: options.cwd,
      ending,
      environment: options.environment,
      secrets,
      named: options.hosts,
      async attach(prepare) {
        const { createPtyRunner } = await import('../run/terminal/pty.ts')
        return {
          pipe: createPipeRunner({ prepare, pipes, uninherited }),
          terminal: createPtyRunner({ prepare, uninherited }),
        }
      },
    })
  })
  /** Whatever holds sessions by now. */
  const holders = () =>
    [sessions, hosts].flatMap(({ made }): SessionRunner[] => (made ? [made] : []))

  const onTerminal: Runner = async (...run) => (await terminal.open())(...run)
  const inSession: Runner = async (...run) => (await sessions.open()).runner(...run)
  const onHost: Runner = async (...run) => {
    const running = await (await hosts.open()).runner(...run)
    return { ...running, bounds: boundsOnHost(run[0]) }
  }

  /** What a process is connected to, and whether its shell stays, are independent. */
  const choose = (request: Request) => {
    if (request.session === null) return request.pty ? onTerminal : pipe
    return sessions.made?.runner ?? inSession
  }

  const inSandbox: Runner = async (request, sink, signal) => {
    const { runInSandbox } = await import('../run/sandbox/sandboxed-runner.ts')
    const parts = { sandbox: await sandboxes.open(), runner: choose(request), pipes }
    return runInSandbox(parts, request, sink, signal)
  }

  return {
    /** Whether a request that asks for a sandbox is certain to run in one. */
    async isConfined(request: Request): Promise<boolean> {
      if (!request.sandboxMayFallBack) return true
      // Another machine reports its sandbox at the end of the run.
      if (request.host !== null) return false
      const sandbox = await sandboxes.open()
      return sandbox.decide(request).then(
        ({ use }) => !use.degraded,
        // If the system is out of processes, the run itself waits or fails.
        () => false,
      )
    },
    /** How this request's process is attached. */
    choose(request: Request, signal?: AbortSignal): Runner {
      watchdog?.watch()
      const runner =
        request.host !== null ? onHost : request.sandbox === 'off' ? choose(request) : inSandbox
      return async (request, sink) => {
        try {
          return await runner(request, sink, signal)
        } catch (error) {
          throw describeRefusal(error)
        }
      }
    },
    /** What would confine a run of this request; null: nothing. Rejects with `StartError`. */
    async boundsOf(request: Request): Promise<Bounds | null> {
      if (request.host !== null) return boundsOnHost(request)
      if (request.sandbox === 'off') return null
      const sandbox = await sandboxes.open()
      const { network, degraded } = (await sandbox.decide(request)).use
      return degraded ? null : { network, writable: sandbox.findPlaces(request).writable }
    },
    /** Where sandboxed runs of the owner of a request see its artifacts; null: it has none. */
    viewOf(request: Request): Promise<string | null> | null {
      if (request.host !== null) return null
      if (request.sandbox === 'off') return sandboxes.made?.viewOf(request) ?? null
      return sandboxes.open().then((sandbox) => sandbox.viewOf(request))
    },
    /** Finds a job on another machine again. */
    resume:
      (place: KeptPlace): Runner =>
      async (...run) =>
        (await hosts.open()).resume(place)(...run),
    sessions: {
      list: () => holders().flatMap((holder) => holder.list()),
      async close(name: string): Promise<boolean> {
        const closed = await Promise.all(holders().map((holder) => holder.close(name)))
        return closed.includes(true)
      },
    },
    async openTerminalSession(request: Request): Promise<TerminalSession> {
      watchdog?.watch()
      return (await sessions.open()).open(request)
    },
    async close(): Promise<void> {
      for (const holder of holders()) await holder.closeAll()
      await prestarted.close()
      await groups.close()
      pipes.close()
      sandboxes.made?.close()
      snapshots.made?.close()
      watchdog?.close()
    },
  }
}

/** What is certain before the host has reported. */
function boundsOnHost({ sandbox, sandboxMayFallBack, network }: Request): Bounds | null {
  if (sandbox === 'off' || sandboxMayFallBack) return null
  return { network, writable: sandbox === 'read-only' ? [] : null }
}
