import { join } from 'node:path'
import type { Runner } from '../protocol/ports.ts'
import type { Request } from '../protocol/request.ts'
import { createFifoPool } from '../run/fifo.ts'
import { createPipeRunner } from '../run/pipe.ts'
import { stopTree } from '../run/stop.ts'
import { createSpareFifos } from '../run/spare-fifos.ts'
import { createPrepareLaunch, type LaunchOptions } from '../run/shell.ts'
import { createUninherited } from '../run/uninherited.ts'

export interface RunnersOptions extends LaunchOptions {
  /** Null: nothing is kept on disk. */
  stateDir: string | null
}

export interface Runners {
  /** How this request's process is attached. */
  choose(request: Request): Runner
  close(): Promise<void>
}

export function createRunners(options: RunnersOptions): Runners {
  const { stateDir } = options
  const pipes = createFifoPool(stateDir === null ? null : createSpareFifos(join(stateDir, 'pipes')))
  const prepare = createPrepareLaunch(options)
  const uninherited = createUninherited()
  const pipe = createPipeRunner({ prepare, pipes, uninherited })
  let pty: Runner | null = null

  /** The terminal's parts are loaded with the first run that wants one. */
  const onTerminal: Runner = async (request, sink) => {
    const { createPtyRunner } = await import('../run/pty.ts')
    pty ??= createPtyRunner({ prepare, stopTree, uninherited })
    return pty(request, sink)
  }

  return {
    choose: (request) => (request.pty ? onTerminal : pipe),
    close: () => pipes.close(),
  }
}
