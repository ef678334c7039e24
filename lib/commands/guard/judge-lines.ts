import { messageOf, MisuseError } from '../../protocol/errors.ts'
import { origins } from '../../protocol/origin.ts'
import type { Origin } from '../../protocol/request/request.ts'
import { invalid } from '../../protocol/shape/check.ts'
import { isObject } from '../../protocol/shape/shape.ts'
import type { Verdict } from '../../protocol/result/verdict.ts'
import { toWire, unknownName } from '../../protocol/wire.ts'
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

const names = ['command', 'origin', 'cwd']

/** Reads a question from a line of JSON. Throws `MisuseError`, which names what is wrong. */
function parseQuestion(line: string, usual: Omit<Question, 'command'>): Question {
  const given = parseJson(line)
  if (!isObject(given)) throw invalid('line', 'an object with `command`', given)
  const unknown = Object.keys(given).find((name) => !names.includes(name))
  if (unknown !== undefined) throw unknownName('field', unknown, names)
  const { command, origin = usual.origin, cwd = usual.cwd } = given
  if (typeof command !== 'string') throw invalid('command', 'a text', command)
  if (cwd !== undefined && typeof cwd !== 'string') throw invalid('cwd', 'a text', cwd)
  if (!origins.includes(origin as Origin)) {
    throw invalid('origin', `one of ${origins.join(', ')}`, origin)
  }
  return { command, origin: origin as Origin, ...(cwd !== undefined && { cwd }) }
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line) as unknown
  } catch (error) {
    throw new MisuseError('parse_error', `This line is no JSON: ${messageOf(error)}`)
  }
}
