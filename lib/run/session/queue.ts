import { createDeferred } from '../../protocol/deferred.ts'
import { messageOf } from '../../protocol/errors.ts'
import { type Exit, type Running, type SessionInfo, StartError } from '../../protocol/ports.ts'
import type { InputKind } from '../../protocol/result/result.ts'
import { nowMs } from '../../system/clock.ts'
import { createRunning, followRunning } from '../running.ts'
import { describeRefusal, stoppedBefore } from '../start-failure.ts'

/**
 * Starts the run whose turn it is. The next one may start at its end, or as soon as `free` is called. Rejects with
 * `StartError`.
 */
export type StartTurn = (free: () => void) => Promise<Running>

/** What can be done with the terminal of a shell. */
export interface TerminalKeys {
  type(data: string): void
  resize(columns: number, rows: number): void
  waitingForInput(): InputKind | null
}

/** How a run reads the terminal that `keys` gives at each call. */
export function typeInto(keys: () => TerminalKeys | null) {
  return {
    write: async (data: string) => keys()?.type(data),
    // A terminal reads Ctrl-D as the end at the start of a line.
    endInput: () => keys()?.type('\u0004'),
    resize: (columns: number, rows: number) => keys()?.resize(columns, rows),
    waitingForInput: () => keys()?.waitingForInput() ?? null,
  }
}

export interface SessionQueue {
  describe(): Pick<SessionInfo, 'busy' | 'queued' | 'idleMs'>
  /**
   * With the shell free, starts at once and rejects if that fails. Else, and always for a shell on a
   * terminal, returns a run that waits: it can be stopped and typed to there, and a failed start is its end.
   * `present`: how it reads that terminal until it has its turn.
   */
  enter(start: StartTurn, present?: ReturnType<typeof typeInto>): Promise<Running>
  /** Calls `onIdle` no more. Settles when nothing runs and nothing waits. */
  close(): Promise<void>
}

/**
 * One turn after the other, in the order of asking. `onIdle` is called when no run has come for `limitMs`
 * since the last one; the wait for that does not keep the process from ending. `abandon` is called if a
 * run is stopped during its start, which is to reject then.
 */
export function createSessionQueue(
  limitMs: number,
  onIdle: () => void,
  abandon: () => void,
): SessionQueue {
  const waiting: ((isMine: boolean) => void)[] = []
  const idlers: (() => void)[] = []
  let busy = false
  let closed = false
  let usedMs = nowMs()
  let timer: NodeJS.Timeout | undefined

  function callNext(): void {
    const next = waiting.shift()
    if (next) return next(true)
    busy = false
    usedMs = nowMs()
    if (!closed && limitMs < Infinity) timer = setTimeout(onIdle, limitMs).unref()
    for (const idler of idlers.splice(0)) idler()
  }

  async function take(start: StartTurn): Promise<Running> {
    let isOver = false
    const free = () => {
      if (!isOver) callNext()
      isOver = true
    }
    try {
      const turn = await start(free)
      // `exited` never rejects.
      void turn.exited.then(free)
      return turn
    } catch (error) {
      free()
      throw error
    }
  }

  function wait(start: StartTurn, present?: ReturnType<typeof typeInto>): Running {
    const { promise, resolve: call } = createDeferred<boolean>()
    waiting.push(call)
    const started = promise.then((isMine) => {
      if (!isMine) throw new Error('dismissed')
      return take(start)
    })
    let turn: Running | null = null
    let stopped: StartError | null = null

    async function end(): Promise<Exit> {
      try {
        turn = await started
      } catch (error) {
        return neverStarted(stopped ?? describeRefusal(error))
      }
      return turn.exited
    }

    const exited = end()
    const stop: Running['stop'] = async (reason, how) => {
      // At once: the shell may be about to take the command.
      if (turn) return turn.stop(reason, how)
      const at = waiting.indexOf(call)
      stopped ??= stoppedBefore(at < 0 ? 'starting' : 'busy', reason)
      if (at >= 0) {
        waiting.splice(at, 1)
        call(false)
      } else abandon()
      const late = await started.catch(() => null)
      return (await late?.stop(reason, how)) ?? { survivors: [] }
    }
    const waitingRun = createRunning({ exited, stop, ...present })
    return followRunning(() => turn ?? waitingRun, { exited, stop })
  }

  return {
    describe: () => ({ busy, queued: waiting.length, idleMs: busy ? 0 : nowMs() - usedMs }),
    async enter(start, present) {
      const isFree = !busy
      busy = true
      clearTimeout(timer)
      if (isFree && !present) return take(start)
      const running = wait(start, present)
      if (isFree) waiting.shift()?.(true)
      return running
    },
    async close() {
      closed = true
      clearTimeout(timer)
      if (busy) await new Promise<void>((resolve) => idlers.push(resolve))
    },
  }
}

/** The end of a run that waited and did not get its turn, or could not use it. */
export function neverStarted(error: unknown): Exit {
  const known = error instanceof StartError ? error : null
  const notStarted = known?.failure ?? { code: 'never_started', message: messageOf(error) }
  return { code: null, signal: null, notStarted, ...(known?.reason && { stoppedBy: known.reason }) }
}
