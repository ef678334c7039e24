import { messageOf, MisuseError, wrongUsage } from '../protocol/errors.ts'
import { origins } from '../protocol/origin.ts'
import type { Origin } from '../protocol/request/request.ts'
import { option } from '../protocol/request/fields.ts'
import * as shape from '../protocol/shape/shape.ts'
import type { Verdict } from '../protocol/rules.ts'
import { renderVerdict } from '../render/tables.ts'
import type { Command, CommandContext } from '../doors/command.ts'
import { answer, formatFlag } from './actions.ts'
import { check, invalid } from '../protocol/shape/check.ts'
import { toWire } from '../protocol/wire.ts'
import { readLines, readText, type Streams } from '../doors/streams.ts'

/** The status of a run that the guard stopped. */
const deniedStatus = 126
/** The status where a line was wrong. */
const wrongStatus = 125

export const command: Command = {
  name: 'guard',
  usage: 'nacre guard [command]',
  description: 'What the guard says of a command, and why, without running it',
  flags: [
    option('origin', shape.choice(origins), 'Who would run it (default agent)'),
    option('cwd', shape.text('', { hint: 'dir' }), 'Where it would run (default: here)'),
    option(
      'tool',
      shape.list(shape.text('', { hint: 'name' })),
      'A tool that the caller has beside the shell, for suggestions',
    ),
    option(
      'input-format',
      shape.choice(['text', 'jsonl']),
      'jsonl: one question a line on stdin, one answer a line',
    ),
    { ...formatFlag, description: 'How to answer about one command (default text)' },
  ],
  details: [
    'Without a command, all of stdin is the command. A line of jsonl is an object with `command`,',
    'and where needed `origin` (default agent) and `cwd`; blank lines are passed over. What is no',
    'such line is answered with an `error` in its place.',
    '',
    'Exit status: 0 allowed, 126 denied, asked about or redirected; with jsonl 0, or 125 where a',
    'line was wrong.',
  ],
  examples: [
    "nacre guard 'rm -rf /'",
    "nacre guard --output-format json 'git push --force'",
    `echo '{"command": "git add -A"}' | nacre guard --input-format jsonl`,
  ],
  async run(context) {
    const { options, streams } = context
    const cwd = options['cwd'] as string | undefined
    const origin = (options['origin'] as Origin | undefined) ?? 'agent'
    const usual = { origin, ...(cwd !== undefined && { cwd }) }
    const toolNames = (options['tool'] as string[] | undefined) ?? []
    return context.useExecutor(
      async (executor, signal) => {
        const judge = (question: Question) => executor.judge({ ...question, guard: true })
        if (options['inputFormat'] === 'jsonl') {
          return judgeLines(streams, (line) => judge(parseQuestion(line, usual)), signal)
        }
        const verdict = await judge({ ...usual, command: await readCommand(context) })
        await answer(context, verdict, renderVerdict(verdict))
        return verdict.decision === 'allow' ? 0 : deniedStatus
      },
      { toolNames },
    )
  },
}

async function readCommand({ positionals, streams }: CommandContext): Promise<string> {
  if (positionals.length > 0) return positionals.join(' ')
  if (streams.input !== 'terminal') return readText(streams.stdin)
  throw wrongUsage("Say which command: nacre guard '<command>'")
}

/** One command that the guard is asked about. */
interface Question {
  command: string
  origin: Origin
  cwd?: string
}

/** Answers each line of stdin with one line, in order, as they come. Gives the exit status. */
async function judgeLines(
  { stdin, stdout }: Streams,
  judge: (line: string) => Promise<Verdict>,
  signal: AbortSignal,
): Promise<number> {
  let status = 0
  for await (const line of readLines(stdin)) {
    if (line.trim() === '') continue
    let answer: object
    try {
      answer = await judge(line)
    } catch (error) {
      if (!(error instanceof MisuseError)) throw error
      status = wrongStatus
      const { code, message, field } = error
      answer = { error: { code, message, field } }
    }
    await stdout.write(`${JSON.stringify(toWire(answer))}\n`)
    if (signal.aborted || stdout.closed) break
  }
  return status
}

const questionShape = shape.object(
  { command: shape.anyText() },
  { origin: shape.choice(origins), cwd: shape.anyText() },
)

/** Reads a question from a line of JSON. Throws `MisuseError`, which names what is wrong. */
function parseQuestion(line: string, usual: Omit<Question, 'command'>): Question {
  let given: unknown
  try {
    given = JSON.parse(line)
  } catch (error) {
    throw new MisuseError('parse_error', `This line is no JSON: ${messageOf(error)}`)
  }
  if (!shape.isObject(given)) throw invalid('line', 'an object with `command`', given)
  return { ...usual, ...check(questionShape, given, '', { names: 'wire' }) }
}
