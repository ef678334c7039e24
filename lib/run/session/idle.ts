import { nowMs } from '../../system/clock.ts'

/** Tells when a session has not been used for long. */
export interface IdleTimer {
  /** Since the last use. */
  readonly idleMs: number
  /** The session was in use until now. */
  rest(): void
  /** Nothing is called any more. */
  stop(): void
}

export interface IdleTimerOptions {
  /** How long it may rest. */
  limitMs: number
  /** While it is, it does not rest. */
  isBusy(): boolean
  onIdle(): void
}

/**
 * Begins with the first rest; a later one costs nothing, since a timer that fires looks when that was.
 * Does not keep the process from ending.
 */
export function createIdleTimer(options: IdleTimerOptions): IdleTimer {
  const { limitMs } = options
  let usedMs = nowMs()
  let timer: NodeJS.Timeout | null = null
  let stopped = false

  function expire(): void {
    timer = null
    if (stopped) return
    const leftMs = usedMs + limitMs - nowMs()
    if (options.isBusy() || leftMs > 0) timer = setTimeout(expire, Math.max(leftMs, 1)).unref()
    else options.onIdle()
  }

  return {
    get idleMs() {
      return nowMs() - usedMs
    },
    rest() {
      usedMs = nowMs()
      timer ??= setTimeout(expire, limitMs).unref()
    },
    stop() {
      stopped = true
      if (timer) clearTimeout(timer)
    },
  }
}
