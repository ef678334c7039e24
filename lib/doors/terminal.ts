import type { Approve, Run } from '../executor/executor.ts'
import type { PrintOptions } from '../protocol/prompt.ts'
import { nowMs } from '../system/clock.ts'
import type { Streams } from './streams.ts'

/** End of input as a terminal knows it (Ctrl-D, termios(3) VEOF). */
const endOfInput = '\u0004'

/**
 * Types what comes on standard input into a run's terminal: a person's keys as they are pressed, or
 * a given text and its end. Gives what undoes it.
 */
export function typeIntoRun(run: Pick<Run, 'write' | 'resize'>, streams: Streams): () => void {
  const { stdin, input, stdout } = streams
  const isPerson = input === 'terminal'
  let last = '\n'
  let stopResize = () => {}

  /** Reads no more than the run takes; what is typed after its end goes nowhere. */
  const type = (text: string) => {
    stdin.pause()
    run.write(text).then(
      () => stdin.resume(),
      () => undefined,
    )
  }
  const onData = (text: string) => {
    last = text.at(-1) ?? last
    type(text)
  }
  const onEnd = () => {
    // In the middle of a line the first Ctrl-D hands over the line, and only the next one is the end.
    type(last === '\n' ? endOfInput : endOfInput + endOfInput)
  }
  const onResize = () => {
    const size = stdout.size()
    if (size) run.resize(size.columns, size.rows)
  }

  stdin.setEncoding('utf8')
  if (isPerson) {
    stdin.setRawMode(true)
    stopResize = stdout.onResize(onResize)
  }
  stdin.on('data', onData)
  stdin.on('end', onEnd)
  // A standard input that cannot be read has nothing to type.
  stdin.on('error', onEnd)
  // Whoever has read an answer before has paused it.
  stdin.resume()
  return () => {
    stdin.off('data', onData).off('end', onEnd)
    stdin.pause()
    if (!isPerson) return
    stdin.setRawMode(false)
    stopResize()
  }
}

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
    const { toOneLine } = await import('../render/tables.ts')
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
