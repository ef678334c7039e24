import { messageOf, MisuseError } from '../../protocol/errors.ts'
import { origins } from '../../protocol/origin.ts'
import type { Origin } from '../../protocol/request/request.ts'
import { check, invalid } from '../../protocol/shape/check.ts'
import { anyText, choice, isObject, object } from '../../protocol/shape/shape.ts'
import type { Verdict } from '../../protocol/result/verdict.ts'
import { toWire } from '../../protocol/wire.ts'
import { readLines } from '../../doors/print/stdin.ts'
import type { Streams } from '../../doors/streams.ts'

/** One command that the guard is asked about. */
export interface Question {
  command: string
  origin: Origin
  cwd?: string
}

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

const questionShape = object({ command: anyText() }, { origin: choice(origins), cwd: anyText() })

/** Reads a question from a line of JSON. Throws `MisuseError`, which names what is wrong. */
function parseQuestion(line: string, usual: Omit<Question, 'command'>): Question {
  const given = parseJson(line)
  if (!isObject(given)) throw invalid('line', 'an object with `command`', given)
  return { ...usual, ...check(questionShape, given, '', { names: 'wire' }) }
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line) as unknown
  } catch (error) {
    throw new MisuseError('parse_error', `This line is no JSON: ${messageOf(error)}`)
  }
}
