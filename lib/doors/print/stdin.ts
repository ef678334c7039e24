import { fstatSync } from 'node:fs'
import type { Executor } from '../../executor/executor.ts'
import { messageOf, MisuseError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'

/** All of standard input. Rejects with `MisuseError` where it cannot be read. */
export async function readText(stdin: NodeJS.ReadStream): Promise<string> {
  let text = ''
  for await (const chunk of readChunks(stdin)) text += chunk
  return text
}

/** Of longer input a prompt has both ends, so much of each, and an artifact has the whole. */
const givenBytes = 32 * 1024
const ends = { maxBytes: 8 * 1024 }

/**
 * Input as it goes into a prompt. `owner`: the conversation, to which the artifact belongs; its record has no other
 * run. Rejects with `MisuseError` if it cannot be kept.
 */
export async function keepLarge(
  input: string,
  { artifacts }: Executor,
  owner: string,
): Promise<string> {
  const bytes = Buffer.from(input)
  if (bytes.length <= givenBytes) return input
  const writer = artifacts?.create({
    runId: owner,
    belongsTo: owner,
    command: 'stdin',
    stream: 'stdout',
  })
  await writer?.write(bytes)
  const kept = await writer?.finish()
  if (!artifacts || !kept?.artifact) {
    const why = kept?.notice ?? 'There is no state folder'
    const message = `Standard input (${bytes.length} bytes) must be kept as an artifact, and cannot be: ${why}`
    throw new MisuseError('stdin_not_kept', message)
  }
  const { id } = kept.artifact
  const head = await artifacts.read(id, ends)
  const tail = await artifacts.read(id, { ...ends, tail: limits.maxLines })
  const note = `[… The middle is left out. The whole, ${bytes.length} bytes in ${tail.totalLines} lines, is the artifact ${id}: search and read it with the tool artifact (grep, offset, limit). …]`
  return [head.text, note, kept.notice, tail.text].filter(Boolean).join('\n')
}

/** There is nothing to ask, neither as words nor on standard input. */
export function emptyPrompt(): MisuseError {
  return new MisuseError(
    'empty_prompt',
    "The prompt is empty; give it as words: nacre -p '<prompt>'",
  )
}

/** Standard input line by line, split at LF only. */
export async function* readLines(stdin: NodeJS.ReadStream): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of readChunks(stdin)) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}

async function* readChunks(stdin: NodeJS.ReadStream): AsyncGenerator<string> {
  // Node gives an empty stream for a directory.
  if (fstatSync(0).isDirectory()) throw unreadable('it is a directory')
  stdin.setEncoding('utf8')
  try {
    for await (const chunk of stdin) yield chunk as string
  } catch (error) {
    throw unreadable(messageOf(error))
  }
}

function unreadable(why: string): MisuseError {
  return new MisuseError('unreadable_stdin', `Cannot read standard input: ${why}`)
}
