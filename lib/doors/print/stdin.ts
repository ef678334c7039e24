import { fstatSync } from 'node:fs'
import { messageOf, MisuseError } from '../../protocol/errors.ts'

/** All of standard input. Rejects with `MisuseError` where it cannot be read. */
export async function readText(stdin: NodeJS.ReadStream): Promise<string> {
  let text = ''
  for await (const chunk of readChunks(stdin)) text += chunk
  return text
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
