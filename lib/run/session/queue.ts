import { messageOf } from '../../protocol/errors.ts'
import { createDeferred } from '../../protocol/deferred.ts'
import {
  type Exit,
  type Running,
  StartError,
  type StopOptions,
  type StopReport,
  type SessionInfo,
} from '../../protocol/ports.ts'
import { nowMs } from '../../system/clock.ts'
import { createRunning } from '../running.ts'
import { describeRefusal } from '../start-failure.ts'
import { stoppedBefore } from '../start-limit.ts'

/** Starts the run whose turn it is. Rejects with `StartError`. */
export type StartTurn = () => Promise<ActiveTurn>

/** A command that has the shell for itself. */
export interface ActiveTurn {
  readonly pid: number | null
  readonly exited: Promise<Exit>
  readonly group: string | null
  stop(how?: StopOptions): Promise<StopReport>
}

export interface SessionQueue {
  describe(): Pick<SessionInfo, 'busy' | 'queued' | 'idleMs'>
  /**
   * With the shell free, starts at once and rejects where that fails. Else gives back a run that
   * waits; it can be stopped there, and a failed start is its end.
   */
  enter(start: StartTurn): Promise<Running>
  /** Calls `onIdle` no more. Settles when nothing runs and nothing waits. */
  close(): Promise<void>
}

/**
 * One turn after the other, in the order of asking. `onIdle` is called when no run has come for `limitMs`
 * since the last one; the wait for that does not keep the process from ending. `abandon` is called where a
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
  let timer: NodeJS.Timeout | null = null

  /** A run costs no timer of its own: one that fires looks when the last run was. */
  function expire(): void {
    const leftMs = usedMs + limitMs - nowMs()
    timer = null
    if (busy || leftMs > 0) timer = setTimeout(expire, Math.max(leftMs, 1)).unref()
    else onIdle()
  }

  function leave(): void {
    const next = waiting.shift()
    if (next) return next(true)
    busy = false
    usedMs = nowMs()
    if (!closed) timer ??= setTimeout(expire, limitMs).unref()
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
    const { promise, resolve: call } = createDeferred<boolean>()
    waiting.push(call)
    const started = promise.then((isMine) => {
      if (!isMine) throw new Error('dismissed')
      return take(start)
    })
    let turn: ActiveTurn | null = null
    let stopped: StartError | null = null

    async function end(): Promise<Exit> {
      try {
        turn = await started
      } catch (error) {
        return neverStarted(stopped ?? describeRefusal(error))
      }
      return turn.exited
    }

    return createRunning({
      pid: () => turn?.pid ?? null,
      group: () => turn?.group ?? null,
      exited: end(),
      async stop(reason, how) {
        const at = waiting.indexOf(call)
        stopped ??= stoppedBefore(at < 0 ? 'starting' : 'busy', reason)
        if (at >= 0) {
          waiting.splice(at, 1)
          call(false)
        } else if (turn === null) abandon()
        await started.catch(() => undefined)
        return (await turn?.stop(how)) ?? { survivors: [] }
      },
    })
  }

  return {
    describe: () => ({ busy, queued: waiting.length, idleMs: busy ? 0 : nowMs() - usedMs }),
    async enter(start) {
      if (busy) return wait(start)
      busy = true
      const turn = await take(start)
      return createRunning({
        pid: () => turn.pid,
        group: () => turn.group,
        exited: turn.exited,
        stop: (_reason, how) => turn.stop(how),
      })
    },
    async close() {
      closed = true
      if (timer) clearTimeout(timer)
      if (busy) await new Promise<void>((resolve) => idlers.push(resolve))
    },
  }
}

/** The end of a run that waited and did not get its turn, or could not use it. */
function neverStarted(error: unknown): Exit {
  const known = error instanceof StartError ? error : null
  const notStarted = known?.failure ?? { code: 'never_started', message: messageOf(error) }
  return { code: null, signal: null, notStarted, ...(known?.reason && { stoppedBy: known.reason }) }
}
