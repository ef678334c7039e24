import type { AgentSettings } from '../agent/session.ts'
import type { Executor } from '../executor/executor.ts'
import type { ConfiguredKey } from '../protocol/configuration.ts'
import type { Flag } from '../protocol/request/fields.ts'
import type { Result } from '../protocol/result/result.ts'
import type { Streams } from './streams.ts'

/** What every front door works with. */
export interface DoorContext {
  executor: Executor
  streams: Streams
  /** Aborts when a signal ends nacre. */
  signal: AbortSignal
}

/** A subcommand: `nacre <name> …`. Its file exports it as `command`, and `commands.ts` names that file. */
export interface Command {
  name: string
  /** How it is written: `nacre job list|show …`. */
  usage: string
  /** The line that the help of nacre has for it. */
  description: string
  /** The options that it takes; every command has `--help` too. */
  flags: readonly Flag[]
  /** Whether it takes options alone; it is refused with any other word. */
  takesNoWords?: boolean
  /** Whether it takes the options that shape a run, as defaults of all its runs. */
  takesRunOptions?: boolean
  /** Whether it takes the options of prompts for a model. */
  takesPromptOptions?: boolean
  /** What its help says beside usage, description and options, line by line. */
  details?: readonly string[]
  /** What its first word may be, where it does several things: `nacre job list`. */
  actions?: Readonly<Record<string, Action>>
  /** Command lines that work; a test runs them. */
  examples: readonly string[]
  /** The command is not for people: it tells nothing of the configuration. */
  hidden?: boolean
  /** Its runs outlive it, even where it is killed. */
  leavesRuns?: boolean
  /** Gives the exit status. Misuse is thrown as `MisuseError`. */
  run(context: CommandContext): Promise<number>
}

/** One of the things that a subcommand does. */
export interface Action {
  /** The words behind its name, as the help shows them: `<id>`, `[<key>]`, `<id>…`. */
  words: readonly string[]
  description: string
  /** The options that it has and other actions may not. */
  flags?: readonly Flag[]
  /** Its word is the id of a job, or of a running one; completions offer them. */
  ids?: 'jobs' | 'running'
  /** Gives the exit status. Misuse is thrown as `MisuseError`. */
  run(words: readonly string[], context: CommandContext): Promise<number>
}

/** What a subcommand may know of the configuration; the executor has the rest. */
export interface CommandConfiguration {
  /** The files that were read. */
  files: readonly string[]
  /** What was ignored in them. */
  notices: readonly string[]
  /** `provider/name`, or null. */
  model: string | null
  keys: readonly ConfiguredKey[]
  /** Every place that a file may have, in the order in which they are read. */
  places: readonly { path: string; isThere: boolean }[]
  /** The JSON Schema of a file. */
  schema(): object
}

/** With which executor a subcommand works. */
export interface UseOptions {
  /** Tools that the caller has beside the shell; for the guard's suggestions. */
  toolNames?: readonly string[]
  /** False: nothing that is configured holds. */
  configured?: boolean
}

/** What a subcommand gets. */
export interface CommandContext {
  /** The words after the command's name that are no options. */
  positionals: readonly string[]
  /** The options by their keys: a text, a number where the flag's type says so, a list of texts, or true. */
  options: Readonly<Record<string, unknown>>
  streams: Streams
  environment: Readonly<Record<string, string | undefined>>
  /** The directory as its user names it. */
  cwd: string
  stateDir: string
  /** What is configured here. Throws `MisuseError` where that is wrong. */
  configuration: () => Promise<CommandConfiguration>
  /**
   * Runs with an executor that is closed afterwards. `signal` aborts when a signal ends nacre; the
   * exit status is then that of the signal.
   */
  useExecutor: (
    use: (executor: Executor, signal: AbortSignal) => Promise<number>,
    how?: UseOptions,
  ) => Promise<number>
  /** What a model works with here. Throws `MisuseError` where the configuration is wrong. */
  agentSettings: () => Promise<AgentSettings>
  /** Every option that a subcommand takes; without one, those of nacre itself. */
  flagsOf: (command?: Command) => readonly Flag[]
  /** Every subcommand that people use. */
  commands: () => Promise<readonly Command[]>
  /** The exit status of a program that ran one command. */
  exitStatusOf: (result: Result) => number
}
