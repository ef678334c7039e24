import { MisuseError } from '../../protocol/errors.ts'
import { type Action, type ActionContext, printJson, takeWords } from './action.ts'

/** Clean text by lines, or raw bytes. */
export const showArtifact: Action = async (context) => {
  const [id = ''] = takeWords(context.words, 'show <id>')
  if (context.has('raw')) return context.asJson ? showBytes(id, context) : copyBytes(id, context)
  const lines = await readLines(id, context)
  const { text, from, to, nextOffset, totalLines } = lines
  const next = nextOffset === null ? null : nextOffset + 1
  if (context.asJson) {
    await printJson(context.streams, { id, text, from, to, nextOffset: next, totalLines })
    return 0
  }
  await context.streams.stdout.write(text)
  if (next !== null) {
    await context.tell(
      `lines ${from} to ${to}; go on with: nacre artifact show ${id} --offset ${next}`,
    )
  } else if (from > 1) await context.tell(`lines ${from} to ${to} of ${totalLines}`)
  return 0
}

function readLines(id: string, { artifacts, numbers }: ActionContext) {
  const { head, tail, offset = 1, limit } = numbers
  if (tail !== undefined) {
    if (head !== undefined || limit !== undefined || numbers['offset'] !== undefined) {
      throw new MisuseError('wrong_usage', '`--tail` goes with none of --head, --offset, --limit')
    }
    return artifacts.readLastLines(id, tail)
  }
  const wanted = limit ?? head
  return artifacts.readLines(id, {
    offset: Math.max(offset, 1) - 1,
    ...(wanted !== undefined && { limit: wanted }),
  })
}

/** A piece of the bytes, as base64. */
async function showBytes(id: string, { artifacts, numbers, streams }: ActionContext) {
  const { offset, limit } = numbers
  const read = await artifacts.readBytes(id, {
    ...(offset !== undefined && { offset: Math.max(offset, 1) - 1 }),
    ...(limit !== undefined && { limit }),
  })
  const { bytes, nextOffset, totalBytes } = read
  const next = nextOffset === null ? null : nextOffset + 1
  const from = read.offset + 1
  const base64 = bytes.toString('base64')
  await printJson(streams, { id, base64, from, nextOffset: next, totalBytes })
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
