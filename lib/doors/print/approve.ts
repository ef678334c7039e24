import type { RunOptions } from '../../executor/executor.ts'
import type { PrintOptions } from '../../protocol/print-options.ts'
import type { Streams } from '../streams.ts'

/**
 * Asks the person at the terminal what the guard asks; `yes` alone lets the command run, and an end of the
 * input or of nacre (`signal`) is a no. Undefined where nobody can be asked: standard input or error is no
 * terminal, or what is typed are the prompts themselves.
 */
export function createApprove(
  { subject, prompt }: PrintOptions,
  { stdin, stderr, input }: Streams,
  signal: AbortSignal,
): RunOptions['approve'] {
  const isTaken = subject === null && prompt === null
  if (isTaken || input !== 'terminal' || !stderr.isTerminal) return undefined
  return async ({ command }, { reason, rule }) => {
    await stderr.write(`nacre: ${reason ?? `${rule} asks`}\nRun ${command} ? (yes · no) `)
    const answer = await readLine(stdin, signal)
    if (answer === null) await stderr.write('\n')
    return answer === 'yes'
  }
}

/** What is typed next, without its end; null where nothing comes any more. */
function readLine(stdin: NodeJS.ReadStream, signal: AbortSignal): Promise<string | null> {
  return new Promise((resolve) => {
    const settle = (line: string | null) => {
      stdin.off('data', onData).off('end', onEnd).off('error', onEnd).pause()
      signal.removeEventListener('abort', onEnd)
      resolve(line)
    }
    // A terminal hands over whole lines (termios(3), canonical mode).
    const onData = (data: Buffer | string) => settle(String(data).trim())
    const onEnd = () => settle(null)
    if (signal.aborted) return settle(null)
    stdin.on('data', onData).on('end', onEnd).on('error', onEnd)
    signal.addEventListener('abort', onEnd)
  })
}
