import type { RunListener } from '../protocol/result/event.ts'
import type { Result } from '../protocol/result/result.ts'
import { nowMs } from '../system/clock.ts'

/** A command without the head(1) and tail(1) at its end, and the limits that they stood for. */
export interface ExtractedLimits {
  shellCommand: string
  /** First lines of the output that are wanted. */
  head?: number
  /** Last lines of these. */
  tail?: number
}

/** Replaces what was taken off: the exit status stays that of the pipeline, and no output is held back. */
const passesOn = ' | tee'

const count = String.raw`\s+(?:-n\s*|--lines[= ]\s*|-)([1-9]\d{0,6})\s*`
const limited = new RegExp(`^(.+?)\\s*(?:\\|\\s*head${count})?(?:\\|\\s*tail${count})?$`)
/** Quotes in which nothing is substituted but variables. */
const quotes = /'[^']*'|"(?:[^"$`\\]|\\.|\$(?!\())*"/g
/** A directory in plain letters. Other names may be found by CDPATH, and then `cd` prints them. */
const leadingCd = /^\s*cd\s+[./~][\w./~@%+,:-]*\s*&&/
/** Errors that go into the pipe, or nowhere. */
const redirectedErrors = /\s2>(?:&1|\s*\/dev\/null)(?=\s|$)/g
/** What makes a command more than one pipeline, or leaves that in doubt. */
const notPlain = /[;&()<>`'"\\#]|\|\s*(?:\||$)|^\s*(?:\||(?:!|time|coproc|exec|eval)\s)/
/** Programs that write no errors beside their output. Those of any other are not counted by head(1) or tail(1). */
const quiet = /^\s*(?:\w+=\S*\s+)*(?:seq|echo|printf|date|env|git|ps|jq|npm|pnpm|yarn)\s/

/**
 * Takes a trailing `| head -n N`, `| tail -n N` or both (in this order) off an agent's command, so that nacre
 * limits the output and the artifact keeps all of it. Only if the text stays the same: the command is one plain
 * pipeline, after at most one `cd … &&`, and writes no errors beside the pipe. Null for anything else.
 */
export function extractLimits(command: string): ExtractedLimits | null {
  const [, rest, head, tail] = limited.exec(command.trimEnd()) ?? []
  if (rest === undefined || (head ?? tail) === undefined) return null
  const pipeline = rest.replaceAll(quotes, 'quoted').replace(leadingCd, '')
  const [producer = ''] = pipeline.split('|')
  const isQuiet = quiet.test(`${producer} `) || producer.search(redirectedErrors) >= 0
  if (!isQuiet || notPlain.test(pipeline.replaceAll(redirectedErrors, ''))) return null
  return {
    shellCommand: rest + passesOn,
    ...(head !== undefined && { head: Number(head) }),
    ...(tail !== undefined && { tail: Number(tail) }),
  }
}

/** How long what comes after the first lines still goes to the artifact. */
const graceMs = 300

/** Replaces a head(1) that was taken off a command: it reads, and is gone a moment after its lines. */
export interface Head {
  listener: RunListener
  /** The result with the status of the pipeline that head(1) would have ended. */
  settle(result: Result): Result
}

/** `listener` gets every event too. */
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
