import { createRequire } from 'node:module'
import {
  createExecutor as create,
  type Executor,
  type ExecutorOptions as CompleteOptions,
} from './executor/executor.ts'
import { isSingleExecutable, ownPlace, runtimeWords } from './system/runtime.ts'

export type {
  ArtifactStore,
  Approve,
  Executor,
  Run,
  RunOptions,
  TextBounds,
} from './executor/executor.ts'
export type { Jobs, JobWait } from './executor/jobs/port.ts'
export { MisuseError, OutputLimitError } from './protocol/errors.ts'
export type { ListenerAnswer, RunEvent, RunListener, StreamName } from './protocol/result/event.ts'
export type { Origin } from './protocol/origin.ts'
export type {
  Guard,
  SessionInfo,
  Sessions,
  StopOptions,
  TerminalSession,
} from './protocol/ports.ts'
export type * from './protocol/request/request.ts'
export type {
  ArtifactInfo,
  JobEntry,
  JobFilter,
  JobOutput,
  LineRange,
  Lines,
  Matches,
  Reading,
} from './protocol/result/reading.ts'
export type {
  ArtifactRef,
  InputKind,
  Result,
  SandboxUse,
  StopReason,
  Survivor,
  TaskSummary,
  Truncation,
  Usage,
} from './protocol/result/result.ts'
export type { Decision, Verdict, UserRule } from './protocol/rules.ts'
export { version } from './protocol/wire.ts'

/** What an executor is made with; each option has a default. */
export type ExecutorOptions = Partial<CompleteOptions>

/**
 * Makes an executor: the same that every front door of nacre has. Two in one process know nothing of each
 * other. A result has the complete `stdout` and `stderr` as the command wrote them, decoded from UTF-8 (up
 * to 100 MB each; more stops the run and rejects with `OutputLimitError`), unless the request asks for bounds
 * or has the origin of a model. Nothing is kept on disk unless `stateDir` names a folder; what it started
 * ends with this process, however that ends, where the package is beside it (a bundle names its
 * `program`).
 */
export function createExecutor(options: ExecutorOptions = {}): Executor {
  const program = findProgram()
  return create({
    ...(program && { program }),
    ...options,
    origin: options.origin ?? 'print',
    forPrograms: options.forPrograms ?? true,
    stateDir: options.stateDir ?? null,
  })
}

/** The words that start the CLI of the package. Null: it is not here. */
function findProgram(): string[] | null {
  // Its own program would be somebody else's.
  if (isSingleExecutable()) return null
  const require = createRequire(ownPlace)
  for (const path of ['../bin/nacre.js', '../../bin/nacre.js']) {
    try {
      return runtimeWords(require.resolve(path))
    } catch {
      // This file lies elsewhere in the package, or alone in a bundle.
    }
  }
  return null
}
