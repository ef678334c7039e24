import type { Lines } from '../../protocol/result/artifacts.ts'
import { MisuseError } from '../../protocol/errors.ts'
import type { LineRange } from '../../protocol/result/reading.ts'
import { answer, tell, wantsJson } from '../answer.ts'
import { type Action, type ActionContext, takeWords } from './action.ts'

/** Clean text by lines, or raw bytes. */
export const showArtifact: Action = async (context) => {
  const [id = ''] = takeWords(context.words, 'show <id>')
  if (context.options['raw'] === true) {
    checkRaw(context)
    return wantsJson(context) ? showBytes(id, context) : copyBytes(id, context)
  }
  const range = rangeOf(context)
  const read = await context.artifacts.read(id, range)
  await answer(context, { id, ...countedFromOne(read) }, read.text)
  if (!wantsJson(context)) await tellRest(id, range, read, context)
  return 0
}

/** Refuses options that count lines, since bytes have none. */
function checkRaw({ numbers }: ActionContext): void {
  const ofLines = ['line', 'column', 'head', 'tail', 'max-lines', 'max-bytes']
  const other = ofLines.find((name) => numbers[name] !== undefined)
  if (other === undefined) return
  throw new MisuseError(
    'wrong_usage',
    `\`--raw\` and \`--${other}\` contradict each other; with --raw, --offset and --limit count bytes`,
  )
}

/** On the command line an offset is the number of a line. */
function rangeOf({ numbers }: ActionContext): LineRange {
  const { offset, line, column, limit, head, tail } = numbers
  const maxLines = numbers['max-lines']
  const maxBytes = numbers['max-bytes']
  const count = offset === undefined ? undefined : Math.max(offset, 1) - 1
  return { offset: count, line, column, limit, head, tail, maxLines, maxBytes }
}

function countedFromOne({ nextOffset, ...read }: Lines) {
  return { ...read, nextOffset: nextOffset === null ? null : nextOffset + 1 }
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

/** A piece of the bytes, as base64. */
async function showBytes(id: string, context: ActionContext) {
  const { offset, limit } = context.numbers
  const read = await context.artifacts.readBytes(id, {
    ...(offset !== undefined && { offset: Math.max(offset, 1) - 1 }),
    ...(limit !== undefined && { limit }),
  })
  const { bytes, nextOffset, totalBytes } = read
  const next = nextOffset === null ? null : nextOffset + 1
  const from = read.offset + 1
  const base64 = bytes.toString('base64')
  await answer(context, { id, base64, from, nextOffset: next, totalBytes }, base64)
  return 0
}

/** All the bytes that are asked for, in pieces: memory stays small however many they are. */
async function copyBytes(id: string, { artifacts, numbers, streams }: ActionContext) {
  let offset = Math.max(numbers['offset'] ?? 1, 1) - 1
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
