import { accessSync, constants, statSync } from 'node:fs'
import { basename } from 'node:path'
import { codeOf } from '../protocol/errors.ts'
import { originPolicies } from '../protocol/origin.ts'
import { StartError } from '../protocol/ports.ts'
import type { Request } from '../protocol/request/request.ts'
import { quoteWord } from '../protocol/words.ts'
import { copyWithout } from '../system/process/own-process.ts'
import { nameProcess } from '../system/process/process-table.ts'
import { type GivenFile, isOwnDirectory } from '../system/process/spawn.ts'
import { findProgram } from '../system/look.ts'
import { buildEnvironment, findRefusal } from './environment.ts'
import { createSecrets, type Secrets } from './secrets.ts'
import { composeShell, findShell, findWords, type ProgramWords } from './shell.ts'
import { definitionsFd, type SetUp, type Snapshots } from './snapshot/snapshot.ts'

/** A process about to be started, checked: the directory exists, the shell was found. */
export interface Launch extends ProgramWords {
  /** The whole environment of the process. */
  env: Record<string, string>
  cwd: string
  /** Value of `NACRE_RUN` in `env`, by which every descendant is found again. */
  mark: string
  /** Files that the program finds open beside its standard ones. */
  files?: readonly GivenFile[]
  /**
   * Settles when the system has taken away what the program left to it by exiting (the processes of
   * a sandbox); gives notices of it. To be awaited between the program's exit and the last look at its output.
   */
  settle?: () => Promise<string[]>
  /** What it takes over of the person's start files; a shell that stays reads its text. */
  setUp?: SetUp
  /** Notices for its first result, about its environment and start files. Each is given once. */
  takeNotices?: () => readonly string[]
  /** Under which path the program sees `ShellUse.share`, where that is another. */
  shared?: string
}

/** How a runner uses the shell, where it is not `-c <command>`. */
export interface ShellUse {
  /** A folder that the shell must see, whatever it is confined to: read-only, but pipes can be written. */
  share: string
  /** Where a sandboxed shell starts: in that folder, or in the directory of its request. */
  startsIn: 'share' | 'directory'
  /** `shared`: under which path the shell sees it. */
  args(shared: string): string[]
}

/**
 * Makes a request into a launch. Rejects with `StartError` where the run cannot start.
 * `use`: for a shell that is kept open; without it the launch runs the request's command.
 */
export type PrepareLaunch = (request: Request, use?: ShellUse) => Promise<Launch>

/** Makes a launch that does the same in the sandbox that a request asks for. Rejects with `StartError`. */
export type Confine = (launch: Launch, request: Request, use?: ShellUse) => Promise<Launch>

/**
 * The first word of a program that another one starts by a search along its PATH, as setsid and bwrap do:
 * what it is to be called where that finds the program, else its path.
 */
export function chooseFirstWord({ file, argv0, env }: Launch): string {
  return findProgram(argv0, env['PATH'] ?? '') === file ? argv0 : file
}

export interface LaunchOptions {
  /** Where this nacre keeps its state; runs are told by it whose they are. */
  stateDir?: string | null
  /** The environment of nacre. */
  environment: Readonly<Record<string, string | undefined>>
  /** Output goes straight to a terminal. */
  toTerminal: boolean
  /** What is withheld from a model's commands. Default: what looks like a secret in that environment. */
  secrets?: Secrets
  /** What is put before the shell of an agent's command: a program and its arguments. Default: none. */
  prefix?: readonly string[]
  /** Reads the person's start files, with the first run that wants to know. Default: none does. */
  openSnapshots?: () => Promise<Snapshots>
  /** Puts a launch into the sandbox that its request asks for. Without it there is none to be had. */
  confine?: Confine
}

/** Checks a request's directory, finds its shell, builds its environment, confines it. */
export function createPrepareLaunch(options: LaunchOptions): PrepareLaunch {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', SHELL } = options.environment
  const owner = `${nameProcess(process.pid)}:${options.stateDir ?? ''}`
  const { prefix = [], secrets = createSecrets(options) } = options
  const confine = options.confine ?? refuseSandbox
  const refusal = findRefusal()

  return async (request, use) => {
    checkDirectory(request.cwd)
    secrets.hideOwn(request.origin)
    const isSecret = secrets.withheldFrom(request.origin)
    const held = new Set<string>()
    const isWithheld = (name: string, value: string) => isSecret(name, value) && !!held.add(name)
    const inherited = copyWithout(isWithheld, options.environment)
    const shell = request.args === null ? findShell(request, PATH, SHELL) : null
    const setUp = await readSetUp(request, shell?.file ?? '', inherited)
    const env = buildEnvironment(request, {
      inherited,
      isWithheld,
      refusal,
      toTerminal: options.toTerminal,
      exports: setUp?.exports,
      owner,
    })
    const missed = new Set([...held].filter((name) => !Object.hasOwn(env, name)))
    const start = {
      ...{ env, cwd: request.cwd, mark: request.id, ...(setUp && { setUp }) },
      takeNotices: () => [
        ...(setUp?.takeNotices() ?? []),
        ...secrets.tell(request.belongsTo, missed),
      ],
    }
    const launch: Launch =
      shell === null
        ? { ...start, ...findWords(request.args ?? [], request.cwd, env['PATH'] ?? PATH) }
        : use
          ? { ...start, ...shell, args: use.args(use.share) }
          : define({ ...start, ...composeShell(shell, request) }, request)
    const takesPrefix = prefix.length > 0 && originPolicies[request.origin].takesPrefix
    return confine(takesPrefix ? addPrefix(launch, prefix, PATH) : launch, request, use)
  }

  async function readSetUp(
    request: Request,
    file: string,
    env: Readonly<Record<string, string>>,
  ): Promise<SetUp | null> {
    const { takesSetUp, withholdsKeys } = originPolicies[request.origin]
    // A person's session on a terminal is their own interactive shell, which reads its start files itself.
    const wanted = takesSetUp || (request.session !== null && !request.pty)
    if (!wanted || request.host !== null || !options.openSnapshots) return null
    return (await options.openSnapshots()).read({ file, env, forModel: withholdsKeys })
  }

  /** Has the shell read the functions and aliases that the command needs. */
  function define(launch: Launch, request: Request): Launch {
    // What stays reads all of them; a prefix gives a command an environment of its own.
    if (request.session !== null || request.script !== null || prefix.length > 0) return launch
    const path = launch.setUp?.fileFor(request.command) ?? null
    return path === null ? launch : readDefinitions(launch, path)
  }
}

/**
 * A shell that reads a file before its command. bash has a variable for that; it is not for a bash whose
 * user has set it. zsh is told in front of the command, which it evaluates, so that its lines count from 1.
 */
function readDefinitions(launch: Launch, path: string): Launch {
  const files = [{ fd: definitionsFd, from: path, access: 'read' as const }]
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

const refuseSandbox: Confine = async (launch, request) => {
  if (request.sandbox === 'off') return launch
  throw new StartError('sandbox_unavailable', 'This executor has no sandbox')
}

export function checkDirectory(cwd: string): void {
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

/**
 * Puts a program before the shell, as `nix develop -c` or `docker exec box`: the whole command runs
 * below it. The shell keeps its name, so that the program may find one of its own. Throws `StartError` if
 * the program is not on the `path`.
 */
function addPrefix(
  launch: Launch,
  [program = '', ...words]: readonly string[],
  path: string,
): Launch {
  const file = findProgram(program, path)
  if (file === null) {
    throw new StartError('prefix_not_found', `The configured prefix does not exist: ${program}`)
  }
  return { ...launch, file, argv0: program, args: [...words, launch.argv0, ...launch.args] }
}
