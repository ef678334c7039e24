import { wrongUsage } from '../../protocol/errors.ts'
import { origins } from '../../protocol/origin.ts'
import type { Origin } from '../../protocol/request/request.ts'
import { option } from '../../protocol/request/flag.ts'
import * as shape from '../../protocol/shape/shape.ts'
import type { Verdict } from '../../protocol/result/verdict.ts'
import { renderVerdict } from '../../render/verdict.ts'
import type { Command, CommandContext } from '../../doors/command.ts'
import { answer, formatFlag } from '../answer.ts'
import { readText } from '../../doors/print/stdin.ts'
import { judgeLines, type Question } from './judge-lines.ts'

/** The status of a run that the guard stopped. */
const deniedStatus = 126

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
  run: (context) =>
    context.useExecutor(
      (executor, signal) => {
        const judge = (question: Question) => executor.judge({ ...question, guard: true })
        return context.options['input-format'] === 'jsonl'
          ? judgeLines(context.streams, { judge, signal, usual: readUsual(context) })
          : judgeOne(context, judge)
      },
      { toolNames: (context.options['tool'] as string[] | undefined) ?? [] },
    ),
}

async function judgeOne(
  context: CommandContext,
  judge: (question: Question) => Promise<Verdict>,
): Promise<number> {
  const verdict = await judge({ ...readUsual(context), command: await readCommand(context) })
  await answer(context, verdict, renderVerdict(verdict))
  return verdict.decision === 'allow' ? 0 : deniedStatus
}

function readUsual({ options }: CommandContext): Omit<Question, 'command'> {
  const cwd = options['cwd'] as string | undefined
  const origin = (options['origin'] as Origin | undefined) ?? 'agent'
  return { origin, ...(cwd !== undefined && { cwd }) }
}

async function readCommand({ positionals, streams }: CommandContext): Promise<string> {
  if (positionals.length > 0) return positionals.join(' ')
  if (streams.input !== 'terminal') return readText(streams.stdin)
  throw wrongUsage("Say which command: nacre guard '<command>'")
}
