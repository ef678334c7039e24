import { messageOf } from '../../protocol/errors.ts'
import { createDeferred } from '../../protocol/deferred.ts'
import {
  type Exit,
  type Running,
  StartError,
  type StopOptions,
  type StopReport,
} from '../../protocol/ports.ts'
import type { StopReason } from '../../protocol/result/result.ts'
import type { SessionInfo } from '../../protocol/sessions.ts'
import { nowMs } from '../../system/clock.ts'
import { createRunning } from '../running.ts'
import { describeRefusal } from '../start-failure.ts'
import { settleWithin } from '../../system/wait.ts'

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
   * With the shell free, starts at once and rejects where that fails. Else, and where the start of a shell
   * that is not `isReady` takes long, gives back a run that waits; it can be stopped there, and a failed
   * start is its end.
   */
  enter(start: StartTurn, isReady: boolean): Promise<Running>
  /** Calls `onIdle` no more. Settles when nothing runs and nothing waits. */
  close(): Promise<void>
}

/** Until a start has taken so long, its failure is that of the run, and its process that of the run's beginning. */
const startPatienceMs = 1000

/**
 * One turn after the other, in the order of asking. `onIdle` is called when no run has come for `limitMs`
 * since the last one; the wait for that does not keep the process from ending. `abandon` is called where a
 * run is stopped during its start, which is to reject then; where it is absent, no start takes long.
 */
export function createSessionQueue(
  limitMs: number,
  onIdle: () => void,
  abandon: () => void = () => {},
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
    return createLate(started, busyThen, () => {
      const at = waiting.indexOf(call)
      if (at < 0) return false
      waiting.splice(at, 1)
      call(false)
      return true
    })
  }

  /**
   * A run that can be stopped before it has begun. `dismiss`: true where it waited, and does so no more.
   * `state` says what holds it up.
   */
  function createLate(
    started: Promise<ActiveTurn>,
    state: string,
    dismiss: () => boolean = () => false,
  ): Running {
    let turn: ActiveTurn | null = null
    let why: string | null = null

    async function end(): Promise<Exit> {
      try {
        turn = await started
      } catch (error) {
        return neverStarted(why === null ? describeRefusal(error) : new Error(why))
      }
      return turn.exited
    }

    return createRunning({
      pid: () => turn?.pid ?? null,
      group: () => turn?.group ?? null,
      exited: end(),
      async stop(reason, how) {
        why ??= describeStopBefore(state, reason)
        if (!dismiss() && turn === null) abandon()
        await started.catch(() => undefined)
        return (await turn?.stop(how)) ?? { survivors: [] }
      },
    })
  }

  return {
    describe: () => ({ busy, queued: waiting.length, idleMs: busy ? 0 : nowMs() - usedMs }),
    async enter(start, isReady) {
      if (busy) return wait(start)
      busy = true
      const started = take(start)
      if (!isReady) {
        let isLate = true
        const settled = started.then(
          () => (isLate = false),
          () => (isLate = false),
        )
        await settleWithin(startPatienceMs, settled)
        if (isLate) return createLate(started, startingThen)
      }
      const turn = await started
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
  const notStarted =
    error instanceof StartError
      ? error.failure
      : { code: 'never_started', message: messageOf(error) }
  return { code: null, signal: null, notStarted }
}

export const busyThen = 'its session was busy with another one'
export const startingThen = 'its shell was still starting'

/** Why a command was stopped before it had begun; `state` is what held it up. */
export function describeStopBefore(state: string, reason: StopReason): string {
  return `The command never started: ${state} ${stops[reason]}`
}

const stops: Readonly<Record<StopReason, string>> = {
  timeout: 'when its time was over',
  inactivity: 'when it had been silent for as long as it may be',
  cancel: 'when it was cancelled',
  kill: 'when it was stopped',
  shutdown: 'when nacre ended',
  out_of_memory: 'when its memory was used up',
  preempted: 'when another one came before it',
}
