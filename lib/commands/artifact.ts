import { contradiction, MisuseError } from '../protocol/errors.ts'
import { lineRangeParams, type LineRange, type Lines } from '../protocol/result/reading.ts'
import { option, toggle } from '../protocol/request/fields.ts'
import * as shape from '../protocol/shape/shape.ts'
import {
  checkActionFlags,
  fieldFlags,
  flagsOf,
  answerFlags,
  chooseAction,
  answer,
  takeWords,
  tell,
  wantsJson,
} from './answer.ts'
import type { Command, CommandContext } from '../doors/command.ts'
import type { Executor } from '../executor/executor.ts'
import { describeDamaged, describeEarlyEnd, describeParts } from '../render/messages.ts'

const { limit, line, column, head, tail, maxLines, maxBytes } = lineRangeParams
const count = shape.integer()

export const command: Command = {
  name: 'artifact',
  usage: 'nacre artifact list|show|grep|path|prune …',
  description: 'Read the complete output that earlier runs left',
  flags: [
    ...flagsOf(
      ['show', 'grep'],
      [option('offset', count, 'Begin at this line, counted from 1 (with --raw: byte)')],
    ),
    ...flagsOf(
      ['show', 'grep', 'list'],
      [option('limit', limit, 'At most so many lines (with --raw: bytes), matches, or artifacts')],
    ),
    ...flagsOf(['show'], fieldFlags({ line, column, head, tail })),
    ...flagsOf(['show', 'grep'], fieldFlags({ maxLines, maxBytes })),
    ...flagsOf(['show'], [toggle('raw', 'The bytes as the command wrote them')]),
    ...flagsOf(
      ['grep'],
      [
        toggle('ignore-case', 'a and A are the same', { short: 'i' }),
        option('after-context', count, 'So many lines after each match', { short: 'A' }),
        option('before-context', count, 'So many lines before each match', { short: 'B' }),
        option('context', count, 'So many lines on both sides', { short: 'C' }),
      ],
    ),
    option(
      'artifact-dir',
      shape.text('', { hint: 'dir' }),
      'The folder, where it is not the usual one',
    ),
    ...answerFlags,
  ],
  details: [
    '  list                     what there is, newest first',
    '  show <id>                its text, cleaned, at most 2000 lines or 50 KiB a call',
    '  grep <id> <pattern>      its lines that match a regular expression, with their numbers',
    '  path <id>                the file with the raw bytes, for any other tool',
    '  prune                    remove now what is too old or too much',
    '',
    'An id may be written as artifact://<id>. Where there is more, stderr says how to go on.',
    'Exit status: 0; of grep 1 where no line matches, 124 where the time was over before one did;',
    'of prune 1 where something cannot be removed.',
  ],
  examples: [
    'nacre artifact list --limit 10',
    "nacre artifact show $(nacre -c 'seq 9999' --artifact always --output-format json | grep -o 'art_[a-z0-9]*' | head -1) --tail 3",
    'nacre artifact prune',
  ],
  async run({ positionals, options, streams, useExecutor }) {
    const [name = '', ...words] = positionals
    const action = chooseAction(artifactActions, name, command.usage)
    checkActionFlags('nacre artifact', name, command.flags, options)
    return useExecutor(({ artifacts }) => {
      if (artifacts === null) throw new MisuseError('not_found', 'No artifacts are kept here')
      const numbers = options as ActionContext['numbers']
      return action({ artifacts, words, numbers, options, streams })
    })
  },
}

interface ActionContext extends Pick<CommandContext, 'options' | 'streams'> {
  artifacts: NonNullable<Executor['artifacts']>
  /** What stands after the action's name. */
  words: readonly string[]
  /** The options with a number, by their names. */
  numbers: Readonly<Record<string, number | undefined>>
}

/** Gives the exit status. */
type Action = (context: ActionContext) => Promise<number>

/** The statuses of grep(1), and that of timeout(1) where the time was over. */
const statuses = { found: 0, none: 1, timedOut: 124 } as const

const artifactActions: Readonly<Record<string, Action>> = {
  /** What there is, newest first: a line each. */
  async list(context) {
    const { artifacts, words, numbers } = context
    takeWords(words, 'nacre artifact list')
    const found = (await artifacts.list()).slice(0, numbers['limit'])
    const rows = found.map(({ id, createdAt, bytes, isLive, complete, stream, command }) => {
      const state = isLive ? 'live' : complete ? '' : 'cut'
      const preview = command.replaceAll(/\s+/g, ' ').slice(0, 60)
      const time = createdAt.slice(0, 19).replace('T', ' ')
      return `${id}  ${time}  ${String(bytes).padStart(11)}  ${state.padEnd(4)}  ${stream.padEnd(6)}  ${preview}\n`
    })
    await answer(context, { artifacts: found }, rows.join(''))
    for (const line of describeDamaged(await artifacts.listDamaged())) await tell(context, line)
    return 0
  },
  /** Clean text by lines, or raw bytes. */
  async show(context) {
    const [id = ''] = takeWords(context.words, 'nacre artifact show <id>')
    if (context.options['raw'] === true) return copyBytes(id, context)
    const { line, column, limit, head, tail, ...numbers } = context.numbers
    const range = {
      offset: offsetOf(numbers),
      line,
      column,
      limit,
      head,
      tail,
      ...boundsOf(numbers),
    }
    const read = await context.artifacts.read(id, range)
    await answer(context, { id, ...read, nextOffset: lineOf(read) }, read.text)
    if (!wantsJson(context)) await tellRest(id, range, read, context)
    return 0
  },
  /** Lines that match, with their numbers. */
  async grep(context) {
    const { artifacts, words, numbers, options } = context
    const [id = '', pattern = ''] = takeWords(words, 'nacre artifact grep <id> <pattern>')
    const { context: both = 0, limit } = numbers
    const found = await artifacts.grep(id, {
      pattern,
      ignoreCase: options['ignore-case'] === true,
      before: numbers['before-context'] ?? both,
      after: numbers['after-context'] ?? both,
      offset: offsetOf(numbers) ?? 0,
      limit,
      ...boundsOf(numbers),
    })
    const { matches, timedOut } = found
    const next = lineOf(found)
    await answer(context, { id, ...found, nextOffset: next }, found.text)
    if (!wantsJson(context)) {
      const parts = describeParts(found)
      if (parts !== null) await tell(context, parts)
      const why = describeEarlyEnd(found) ?? 'there is more'
      if (next !== null) await tell(context, `${why}; go on with --offset ${next}`)
    }
    if (matches > 0) return statuses.found
    return timedOut ? statuses.timedOut : statuses.none
  },
  /** The file with the raw bytes. */
  async path(context) {
    const [id = ''] = takeWords(context.words, 'nacre artifact path <id>')
    const info = await context.artifacts.find(id)
    await answer(context, info, `${info.path}\n`)
    return 0
  },
  /** Removes what is too old or too much; says what went. */
  async prune(context) {
    takeWords(context.words, 'nacre artifact prune')
    const { removed, trouble } = await context.artifacts.prune()
    await answer(context, { removed }, removed.map((id) => `${id}\n`).join(''))
    if (!wantsJson(context)) await tell(context, `${removed.length} removed`)
    if (trouble !== null) await tell(context, trouble)
    return trouble === null ? 0 : 1
  },
}

type Numbers = ActionContext['numbers']

/** On the command line an offset is the number of a line or a byte, counted from 1. */
function offsetOf({ offset }: Numbers): number | undefined {
  return offset === undefined ? undefined : Math.max(offset, 1) - 1
}

function lineOf({ nextOffset }: { nextOffset: number | null }): number | null {
  return nextOffset === null ? null : nextOffset + 1
}

function boundsOf(numbers: Numbers): Pick<LineRange, 'maxLines' | 'maxBytes'> {
  return { maxLines: numbers['max-lines'], maxBytes: numbers['max-bytes'] }
}

/** What is not shown, and how to see it. */
async function tellRest(id: string, range: LineRange, read: Lines, context: ActionContext) {
  const { from, to, line, column, totalLines } = read
  if (line !== null) {
    const place = column === 1 ? `--offset ${line}` : `--line ${line} --column ${column}`
    await tell(context, `lines ${from} to ${to}; go on with: nacre artifact show ${id} ${place}`)
  } else if (from > 1) await tell(context, `lines ${from} to ${to} of ${totalLines}`)
  else if (to === 0 && (range.offset ?? 0) + (range.line ?? 0) > 0) {
    await tell(context, `there is nothing at that place: the text has ${totalLines} lines`)
  }
}

/** All the bytes that are asked for, in pieces: memory stays small however many they are. */
async function copyBytes(id: string, context: ActionContext) {
  const { artifacts, numbers, streams } = context
  const ofLines = ['line', 'column', 'head', 'tail', 'max-lines', 'max-bytes']
  const other = wantsJson(context)
    ? 'output-format'
    : ofLines.find((name) => numbers[name] !== undefined)
  if (other !== undefined) throw contradiction('--raw', `--${other}`)
  let offset = offsetOf(numbers) ?? 0
  let left = numbers['limit'] ?? Number.MAX_SAFE_INTEGER
  while (left > 0) {
    const { bytes, nextOffset } = await artifacts.readBytes(id, { offset, limit: left })
    const closed = await streams.stdout.write(bytes)
    left -= bytes.length
    if (nextOffset === null || closed === 'closed') break
    offset = nextOffset
  }
  return 0
}
