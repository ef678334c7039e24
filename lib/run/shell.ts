import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { takesOwnShell } from '../protocol/origin.ts'
import { StartError } from '../protocol/ports.ts'
import type { Request } from '../protocol/request/request.ts'
import { findProgram, systemPath } from '../system/look.ts'

/** A program with its words. */
export interface ProgramWords {
  /** Absolute path. */
  file: string
  /** What the program is called as (`argv[0]`): a shell names itself so in its messages. */
  argv0: string
  args: string[]
}

type FoundShell = Pick<ProgramWords, 'file' | 'argv0'>

/** The shell that was asked for; else that of the person (`$SHELL`) for what a person runs; else bash, else sh. */
export function findShell(
  request: Request,
  path: string,
  userShell: string | undefined,
): FoundShell {
  if (request.shell !== null) return findNamedShell(request.shell, path)
  const keeps = request.pty ? hasEditor : keepsState
  const own =
    takesOwnShell(request) &&
    userShell &&
    !isNacre(userShell) &&
    (request.session === null || keeps(userShell))
  const wanted = own ? [userShell, 'sh'] : ['bash', 'sh']
  if (request.session !== null && request.pty) wanted.splice(-1, 1, 'bash', 'zsh', 'fish')
  for (const places of [path, systemPath]) {
    for (const name of wanted) {
      const found = findProgram(name, places)
      if (found) return { file: found, argv0: name }
    }
  }
  const places = systemPath.replaceAll(':', ', ')
  const message = `No shell was found: neither bash nor sh is on the PATH, nor in ${places}`
  throw new StartError('shell_not_found', message)
}

/** Where nacre stands in the place of the user's shell, the shell behind it is bash. */
const isNacre = (shell: string): boolean => /(?:^|\/)nacre$/.test(shell)

/** The shell that sessions are built on. */
const keepsState = (shell: string): boolean => /(?:^|\/)bash$/.test(shell)

/** The shells that sessions on a terminal are built on. */
const hasEditor = (shell: string): boolean => /(?:^|\/)(?:bash|zsh|fish)$/.test(shell)

function findNamedShell(name: string, path: string): FoundShell {
  const found = findProgram(name, path)
  if (found) return { file: found, argv0: name }
  const exists = name.includes('/') && statSync(name, { throwIfNoEntry: false }) !== undefined
  throw exists
    ? new StartError('shell_not_executable', `Shell is not executable: ${name}`)
    : new StartError('shell_not_found', `Shell does not exist: ${name}`)
}

/**
 * The longest word that a program can be given, its NUL included: 32 pages on Linux (execve(2),
 * MAX_ARG_STRLEN). All words and the environment together may be far longer (ARG_MAX).
 */
const wordBytesMax = 32 * 4096

/** The shell with what it is to run: a script, or the command. Throws `StartError`. */
export function composeShell(shell: FoundShell, request: Request): ProgramWords {
  const { login, script, parameters } = request
  const options = composeOptions(request.shellOptions)
  if (script !== null) {
    const words = script === '-' ? ['-s', '--', ...parameters] : [script, ...parameters]
    return { ...shell, args: [...options, ...(login ? ['-l'] : []), ...words] }
  }
  // A shell takes a word with a dash for more of its options, also behind `-c`.
  const given = request.shellCommand ?? request.command
  const command = /^[-+]/.test(given) ? ` ${given}` : given
  if (request.session === null && Buffer.byteLength(command) >= wordBytesMax) {
    const message = `The command is too long for the words of a program (${wordBytesMax} bytes): give it to a session, or as a script file`
    throw new StartError('too_long', message)
  }
  return { ...shell, args: [...options, login ? '-lc' : '-c', command, ...parameters] }
}

/** As the words of a shell; bash wants those that begin with two dashes first. */
function composeOptions(shellOptions: readonly string[]): string[] {
  const isLong = (option: string) => option.startsWith('--')
  return [
    ...shellOptions.filter(isLong),
    ...shellOptions
      .filter((option) => !isLong(option))
      .flatMap((option) => (/^[+-]/.test(option) ? option.split(' ') : ['-o', option])),
  ]
}

/** A program with its words, found as a shell would find it. */
export function findWords(
  [name = '', ...args]: readonly string[],
  cwd: string,
  path: string,
): ProgramWords {
  const file = findProgram(name.includes('/') ? resolve(cwd, name) : name, path)
  if (file !== null) return { file, argv0: name, args }
  const place = resolve(cwd, name)
  const exists = name.includes('/') && statSync(place, { throwIfNoEntry: false }) !== undefined
  throw exists
    ? new StartError('program_not_executable', `The program is not executable: ${name}`)
    : new StartError('program_not_found', `There is no such program: ${name}`)
}
