import type { AgentSettings } from '../agent/session.ts'
import type { Streams } from '../doors/streams.ts'
import type { Executor } from '../executor/executor.ts'
import type { TerminalSession } from '../protocol/ports.ts'
import type { SandboxMode } from '../protocol/request/request.ts'
import type { Approvals } from '../doors/approvals.ts'
import type { History } from './line/history.ts'
import type { PromptEvent } from './line/prompt.ts'
import type { CommandRunner, ReplState } from './run-command.ts'
import type { Display } from './screen/display.ts'
import type { Style } from './screen/text.ts'
import type { Talk } from './talk.ts'

/** What the REPL gets from whoever starts it. */
export interface ReplContext {
  executor: Executor
  streams: Streams
  /** Aborts when a signal ends nacre. */
  signal: AbortSignal
  environment: Readonly<Record<string, string | undefined>>
  /** Where the first command runs. */
  cwd: string
  /** Holds the history and the remembered approvals. */
  stateDir: string
  version: string
  /** What a model works with here; its `model` is what is configured. */
  agentSettings: AgentSettings
  /** What is configured; a person may choose another. */
  sandbox: SandboxMode
  /** What is called before the process ends by a fault: the terminal is to be as it was. */
  onCrash(restore: () => void): void
}

/** Where lines come from. */
export interface LineReader {
  next(): Promise<PromptEvent>
  /** What stands on the line. */
  text(): string
  setText(text: string): void
}

/** What a line is answered with. */
export interface LineContext {
  executor: Executor
  state: ReplState
  display: Display
  style: Style
  history: History
  approvals: Approvals
  runner: CommandRunner
  talk: Talk
  session: () => Promise<TerminalSession>
  environment: Readonly<Record<string, string | undefined>>
  print: (lines: readonly string[]) => void
  /** Runs a command as if it had been typed after `!`. */
  runLine: (command: string, injected: boolean) => Promise<void>
}
