import { MisuseError } from '../../protocol/errors.ts'
import { type Exit, type Running, StartError, type StopReport } from '../../protocol/ports.ts'

/** Starts the run whose turn it is. Rejects with `StartError`. */
export type StartTurn = () => Promise<ActiveTurn>

/** A command that has the shell for itself. */
export interface ActiveTurn {
  readonly pid: number | null
  readonly exited: Promise<Exit>
  stop(): Promise<StopReport>
}

export interface SessionQueue {
  readonly busy: boolean
  readonly length: number
  /**
   * With the shell free, starts at once and rejects where that fails. Else gives back a run that
   * waits; it can be stopped there, and a failed start is its end.
   */
  enter(start: StartTurn): Promise<Running>
  /** Settles when nothing runs and nothing waits. */
  idle(): Promise<void>
}

/** One turn after the other, in the order of asking. `onFree` is called when none is left. */
export function createSessionQueue(onFree: () => void): SessionQueue {
  const waiting: (() => void)[] = []
  const idlers: (() => void)[] = []
  let busy = false

  function leave(): void {
    const next = waiting.shift()
    if (next) return next()
    busy = false
    onFree()
    for (const idler of idlers.splice(0)) idler()
  }

  async function take(start: StartTurn): Promise<ActiveTurn> {
    try {
      const turn = await start()
      // `exited` never rejects.
      void turn.exited.then(leave)
      return turn
    } catch (error) {
      leave()
      throw error
    }
  }

  function wait(start: StartTurn): Running {
    let turn: Promise<ActiveTurn | null> | null = null
    let pid: number | null = null
    let settle: (exit: Exit) => void
    const exited = new Promise<Exit>((resolve) => {
      settle = resolve
    })
    const begin = () => {
      turn = take(start).catch((error: unknown) => {
        settle(describeFailure(error))
        return null
      })
      void turn.then((active) => {
        pid = active?.pid ?? null
        void active?.exited.then(settle)
      })
    }
    waiting.push(begin)
    return {
      get pid() {
        return pid
      },
      exited,
      write: refuseInput,
      resize: ignoreSize,
      async stop() {
        const at = waiting.indexOf(begin)
        if (at >= 0) {
          waiting.splice(at, 1)
          settle({ code: null, signal: 'SIGTERM' })
        }
        const active = await turn
        return (await active?.stop()) ?? { survivors: [] }
      },
    }
  }

  return {
    get busy() {
      return busy
    },
    get length() {
      return waiting.length
    },
    async enter(start) {
      if (busy) return wait(start)
      busy = true
      const turn = await take(start)
      const { pid, exited } = turn
      return { pid, exited, write: refuseInput, resize: ignoreSize, stop: () => turn.stop() }
    },
    async idle() {
      if (busy) await new Promise<void>((resolve) => idlers.push(resolve))
    },
  }
}

/** A run that waited has begun already for its caller: its failed start is a result. */
function describeFailure(error: unknown): Exit {
  if (!(error instanceof StartError)) throw error
  return { code: error.failure.exitCode, signal: null, notices: [error.message] }
}

function refuseInput(): never {
  throw new MisuseError('no_input', 'A session run reads no typed input; start it with a pty')
}

function ignoreSize(): void {
  // Only a terminal has a size.
}
