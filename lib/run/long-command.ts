import type { Launch } from './launch.ts'

/**
 * The longest word that a program can be given, its NUL included: 32 pages on Linux (execve(2),
 * MAX_ARG_STRLEN). Elsewhere all words and the environment share 1 MiB at least (ARG_MAX).
 */
const wordBytesMax = process.platform === 'linux' ? 32 * 4096 : 512 * 1024

/** Leaves 3 and up to whoever confines the shell; a shell itself knows one digit. */
const textFd = 9

/**
 * A launch of a shell whose command is too long to be one of its words: the shell reads it from a
 * descriptor, which it closes, and evaluates it. Any other launch stays as it is.
 */
export function shortenCommand(launch: Launch): Launch {
  const command = launch.args.at(-1) ?? ''
  if (command.length * 3 < wordBytesMax || Buffer.byteLength(command) < wordBytesMax) return launch
  if (!evaluates.test(launch.file) || command.includes('\0')) return launch
  // On one line with it, so that its lines count from 1.
  const text = `eval "exec ${textFd}<&-; $(cat <&${textFd})"`
  return {
    ...launch,
    args: [...launch.args.slice(0, -1), text],
    descriptors: [{ fd: textFd, text: command }],
  }
}

/** The shells that know this `eval`. */
const evaluates = /(?:^|\/)(?:ba|z|da|k|mk|a)?sh$/
