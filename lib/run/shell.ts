import { accessSync, constants, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { codeOf } from '../protocol/errors.ts'
import { originPolicies, takesOwnShell } from '../protocol/origin.ts'
import { StartError } from '../protocol/ports.ts'
import { quoteWord } from '../protocol/words.ts'
import type { Request } from '../protocol/request/request.ts'
import { buildEnvironment, nameKeys } from './environment.ts'
import {
  type Confine,
  type Launch,
  type PrepareLaunch,
  type ShellUse,
  takeAlong,
} from './launch.ts'
import { splitCommand } from './long-command.ts'
import { addPrefix } from './prefix.ts'
import { definitionsFd, type SetUp, type Snapshots } from './snapshot/snapshot.ts'
import { nameProcess } from '../system/process/process-table.ts'
import { isOwnDirectory } from '../system/process/spawn.ts'
import { copyWithout, hideVariables, listIgnored } from '../system/process/own-process.ts'
import { findProgram, systemPath } from '../system/look.ts'

export interface LaunchOptions {
  /** Where this nacre keeps its state; runs are told by it whose they are. */
  stateDir?: string | null
  /** The environment of nacre. */
  environment: Readonly<Record<string, string | undefined>>
  /** That of this process, whose keys no command of a model finds in `/proc`. Default: it may. */
  ownEnvironment?: Record<string, string | undefined>
  /** Output goes straight to a terminal. */
  toTerminal: boolean
  /** Variables of the environment that no command of a model gets, beside those that are known. */
  modelKeys?: readonly string[]
  /** What is put before the shell of an agent's command: a program and its arguments. Default: none. */
  prefix?: readonly string[]
  /** Reads the person's start files, with the first run that wants to know. Default: none does. */
  openSnapshots?: () => Promise<Snapshots>
  /** Puts a launch into the sandbox that its request asks for. Without it there is none to be had. */
  confine?: Confine
}

const none: ReadonlySet<string> = new Set()

/** Checks a request's directory, finds its shell, builds its environment, confines it. */
export function createPrepareLaunch(options: LaunchOptions): PrepareLaunch {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', SHELL } = options.environment
  const falsePath = findProgram('false', PATH) ?? '/bin/false'
  const owner = `${nameProcess(process.pid)}:${options.stateDir ?? ''}`
  const { prefix = [] } = options
  const confine = options.confine ?? refuseSandbox
  const ignored = listIgnored()
  const keys = nameKeys(options.modelKeys)
  let hidesKeys = false

  return async (request, use) => {
    checkDirectory(request.cwd)
    const hidden = originPolicies[request.origin].withholdsKeys ? keys : none
    if (hidden === keys && !hidesKeys) {
      hidesKeys = true
      if (options.ownEnvironment) hideVariables(keys, options.ownEnvironment)
    }
    const inherited = copyWithout(hidden, options.environment)
    const shell = request.args === null ? findShell(request, PATH, SHELL) : null
    const setUp = await readSetUp(request, shell?.file ?? '', inherited)
    const env = buildEnvironment(request, {
      inherited,
      hidden,
      falsePath,
      toTerminal: options.toTerminal,
      exports: setUp?.exports,
      owner,
    })
    const start = { env, cwd: request.cwd, mark: request.id, ...(setUp && { setUp }) }
    const bare: Launch =
      shell === null
        ? { ...start, ...findWords(request.args ?? [], request.cwd, env['PATH'] ?? PATH) }
        : define({ ...start, ...composeShell(shell, request, use) }, request, use)
    const closesInput = request.stdin.kind === 'closed' && !request.pty && !use
    const launch = takeAlong(bare, { closesInput, ignored: use ? [] : ignored })
    const takesPrefix = prefix.length > 0 && originPolicies[request.origin].takesPrefix
    const prefixed = takesPrefix
      ? addPrefix(launch, prefix, (program) => findProgram(program, PATH))
      : launch
    return confine(prefixed, request, use)
  }

  async function readSetUp(
    request: Request,
    file: string,
    env: Readonly<Record<string, string>>,
  ): Promise<SetUp | null> {
    const { takesSetUp, withholdsKeys } = originPolicies[request.origin]
    // A session on a terminal is the person's own interactive shell, which reads its start files itself.
    const wanted = request.session === null ? takesSetUp : !request.pty
    if (!wanted || request.host !== null || !options.openSnapshots) return null
    return (await options.openSnapshots()).read({ file, env, forModel: withholdsKeys })
  }

  /** Has the shell read the functions and aliases that the command needs. */
  function define(launch: Launch, request: Request, use: ShellUse | undefined): Launch {
    // What stays reads all of them; a prefix gives a command an environment of its own.
    if (use || request.session !== null || request.script !== null || prefix.length > 0)
      return launch
    const path = launch.setUp?.fileFor(request.command) ?? null
    return path === null ? launch : readDefinitions(launch, path)
  }
}

/**
 * A shell that reads a file before its command. bash has a variable for that; it is not for a bash whose
 * user has set it. zsh is told in front of the command, which it evaluates, so that its lines count from 1.
 */
function readDefinitions(launch: Launch, path: string): Launch {
  const files = [{ fd: definitionsFd, path, access: 'read' as const }]
  const source = `/dev/fd/${definitionsFd}`
  const [option, command, ...rest] = launch.args
  const isShort = command !== undefined && command.length < maxEvaluatedChars
  switch (basename(launch.file)) {
    case 'bash':
      if (launch.env['BASH_ENV'] !== undefined) return launch
      return { ...launch, files, env: { ...launch.env, BASH_ENV: source } }
    case 'zsh': {
      if (option !== '-c' || !isShort) return launch
      const text = `\\builtin . ${source}; \\builtin eval ${quoteWord(command)}`
      return { ...launch, files, args: [option, text, ...rest] }
    }
    default:
      return launch
  }
}

/** The quotes in a longer one could make the word too long for a program (execve(2), MAX_ARG_STRLEN). */
const maxEvaluatedChars = 32_768

type Words = Pick<Launch, 'file' | 'argv0' | 'args'>

/** The shell with what it is to run: what it is used for, a script, or the command. */
function composeShell(shell: FoundShell, request: Request, use: ShellUse | undefined): Words {
  if (use) return { ...shell, args: use.args(use.share) }
  const { login, script, parameters } = request
  const options = composeOptions(request.shellOptions)
  if (script !== null) {
    const words = script === '-' ? ['-s', '--', ...parameters] : [script, ...parameters]
    return { ...shell, args: [...options, ...(login ? ['-l'] : []), ...words] }
  }
  // A shell takes a word with a dash for more of its options, also behind `-c`.
  const given = request.shellCommand ?? request.command
  const command = /^[-+]/.test(given) ? ` ${given}` : given
  const words = splitCommand(shell, command, parameters)
  return { ...shell, args: [...options, login ? '-lc' : '-c', ...words] }
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
function findWords([name = '', ...args]: readonly string[], cwd: string, path: string): Words {
  const file = findProgram(name.includes('/') ? resolve(cwd, name) : name, path)
  if (file !== null) return { file, argv0: name, args }
  const place = resolve(cwd, name)
  const exists = name.includes('/') && statSync(place, { throwIfNoEntry: false }) !== undefined
  throw exists
    ? new StartError('program_not_executable', `The program is not executable: ${name}`)
    : new StartError('program_not_found', `There is no such program: ${name}`)
}

const refuseSandbox: Confine = async (launch, request) => {
  if (request.sandbox === 'off') return launch
  throw new StartError('sandbox_unavailable', 'This executor has no sandbox')
}

function checkDirectory(cwd: string): void {
  const fail = (code: string, message: string) => new StartError(code, `${message}: ${cwd}`)
  try {
    if (!statSync(cwd).isDirectory()) {
      throw fail('cwd_not_a_directory', 'Working directory is not a directory')
    }
    accessSync(cwd, constants.X_OK)
  } catch (error) {
    if (error instanceof StartError) throw error
    if (codeOf(error) === 'EACCES') {
      if (isOwnDirectory(cwd)) return
      throw fail('cwd_not_accessible', 'Working directory may not be entered')
    }
    if (codeOf(error) === 'ENOTDIR') {
      throw fail('cwd_not_a_directory', 'Working directory is not a directory')
    }
    throw fail('cwd_not_found', 'Working directory does not exist')
  }
}

type FoundShell = Pick<Launch, 'file' | 'argv0'>

/** The shell that was asked for; else that of the person (`$SHELL`) for what a person runs; else bash, else sh. */
function findShell(request: Request, path: string, userShell: string | undefined): FoundShell {
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

/** The shells that sessions are built on. */
const keepsState = (shell: string): boolean => /(?:^|\/)(?:bash|zsh)$/.test(shell)

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
