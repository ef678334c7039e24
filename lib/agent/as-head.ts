import type { RunListener } from '../protocol/result/event.ts'
import type { Result } from '../protocol/result/result.ts'
import { describeEnd } from '../render/messages.ts'
import { nowMs } from '../system/clock.ts'

/** How long what comes after the first lines still goes to the artifact. */
const graceMs = 300

/** Stands for a head(1) that was taken off a command: it reads, and is gone a moment after its lines. */
export interface Head {
  listener: RunListener
  readonly lines: number
  /** Whether it was gone before the command had ended. */
  readonly isGone: boolean
}

/** `listener` hears everything too. */
export function createHead(lines: number, listener: RunListener | undefined): Head {
  let left = lines
  let goesAtMs = Infinity
  let isGone = false
  return {
    lines,
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
    get isGone() {
      return isGone
    },
  }
}

/**
 * The result with the status of the whole pipeline, which is that of the head(1) or tail(1) taken off its
 * end, as in every shell. How the command before them ended is told.
 */
export function endAsPipeline(result: Result, head: Head | null): Result {
  if (result.status !== 'exited' && result.status !== 'signaled') return result
  const notices = [...result.notices]
  if (head?.isGone)
    notices.push(
      `It was ended after its first ${head.lines} lines, as head does; the artifact holds what it had written by then.`,
    )
  else if (result.exitCode !== 0)
    notices.push(`The status is that of the whole pipeline; before its end: ${describeEnd(result)}`)
  return { ...result, status: 'exited', exitCode: 0, signal: null, exitMeaning: null, notices }
}
