import { MisuseError } from '../protocol/errors.ts'
import { option, toggle } from '../protocol/request/fields.ts'
import { lineRangeParams, type LineRange, type Lines } from '../protocol/result/reading.ts'
import * as shape from '../protocol/shape/shape.ts'
import type { CommandContext } from '../doors/command.ts'
import type { Executor } from '../executor/executor.ts'
import { describeDamaged, describeEarlyEnd, describeParts } from '../render/messages.ts'
import { answer, answerFlags, createCommand, fieldFlags, tell, wantsJson } from './actions.ts'

const { limit, line, column, head, tail, maxLines, maxBytes } = lineRangeParams
const count = shape.integer()

const limitFlag = option('limit', limit, 'At most so many lines, matches, or artifacts')
/** Of what is read by lines. */
const lineFlags = [
  option('offset', count, 'Begin at this line, counted from 1'),
  limitFlag,
  ...fieldFlags({ maxLines, maxBytes }),
]

interface GrepFlags {
  ignoreCase?: boolean
  context?: number
  beforeContext?: number
  afterContext?: number
}

/** The statuses of grep(1), and that of timeout(1) where the time was over. */
const statuses = { found: 0, none: 1, timedOut: 124 } as const

export const command = createCommand({
  name: 'artifact',
  description: 'Read the complete output that earlier runs left',
  flags: [
    option(
      'artifact-dir',
      shape.text('', { hint: 'dir' }),
      'The folder, if it is not the usual one',
    ),
    ...answerFlags,
  ],
  actions: {
    list: {
      words: [],
      description: 'what there is, newest first',
      flags: [limitFlag],
      run: (_, context) =>
        useArtifacts(context, async (artifacts) => {
          const found = (await artifacts.list()).slice(0, rangeOf(context).limit)
          const rows = found.map(({ id, createdAt, bytes, isLive, complete, stream, command }) => {
            const state = isLive ? 'live' : complete ? '' : 'cut'
            const preview = command.replaceAll(/\s+/g, ' ').slice(0, 60)
            const time = createdAt.slice(0, 19).replace('T', ' ')
            return `${id}  ${time}  ${String(bytes).padStart(11)}  ${state.padEnd(4)}  ${stream.padEnd(6)}  ${preview}\n`
          })
          await answer(context, { artifacts: found }, rows.join(''))
          const damaged = describeDamaged(await artifacts.listDamaged())
          for (const line of damaged) await tell(context, line)
          return 0
        }),
    },
    show: {
      words: ['<id>'],
      description: 'its text, cleaned, at most 2000 lines or 50 KiB a call',
      flags: [...lineFlags, ...fieldFlags({ line, column, head, tail })],
      run: ([id = ''], context) =>
        useArtifacts(context, async (artifacts) => {
          const range = rangeOf(context)
          const read = await artifacts.read(id, range)
          await answer(context, { id, ...read, nextOffset: lineOf(read) }, read.text)
          if (!wantsJson(context)) await tellRest(id, range, read, context)
          return 0
        }),
    },
    grep: {
      words: ['<id>', '<pattern>'],
      description: 'its lines that match a regular expression, with their numbers',
      flags: [
        ...lineFlags,
        toggle('ignore-case', 'a and A are the same', { short: 'i' }),
        option('after-context', count, 'So many lines after each match', { short: 'A' }),
        option('before-context', count, 'So many lines before each match', { short: 'B' }),
        option('context', count, 'So many lines on both sides', { short: 'C' }),
      ],
      run: ([id = '', pattern = ''], context) =>
        useArtifacts(context, async (artifacts) => {
          const range = rangeOf(context)
          const { context: both = 0, ...given } = context.options as GrepFlags
          const found = await artifacts.grep(id, {
            ...range,
            offset: range.offset ?? 0,
            pattern,
            ignoreCase: given.ignoreCase ?? false,
            before: given.beforeContext ?? both,
            after: given.afterContext ?? both,
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
        }),
    },
    path: {
      words: ['<id>'],
      description: 'the file with the raw bytes, for any other tool',
      run: ([id = ''], context) =>
        useArtifacts(context, async (artifacts) => {
          const info = await artifacts.find(id)
          await answer(context, info, `${info.path}\n`)
          return 0
        }),
    },
    prune: {
      words: [],
      description: 'remove now what is too old or too much',
      run: (_, context) =>
        useArtifacts(context, async (artifacts) => {
          const { removed, trouble } = await artifacts.prune()
          await answer(context, { removed }, removed.map((id) => `${id}\n`).join(''))
          if (!wantsJson(context)) await tell(context, `${removed.length} removed`)
          if (trouble !== null) await tell(context, trouble)
          return trouble === null ? 0 : 1
        }),
    },
  },
  details: [
    'An id may be written as artifact://<id>. If there is more, stderr says how to go on.',
    'Exit status: 0; of grep 1 if no line matches, 124 if the time was over before one did;',
    'of prune 1 if something cannot be removed.',
  ],
  examples: [
    'nacre artifact list --limit 10',
    "nacre artifact show $(nacre -c 'seq 9999' --artifact always --output-format json | grep -o 'art_[a-z0-9]*' | head -1) --tail 3",
    'nacre artifact prune',
  ],
})

type Artifacts = NonNullable<Executor['artifacts']>

function useArtifacts(
  { useExecutor }: CommandContext,
  use: (artifacts: Artifacts) => Promise<number>,
): Promise<number> {
  return useExecutor(({ artifacts }) => {
    if (artifacts === null) throw new MisuseError('not_found', 'No artifacts are kept here')
    return use(artifacts)
  })
}

/** On the command line an offset is the number of a line, counted from 1. */
function rangeOf({ options }: CommandContext): LineRange {
  const { offset, line, column, limit, head, tail, maxLines, maxBytes } = options as LineRange
  const passed = offset === undefined ? undefined : Math.max(offset, 1) - 1
  return { offset: passed, line, column, limit, head, tail, maxLines, maxBytes }
}

function lineOf({ nextOffset }: { nextOffset: number | null }): number | null {
  return nextOffset === null ? null : nextOffset + 1
}

/** What is not shown, and how to see it. */
async function tellRest(id: string, range: LineRange, read: Lines, context: CommandContext) {
  const { from, to, line, column, totalLines } = read
  if (line !== null) {
    const place = column === 1 ? `--offset ${line}` : `--line ${line} --column ${column}`
    await tell(context, `lines ${from} to ${to}; go on with: nacre artifact show ${id} ${place}`)
  } else if (from > 1) await tell(context, `lines ${from} to ${to} of ${totalLines}`)
  else if (to === 0 && (range.offset ?? 0) + (range.line ?? 0) > 0) {
    await tell(context, `there is nothing at that place: the text has ${totalLines} lines`)
  }
}
