import type { Run } from '../executor/executor.ts'
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
