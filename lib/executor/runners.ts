import type { Runner } from '../protocol/ports.ts'
import type { Request } from '../protocol/request.ts'
import { createFifoPool } from '../run/fifo.ts'
import { createPipeRunner } from '../run/pipe.ts'
import { createPrepareLaunch, type LaunchOptions } from '../run/shell.ts'

export interface Runners {
  /** How this request's process is attached. */
  choose(request: Request): Runner
  close(): Promise<void>
}

export function createRunners(options: LaunchOptions): Runners {
  const pipes = createFifoPool()
  pipes.warm()
  const pipe = createPipeRunner({ prepare: createPrepareLaunch(options), pipes })

  return {
    choose() {
      return pipe
    },
    close: () => pipes.close(),
  }
}
