import type { Executor } from '../../executor/executor.ts'
import type { TerminalSession } from '../../protocol/ports.ts'
import type { Approvals } from '../approval/approvals.ts'
import type { Display } from '../screen/display.ts'
import type { History } from '../line/history.ts'
import type { CommandRunner } from '../run-command.ts'
import type { ReplState } from '../state.ts'
import type { Style } from '../screen/text.ts'
import type { Talk } from '../talk/talk.ts'

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
  session: () => Promise<TerminalSession>
  environment: Readonly<Record<string, string | undefined>>
  print: (lines: readonly string[]) => void
  /** Runs a command as if it had been typed after `!`. */
  runLine: (command: string, injected: boolean) => Promise<void>
}

export interface SlashCommand {
  name: string
  /** What stands after the name in the help. */
  hint?: string
  description: string
  /** Words that may follow the name. */
  complete?: (context: SlashContext) => readonly string[] | Promise<readonly string[]>
  run(rest: string, context: SlashContext): void | Promise<void>
}
