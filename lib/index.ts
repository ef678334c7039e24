import { createRequire } from 'node:module'
import {
  createExecutor as create,
  type Executor,
  type ExecutorOptions as CompleteOptions,
} from './executor/executor.ts'
import { MisuseError } from './protocol/errors.ts'
import { invalid } from './protocol/shape/check.ts'
import { isObject } from './protocol/shape/shape.ts'
import { unknownName } from './protocol/wire.ts'
import { isSingleExecutable, ownPlace, runtimeWords } from './system/runtime.ts'

export type {
  ArtifactStore,
  Approve,
  Executor,
  NamedSession,
  Run,
  RunOptions,
  RunStarter,
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

/** Every option, for the check of what is given. */
const optionNames: Readonly<Record<keyof ExecutorOptions, true>> = {
  cwd: true,
  origin: true,
  environment: true,
  stateDir: true,
  artifactDir: true,
  guard: true,
  guardOptions: true,
  defaults: true,
  timeoutSeconds: true,
  terminals: true,
  personAtInput: true,
  prefix: true,
  hosts: true,
  agentHosts: true,
  artifactLimits: true,
  sandbox: true,
  program: true,
  holder: true,
  isHolder: true,
  modelKeys: true,
  forPrograms: true,
  toTerminal: true,
}

/**
 * Makes an executor: the same that every front door of nacre has. Two in one process know nothing of each
 * other. A result has the complete `stdout` and `stderr` as the command wrote them, decoded from UTF-8 (up
 * to 100 MB each; more stops the run and rejects with `OutputLimitError`), unless the request asks for bounds
 * or has the origin of a model. Nothing is kept on disk unless `stateDir` names a folder; what it started
 * ends with this process, however that ends, where the package is beside it (a bundle names its
 * `program`).
 *
 * @throws {MisuseError} for an option that there is not, or that cannot be what it is
 */
export function createExecutor(options: ExecutorOptions = {}): Executor {
  checkOptions(options)
  const program = findProgram()
  return create({
    ...(program && { program }),
    ...options,
    origin: options.origin ?? 'print',
    forPrograms: options.forPrograms ?? true,
    stateDir: options.stateDir ?? null,
  })
}

/** As far as it would fail later and elsewhere. The compiler has seen the rest. */
function checkOptions(options: unknown): void {
  if (!isObject(options)) {
    throw new MisuseError('invalid_field', 'The options of an executor must be an object', null)
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(optionNames, name)) {
      throw unknownName('field', name, Object.keys(optionNames))
    }
    const isPath = ['cwd', 'stateDir', 'artifactDir'].includes(name)
    const mayBeNull = name === 'stateDir' && value === null
    if (
      isPath &&
      value !== undefined &&
      !mayBeNull &&
      (typeof value !== 'string' || value === '')
    ) {
      throw invalid(
        name,
        name === 'stateDir' ? 'the path of a folder, or null' : 'the path of a folder',
        value,
      )
    }
  }
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
