import type { SandboxMode } from '../protocol/request/request.ts'
import type { Result } from '../protocol/result/result.ts'

/** A finished `!cmd`; `injected`: it goes before the next message to a model. */
export interface FinishedRun {
  result: Result
  injected: boolean
}

/** What lasts from one line to the next. */
export interface ReplState {
  /** Where the person's shell stands. */
  cwd: string
  bash: boolean
  model: string | null
  /** The sandbox that the person has chosen; null: as it is configured. */
  sandbox: SandboxMode | null
  readonly configuredSandbox: SandboxMode
  /** The name of the person's shell: `zsh`. */
  readonly shell: string
  /** The runs that have ended, the newest one last. */
  runs: FinishedRun[]
  quit: boolean
}

/** So many finished runs stay at hand for the viewer. */
export const keptRuns = 100
