import type { Executor } from '../../executor/executor.ts'
import type { Approvals } from './approvals.ts'
import type { Display } from './display.ts'
import type { History } from './history.ts'
import type { CommandRunner } from './run-command.ts'
import type { ReplState } from './state.ts'
import type { Style } from './style.ts'
import type { Talk } from './talk.ts'

/** What a slash command works with. */
export interface SlashContext {
  executor: Executor
  state: ReplState
  display: Display
  style: Style
  history: History
  approvals: Approvals
  runner: CommandRunner
  talk: Talk
  environment: Readonly<Record<string, string | undefined>>
  print: (lines: readonly string[]) => void
}

export interface SlashCommand {
  name: string
  /** After the name in the help. */
  hint?: string
  description: string
  run(rest: string, context: SlashContext): void | Promise<void>
}
