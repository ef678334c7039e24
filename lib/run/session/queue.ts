import { createDeferred } from '../../protocol/deferred.ts'
import { messageOf } from '../../protocol/errors.ts'
import {
  type Exit,
  type Running,
  type SessionInfo,
  StartError,
  type StopOptions,
  type StopReport,
} from '../../protocol/ports.ts'
import type { InputKind, StopReason } from '../../protocol/result/result.ts'
import { nowMs } from '../../system/clock.ts'
import { createRunning } from '../running.ts'
import { describeRefusal, stoppedBefore } from '../start-failure.ts'

/** Starts the run whose turn it is. Rejects with `StartError`. */
export type StartTurn = () => Promise<ActiveTurn>

/** A command that has the shell for itself. */
export interface ActiveTurn {
  readonly pid: number | null
  readonly exited: Promise<Exit>
  readonly group: string | null
  stop(how?: StopOptions, reason?: StopReason): Promise<StopReport>
  /** Settles when the next run may start, if that is before the end of this one. */
  readonly freed?: Promise<void>
  /** Nobody waits for it any more. */
  leave?(): void
  readonly keys?: TerminalKeys
}

/** What can be done with the terminal of a shell. */
export interface TerminalKeys {
  type(data: string): void
  resize(columns: number, rows: number): void
  waitingForInput(): InputKind | null
}

export interface SessionQueue {
  describe(): Pick<SessionInfo, 'busy' | 'queued' | 'idleMs'>
  /**
   * With the shell free, starts at once and rejects if that fails. Else, and always for a shell on a
   * terminal, returns a run that waits: it can be stopped and typed to there, and a failed start is its end.
   * `present`: the terminal that takes its keys until it has its turn.
   */
  enter(start: StartTurn, present?: () => TerminalKeys | null): Promise<Running>
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

  function leave(): void {
    const next = waiting.shift()
    if (next) return next(true)
    busy = false
    usedMs = nowMs()
    if (!closed && limitMs < Infinity) timer = setTimeout(onIdle, limitMs).unref()
    for (const idler of idlers.splice(0)) idler()
  }

  async function take(start: StartTurn): Promise<ActiveTurn> {
    try {
      const turn = await start()
      // `exited` never rejects.
      void (turn.freed ? Promise.race([turn.exited, turn.freed]) : turn.exited).then(leave)
      return turn
    } catch (error) {
      leave()
      throw error
    }
  }

  function wait(start: StartTurn, present?: () => TerminalKeys | null) {
    const { promise, resolve: call } = createDeferred<boolean>()
    waiting.push(call)
    const started = promise.then((isMine) => {
      if (!isMine) throw new Error('dismissed')
      return take(start)
    })
    let turn: ActiveTurn | null = null
    let stopped: StartError | null = null
    const keys = () => turn?.keys ?? present?.()

    async function end(): Promise<Exit> {
      try {
        turn = await started
      } catch (error) {
        return neverStarted(stopped ?? describeRefusal(error))
      }
      return turn.exited
    }

    const running = createRunning({
      pid: () => turn?.pid ?? null,
      group: () => turn?.group ?? null,
      exited: end(),
      ...(present && {
        write: async (data) => keys()?.type(data),
        // A terminal reads Ctrl-D as the end at the start of a line.
        endInput: () => keys()?.type('\u0004'),
        resize: (columns, rows) => keys()?.resize(columns, rows),
        waitingForInput: () => keys()?.waitingForInput() ?? null,
        leave: () => turn?.leave?.(),
      }),
      async stop(reason, how) {
        // At once: the shell may be about to take the command.
        if (turn) return turn.stop(how, reason)
        const at = waiting.indexOf(call)
        stopped ??= stoppedBefore(at < 0 ? 'starting' : 'busy', reason)
        if (at >= 0) {
          waiting.splice(at, 1)
          call(false)
        } else abandon()
        const late = await started.catch(() => null)
        return (await late?.stop(how, reason)) ?? { survivors: [] }
      },
    })
    return { running, started }
  }

  return {
    describe: () => ({ busy, queued: waiting.length, idleMs: busy ? 0 : nowMs() - usedMs }),
    async enter(start, present) {
      const isFree = !busy
      busy = true
      clearTimeout(timer)
      const { running, started } = wait(start, present)
      if (isFree) waiting.shift()?.(true)
      if (isFree && !present) await started
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
