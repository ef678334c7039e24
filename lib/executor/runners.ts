import { join } from 'node:path'
import type { Runner } from '../protocol/ports.ts'
import type { Request } from '../protocol/request.ts'
import { createFifoPool } from '../run/fifo.ts'
import { createPipeRunner } from '../run/pipe.ts'
import type { Confine } from '../run/launch.ts'
import type { Sandbox, SandboxOptions } from '../run/sandbox.ts'
import { stopTree } from '../run/stop.ts'
import { createSpareFifos } from '../run/spare-fifos.ts'
import { createPrepareLaunch, type LaunchOptions } from '../run/shell.ts'
import { createUninherited } from '../run/uninherited.ts'

export interface RunnersOptions extends LaunchOptions {
  /** Null: nothing is kept on disk. */
  stateDir: string | null
  sandbox: SandboxOptions
}

export interface Runners {
  /** How this request's process is attached. */
  choose(request: Request): Runner
  close(): Promise<void>
}

export function createRunners(options: RunnersOptions): Runners {
  const { stateDir, sandbox } = options
  const pipes = createFifoPool(stateDir === null ? null : createSpareFifos(join(stateDir, 'pipes')))
  let opened: Promise<Sandbox> | null = null

  /** Loaded and made with the first run that asks for it. */
  function openSandbox(): Promise<Sandbox> {
    opened ??= import('../run/sandbox.ts').then(({ createSandbox }) => createSandbox(sandbox))
    return opened
  }

  const confine: Confine = async (launch, request, use) =>
    request.sandbox === 'off' ? launch : (await openSandbox()).confine(launch, request, use)
  const prepare = createPrepareLaunch({ ...options, confine })
  const uninherited = createUninherited()
  const pipe = createPipeRunner({ prepare, pipes, uninherited })
  let pty: Runner | null = null

  /** The terminal's parts are loaded with the first run that wants one. */
  const onTerminal: Runner = async (request, sink) => {
    const { createPtyRunner } = await import('../run/pty.ts')
    pty ??= createPtyRunner({ prepare, stopTree, uninherited })
    return pty(request, sink)
  }

  const choose = (request: Request) => (request.pty ? onTerminal : pipe)

  const inSandbox: Runner = async (request, sink) => {
    const { runInSandbox } = await import('../run/sandboxed-runner.ts')
    return runInSandbox(await openSandbox(), choose(request), request, sink)
  }

  return {
    choose: (request) => (request.sandbox === 'off' ? choose(request) : inSandbox),
    async close() {
      await pipes.close()
      await opened?.then((made) => made.close())
    },
  }
}
