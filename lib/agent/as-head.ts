import type { RunListener } from '../protocol/result/event.ts'
import type { Result } from '../protocol/result/result.ts'
import { nowMs } from '../system/clock.ts'

/** How long what comes after the first lines still goes to the artifact. */
const graceMs = 300

/** Stands for a head(1) that was taken off a command: it reads, and is gone a moment after its lines. */
export interface Head {
  listener: RunListener
  /** The result with the status of the pipeline that head(1) would have ended. */
  settle(result: Result): Result
}

/** `listener` hears everything too. */
export function createHead(lines: number, listener: RunListener | undefined): Head {
  let left = lines
  let goesAtMs = Infinity
  let isGone = false
  return {
    listener(event) {
      const answer = listener?.(event)
      if (event.type !== 'output') return answer
      const { bytes } = event
      for (let at = 0; left > 0; left--) {
        at = bytes.indexOf(0x0a, at) + 1
        if (at === 0) break
      }
      if (left === 0) goesAtMs = Math.min(goesAtMs, nowMs() + graceMs)
      isGone = nowMs() > goesAtMs
      return isGone ? 'closed' : answer
    },
    settle(result) {
      const hasEnded = result.status === 'exited' || result.status === 'signaled'
      if (!isGone || !hasEnded) return result
      const notice = `It was ended after its first ${lines} lines, as head does; the artifact holds what it had written by then.`
      const notices = [...result.notices, notice]
      return { ...result, status: 'exited', exitCode: 0, signal: null, exitMeaning: null, notices }
    },
  }
}
