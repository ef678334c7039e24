import type { Approve } from '../../executor/executor.ts'
import type { PrintOptions } from '../../protocol/prompt.ts'
import { nowMs } from '../../system/clock.ts'
import type { Streams } from '../streams.ts'

/** A line that comes without a pause of this length was on its way before there was a question. */
const pauseMs = 50

/**
 * Asks the person at the terminal what the guard asks; `yes` alone lets the command run, and an end of the
 * input or of the run is a no. What was typed before the question is no answer. Undefined where nobody can be
 * asked: standard input or error is no terminal, or what is typed are the prompts themselves. Standard input
 * is not touched before there is a question.
 */
export function createApprove(
  { subject, prompt }: PrintOptions,
  streams: Streams,
): Approve | undefined {
  const isTaken = subject === null && prompt === null
  if (isTaken || streams.input !== 'terminal' || !streams.stderr.isTerminal) return undefined
  return async ({ command }, { reason, rule }, signal) => {
    const { stdin, stderr } = streams
    const { toOneLine } = await import('../../render/tables.ts')
    let early: string | null
    do early = await readLine(stdin, afterPause())
    while (early !== null)
    const cause = toOneLine(reason ?? `${rule} asks`)
    await stderr.write(`nacre: ${cause}\nRun ${toOneLine(command)} ? (yes · no) `)
    const answer = await readLine(stdin, signal)
    if (answer === null) await stderr.write('\n')
    return answer === 'yes'
  }
}

/** Aborts after a pause. Where its timer was late, the reading of what is there may be late as well. */
function afterPause(over = new AbortController()): AbortSignal {
  const startedMs = nowMs()
  const end = () => {
    if (nowMs() - startedMs > 2 * pauseMs) afterPause(over)
    else setImmediate(() => over.abort())
  }
  setTimeout(end, pauseMs).unref()
  return over.signal
}

/** What is typed next, without its end; null where nothing comes any more. */
function readLine(
  stdin: NodeJS.ReadStream,
  signal: AbortSignal | undefined,
): Promise<string | null> {
  return new Promise((resolve) => {
    const settle = (line: string | null) => {
      stdin.off('data', onData).off('end', onEnd).off('error', onEnd).pause()
      signal?.removeEventListener('abort', onEnd)
      resolve(line)
    }
    // A terminal hands over whole lines (termios(3), canonical mode).
    const onData = (data: Buffer | string) => settle(String(data).trim())
    const onEnd = () => settle(null)
    if (signal?.aborted || stdin.readableEnded || stdin.destroyed) return onEnd()
    stdin.on('data', onData).on('end', onEnd).on('error', onEnd).resume()
    signal?.addEventListener('abort', onEnd)
  })
}
