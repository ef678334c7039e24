import { nowMs } from '../system/clock.ts'
import type { Request } from '../protocol/request/request.ts'

export interface Deadlines {
  /** Something was written. */
  touch(): void
  /** How long nothing was written. */
  quietMs(): number
  clear(): void
}

/** The two clocks of a run: how long it may take, and how long it may be silent. */
export function createDeadlines(
  request: Pick<Request, 'timeoutMs' | 'inactivityMs'>,
  on: { onTimeout(): void; onInactivity(): void },
): Deadlines {
  const { timeoutMs, inactivityMs } = request
  let lastOutputAtMs = nowMs()
  let silence: NodeJS.Timeout | undefined
  const deadline = timeoutMs === null ? undefined : setTimeout(() => on.onTimeout(), timeoutMs)

  /** One timer for all output: when it rings it looks how long the silence has been. */
  function watchSilence(afterMs: number, limitMs: number): void {
    silence = setTimeout(() => {
      const leftMs = limitMs - (nowMs() - lastOutputAtMs)
      if (leftMs > 0) watchSilence(leftMs, limitMs)
      else on.onInactivity()
    }, afterMs)
  }
  if (inactivityMs !== null) watchSilence(inactivityMs, inactivityMs)

  return {
    touch() {
      lastOutputAtMs = nowMs()
    },
    quietMs: () => nowMs() - lastOutputAtMs,
    clear() {
      clearTimeout(deadline)
      clearTimeout(silence)
    },
  }
}
