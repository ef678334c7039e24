import { startOf } from '../protocol/words.ts'
import type { Launch } from './launch.ts'

/**
 * The longest word that a program can be given, its NUL included: 32 pages on Linux (execve(2),
 * MAX_ARG_STRLEN). All words and the environment together may be far longer (ARG_MAX).
 */
const wordBytesMax = 32 * 4096
/** Of three bytes at most, each. */
const partChars = Math.floor(wordBytesMax / 3) - 1

/**
 * The words behind `-c`: the command and its parameters ($0, $1, …). A command that is too long to be
 * one word comes in parts, which the shell evaluates as one.
 */
export function splitCommand(
  { file, argv0 }: Pick<Launch, 'file' | 'argv0'>,
  command: string,
  parameters: readonly string[],
): string[] {
  const isShort = command.length < partChars || Buffer.byteLength(command) < wordBytesMax
  if (isShort || !evaluates.test(file)) return [command, ...parameters]
  const parts = splitText(command)
  const all = parts.map((_, index) => `\${${index + 1}}`).join('')
  // On one line with it, so that its lines count from 1; and it finds no words but its own.
  const text = `eval "shift ${parts.length}; ${all}"`
  const [name = argv0, ...rest] = parameters
  return [text, name, ...parts, ...rest]
}

/** Never between the halves of a character. */
function splitText(text: string): string[] {
  const parts: string[] = []
  for (let from = 0; from < text.length;) {
    const part = startOf(text.slice(from, from + partChars + 1), partChars)
    parts.push(part)
    from += part.length
  }
  return parts
}

/** The shells that know this `eval`. */
const evaluates = /(?:^|\/)(?:ba|z|da|k|mk|a)?sh$/
