import type { Launch } from './launch.ts'

/**
 * The longest word that a program can be given, its NUL included: 32 pages on Linux (execve(2),
 * MAX_ARG_STRLEN). All words and the environment together may be far longer (ARG_MAX).
 */
const wordBytesMax = 32 * 4096
/** Of three bytes at most, each. */
const partChars = Math.floor(wordBytesMax / 3) - 1

/**
 * A launch of a shell whose command is too long to be one of its words: it gets the command in
 * parts and evaluates them as one. Any other launch stays as it is.
 */
export function splitCommand(launch: Launch): Launch {
  const command = launch.args.at(-1) ?? ''
  if (command.length < partChars || Buffer.byteLength(command) < wordBytesMax) return launch
  if (!evaluates.test(launch.file)) return launch
  const parts = splitText(command)
  const all = parts.map((_, index) => `\${${index + 1}}`).join('')
  // On one line with it, so that its lines count from 1; and it finds no words of ours.
  const text = `eval "shift ${parts.length}; ${all}"`
  return { ...launch, args: [...launch.args.slice(0, -1), text, launch.argv0, ...parts] }
}

/** Never between the halves of a character. */
function splitText(text: string): string[] {
  const parts: string[] = []
  for (let from = 0; from < text.length;) {
    const end = from + partChars
    const to = /[\uD800-\uDBFF]/.test(text[end - 1] ?? '') ? end - 1 : end
    parts.push(text.slice(from, to))
    from = to
  }
  return parts
}

/** The shells that know this `eval`. */
const evaluates = /(?:^|\/)(?:ba|z|da|k|mk|a)?sh$/
