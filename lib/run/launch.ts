import { constants } from 'node:os'
import { basename } from 'node:path'
import type { Request } from '../protocol/request/request.ts'
import type { GivenFile } from '../system/process/spawn.ts'
import { findProgram } from '../system/look.ts'
import type { SetUp } from './snapshot/snapshot.ts'

/** A process about to be started, checked: the directory exists, the shell was found. */
export interface Launch {
  /** Absolute path of the program. */
  file: string
  /** What the program is called as (`argv[0]`): a shell names itself so in its messages. */
  argv0: string
  args: string[]
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
 * The first word of a program that is started by a search along its PATH, as setsid and forkpty do:
 * what it is to be called where that finds the program, else its path.
 */
export function chooseFirstWord({ file, argv0, env }: Launch): string {
  return findProgram(argv0, env['PATH'] ?? '') === file ? argv0 : file
}

/**
 * What spawn takes from a process, a shell that becomes it leaves to it: a closed descriptor 0, and signals
 * that are ignored. A bash hands on the functions of its environment too, which other shells drop; with `-p`
 * it takes none of them for itself and reads no BASH_ENV. Where its own options are handed on as well, `-p` would
 * be one of them.
 */
export function takeAlong(
  launch: Launch,
  { closesInput, ignored }: { closesInput: boolean; ignored: readonly NodeJS.Signals[] },
): Launch {
  if (!closesInput && ignored.length === 0) return launch
  const numbers = ignored.map((signal) => constants.signals[signal])
  const trap = numbers.length === 0 ? '' : `trap '' ${numbers.join(' ')}; `
  const text = `${trap}exec "$0" "$@"${closesInput ? ' <&-' : ''}`
  const words = ['-c', text, chooseFirstWord(launch), ...launch.args]
  const handsOnOptions = ['SHELLOPTS', 'BASHOPTS'].some((name) => name in launch.env)
  return basename(launch.file) === 'bash' && !handsOnOptions
    ? { ...launch, args: ['-p', ...words] }
    : { ...launch, file: '/bin/sh', argv0: 'sh', args: words }
}
