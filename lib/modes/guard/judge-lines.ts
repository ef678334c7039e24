import { MisuseError } from '../../protocol/errors.ts'
import type { Verdict } from '../../protocol/verdict.ts'
import { toWire } from '../../protocol/wire.ts'
import { readLines } from '../print/stdin.ts'
import type { Streams } from '../streams.ts'
import { parseQuestion, type Question } from './question.ts'

export interface JudgeLinesOptions {
  judge: (question: Question) => Promise<Verdict>
  /** What a line means that does not say. */
  usual: Omit<Question, 'command'>
  signal: AbortSignal
}

/** Nothing was wrong, or some line was. */
const statuses = { fine: 0, wrong: 125 } as const

/** Answers each line of stdin with one line, in order, as they come. Gives the exit status. */
export async function judgeLines(
  { stdin, stdout }: Streams,
  { judge, usual, signal }: JudgeLinesOptions,
): Promise<number> {
  let status: number = statuses.fine
  for await (const line of readLines(stdin)) {
    if (line.trim() === '') continue
    const answer = await answerLine(line)
    await stdout.write(`${JSON.stringify(toWire(answer))}\n`)
    if (signal.aborted || stdout.closed) break
  }
  return status

  async function answerLine(line: string): Promise<object> {
    try {
      return await judge(parseQuestion(line, usual))
    } catch (error) {
      if (!(error instanceof MisuseError)) throw error
      status = statuses.wrong
      const { code, message, field } = error
      return { error: { code, message, field } }
    }
  }
}
