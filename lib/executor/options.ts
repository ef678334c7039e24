import { join } from 'node:path'
import type { GuardOptions } from '../guard/rules/rule.ts'
import {
  type ArtifactStore,
  createArtifactStore,
  type StoreOptions,
} from '../output/artifact/store.ts'
import type { RunListener } from '../protocol/result/event.ts'
import type { ParseContext } from '../protocol/request/parse-request.ts'
import { limits } from '../protocol/limits.ts'
import type { Guard } from '../protocol/ports.ts'
import type { Request, RunFields } from '../protocol/request/request.ts'
import type { Verdict } from '../protocol/rules.ts'
import type { FixedFolder } from '../system/look.ts'

/** How the input of a run becomes a request, whoever gives it. */
type ReadingOptions = Omit<ParseContext, 'cwd' | 'workspace' | 'home'>

export interface ExecutorOptions extends ReadingOptions {
  /** Where relative directories begin. Default: the current directory. */
  cwd?: string
  /** What commands inherit. Default: the environment of this process. */
  environment?: Readonly<Record<string, string | undefined>>
  /** Folder for artifacts, jobs and the audit; null keeps nothing. */
  stateDir: string | null
  /** Folder for artifacts, where it is not that of the state. */
  artifactDir?: string
  /** Decides before the start. Default: nacre's own rules, with those of `guardOptions`. */
  guard?: Guard
  /** For nacre's own guard: rules of the user, the tools that the caller has. */
  guardOptions?: Omit<GuardOptions, 'home'>
  /** Put before the shell of an agent's command, `['nix', 'develop', '-c']`. Default: nothing. */
  prefix?: readonly string[]
  /** Addresses of other machines by their names, for the field `host`. Default: none have names. */
  hosts?: Readonly<Record<string, string>>
  /** Names or addresses of hosts on which a model may run commands. Default: none. */
  agentHosts?: readonly string[]
  /** Quotas and age of the artifacts. Default: 256 MiB each, 2 GiB together, 14 days. */
  artifactLimits?: Pick<StoreOptions, 'artifactBytes' | 'storeBytes' | 'ageDays'>
  /** What the sandbox leaves open and hides beside its own rules. */
  sandbox?: {
    /** Folders that a run in mode `workspace` may write beside its workspace. */
    writable?: readonly string[]
    /** Files and folders that no sandboxed run may see, beside what the sandbox hides anyway. */
    hidden?: readonly string[]
    /** Files and folders of the home that sandboxed runs may see though they are hidden by default. */
    visible?: readonly string[]
  }
  /**
   * The words that start the nacre of this executor, which it uses to end what a killed process has left and to
   * keep its artifacts within their limits. Default: none, what is left stays, and `artifacts.prune()` prunes; of
   * the library: the CLI of the package.
   */
  program?: readonly string[]
  /**
   * How the process is started that holds what may outlive this one. Default: such a run stays here, and ends
   * with the executor.
   */
  holder?: Omit<HolderStart, 'environment'>
  /** It is a holder: every nacre of this user finds its runs from their start on. Default: false. */
  isHolder?: boolean
  /**
   * Variables that hold keys of model providers. They are withheld from the commands of a model, as those are that
   * look like secrets. Default: none.
   */
  modelKeys?: readonly string[]
  /** Variables passed to the commands of a model although they look like secrets. Default: none. */
  passEnv?: readonly string[]
  /** Whether each run has a line in `audit.jsonl`, and whether that has its command. Default: `on`, secrets masked. */
  audit?: 'on' | 'no-commands' | 'off'
  /** Output goes straight to a terminal: `TERM` and `NO_COLOR` are left alone. */
  toTerminal?: boolean
}

/** How the process is started that holds what may outlive this one. */
export interface HolderStart {
  /** Its words, as they are when it starts; the path of a socket is added. */
  words: () => readonly string[]
  environment: Readonly<Record<string, string | undefined>>
  /** Laid under the input of every run that it is given. */
  fields?: RunFields
}

/** How much text is read: both hold, whichever is hit first. */
export interface TextBounds {
  maxLines: number
  maxBytes: number
}

/** A caller's own limit holds whatever the request and the defaults say. */
export function keepWithin(request: Request, { atMost, text }: RunOptions): Request {
  if (text === false && request.text !== 'clean') atMost ??= limits
  if (!atMost) return request
  return {
    ...request,
    text: 'clean',
    maxLines: Math.min(request.maxLines, atMost.maxLines),
    maxBytes: Math.min(request.maxBytes, atMost.maxBytes),
  }
}

/** Answers what the guard asks: true lets the command run. */
export type Approve = (
  request: Pick<Request, 'id' | 'command' | 'cwd'>,
  verdict: Verdict,
  signal: AbortSignal | undefined,
) => boolean | Promise<boolean>

export interface RunOptions {
  /** The id that the run gets. Default: a new one. */
  id?: string | undefined
  /** Where relative directories begin, and a run of which nobody says where. Default: as for the executor. */
  cwd?: string | undefined
  /** What the default workspace is, in place of that of the executor: as it was when the door of the run opened. */
  workspace?: FixedFolder | undefined
  /** Aborting it stops the run (`reason: cancel`); with the reason `'SIGINT'` as Ctrl-C does, INT first. */
  signal?: AbortSignal | undefined
  /** Aborting it ends the wait for the run, which goes on as a job. */
  leaving?: AbortSignal | undefined
  /** False: the output is only listened to; the result carries no text. Default: true. */
  text?: boolean
  /** Hears what happens as it happens. What it throws stops the run and rejects `run`. */
  onEvent?: RunListener | undefined
  /** The caller reads no more text than this: the bounds of the request are kept within it. */
  atMost?: TextBounds | undefined
  /**
   * Without it, asking is denying. Once `signal` aborts, no answer is wanted any more. It must not wait for
   * another run of the same session, which begins after this one.
   */
  approve?: Approve | undefined
}

/** The store of artifacts that they name; null where nothing is kept. */
export function openArtifacts(
  { stateDir, artifactDir, artifactLimits, program }: ExecutorOptions,
  environment: Readonly<Record<string, string | undefined>>,
): ArtifactStore | null {
  const dir = artifactDir ?? (stateDir === null ? null : join(stateDir, 'artifacts'))
  if (dir === null) return null
  const pruner = program ? { words: [...program, 'artifact', 'prune'], environment } : null
  return createArtifactStore({
    ...artifactLimits,
    dir,
    isShared: artifactDir !== undefined,
    pruner,
  })
}
