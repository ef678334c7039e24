import { nowMs } from '../../system/clock.ts'
import type { Request } from '../../protocol/request/request.ts'

export interface Deadlines {
  /** Tells that the run has written something. */
  touch(): void
  /** For how long the run has written nothing. */
  quietMs(): number
  clear(): void
}

/**
 * The two clocks of a run: how long it may take, and how long it may be silent. They go from `begun` on,
 * or at once.
 */
export function createDeadlines(
  request: Pick<Request, 'timeoutMs' | 'inactivityMs'>,
  on: { onTimeout(): void; onInactivity(): void },
  begun: Promise<void> | null = null,
): Deadlines {
  const { timeoutMs, inactivityMs } = request
  let lastOutputAtMs = nowMs()
  let silence: NodeJS.Timeout | undefined
  let deadline: NodeJS.Timeout | undefined
  let over = false

  function begin(): void {
    if (over) return
    lastOutputAtMs = nowMs()
    if (timeoutMs !== null) deadline = setTimeout(() => on.onTimeout(), timeoutMs)
    if (inactivityMs !== null) watchSilence(inactivityMs, inactivityMs)
  }

  /** One timer for all output: when it rings it looks how long the silence has been. */
  function watchSilence(afterMs: number, limitMs: number): void {
    silence = setTimeout(() => {
      const leftMs = limitMs - (nowMs() - lastOutputAtMs)
      if (leftMs > 0) watchSilence(leftMs, limitMs)
      else on.onInactivity()
    }, afterMs)
  }
  if (begun === null) begin()
  else void begun.then(begin)

  return {
    touch() {
      lastOutputAtMs = nowMs()
    },
    quietMs: () => nowMs() - lastOutputAtMs,
    clear() {
      over = true
      clearTimeout(deadline)
      clearTimeout(silence)
    },
  }
}
