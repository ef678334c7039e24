import type { OutputSink } from '../../protocol/ports.ts'
import type { StreamMode } from '../../protocol/request/request.ts'
import { createFifoPool, type FifoPool, type SharedFolder } from '../pipe/fifo.ts'
import { createSessionOutput, type SessionOutput } from './output.ts'

/** The pipes that the shell of a session writes to. */
export interface SessionOutputs {
  /** Makes the pipes for a new shell; where that sees only a folder of its own, they are in there. */
  place(shared: SharedFolder | null): Promise<void>
  /** Makes the pipes of the next run ready. */
  open(streams: StreamMode, sink: OutputSink): Promise<OpenOutputs>
  close(): Promise<void>
}

export interface OpenOutputs {
  /** Under which path the shell opens each. */
  paths: { stdout: string; stderr: string }
  used: readonly SessionOutput[]
}

/** `ours`: the pipes of a shell that sees what we see; they stay open. */
export function createSessionOutputs(ours: FifoPool): SessionOutputs {
  let pipes = ours
  let outputs = createPair(pipes)

  async function close(): Promise<void> {
    for (const output of outputs) output.close()
    if (pipes !== ours) await pipes.close()
  }

  return {
    async place(shared) {
      await close()
      pipes = shared === null ? ours : createFifoPool(shared)
      outputs = createPair(pipes)
    },
    async open(streams, sink) {
      const [first, second] = outputs
      if (streams === 'merged') {
        const output = await first.open('output', sink)
        return { paths: { stdout: output, stderr: output }, used: [first] }
      }
      const stdout = await first.open('stdout', sink)
      const stderr = await second.open('stderr', sink)
      return { paths: { stdout, stderr }, used: outputs }
    },
    close,
  }
}

function createPair(pipes: FifoPool): readonly [SessionOutput, SessionOutput] {
  return [createSessionOutput(pipes), createSessionOutput(pipes)]
}
