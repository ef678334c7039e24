import type { SandboxMode } from '../../protocol/request.ts'
import type { Result } from '../../protocol/result.ts'

/** A finished `!cmd`; `injected`: it goes before the next message to a model. */
export interface FinishedRun {
  result: Result
  injected: boolean
}

/** What lasts from one line to the next. */
export interface ReplState {
  cwd: string
  /** Where `/cd -` leads. */
  previousCwd: string | null
  bash: boolean
  model: string | null
  /** Null: as it is configured. */
  sandbox: SandboxMode | null
  readonly configuredSandbox: SandboxMode
  /** Newest last. */
  runs: FinishedRun[]
  quit: boolean
}

/** So many finished runs stay at hand for the viewer and for the next message. */
export const keptRuns = 100
