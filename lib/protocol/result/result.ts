import * as shape from '../shape/shape.ts'
import { origins } from '../origin.ts'
import { verdictShape } from '../rules.ts'

const { anyText, anything, boolean, choice, integer, list, nullable, number, object } = shape

/** Where a run is, or how it ended. */
export const statuses = [
  'exited',
  'signaled',
  'stopped',
  'running',
  'denied',
  'not_started',
  /** Its host, the connection to that, or the nacre that held it was gone before its end was known. */
  'lost',
] as const

/** Why a run was stopped. The first reason is kept. */
export const stopReasons = [
  'timeout',
  'inactivity',
  'cancel',
  'kill',
  'shutdown',
  /** In the library: its result cannot hold so much output. */
  'output_limit',
  /** By the scheduler of the run's host. */
  'out_of_memory',
  'preempted',
] as const
export type StopReason = (typeof stopReasons)[number]

const truncation = object({
  /** Which part is shown. */
  direction: choice(['head', 'tail', 'head-tail', 'middle']),
  truncatedBy: choice(['lines', 'bytes']),
  /** Of the clean text. A trailing newline is not another line. */
  totalLines: integer(),
  totalBytes: integer(),
  outputLines: integer(),
  outputBytes: integer(),
  /** 1-based, both ends included. */
  shownRanges: list(list(integer()) as shape.Shape<[number, number]>),
})
export interface Truncation extends shape.Infer<typeof truncation> {}

const artifactRefShape = object({
  id: anyText(),
  uri: anyText(),
  path: anyText(),
  bytes: integer(),
  /** False: the middle is missing, both ends are there. */
  complete: boolean(),
})
export interface ArtifactRef extends shape.Infer<typeof artifactRefShape> {}

const survivor = object({ pid: integer(), command: anyText() })
export interface Survivor extends shape.Infer<typeof survivor> {}

const usage = object({
  /** Time of the processors in its own code and what it started. */
  userMs: number('', { minimum: 0 }),
  /** Time of the processors in the kernel. */
  systemMs: number('', { minimum: 0 }),
  /** The most memory at once; null where the system does not count it for a run. */
  maxRssBytes: nullable(integer()),
})
/** What a run took of the machine, with all that it started. */
export interface Usage extends shape.Infer<typeof usage> {}

export const sandboxUseShape = object({
  /** `bubblewrap`; `none` where the configuration lets runs go without. */
  mechanism: choice(['bubblewrap', 'none']),
  network: choice(['on', 'off']),
  /** It was less than what was asked for; a notice says what. */
  degraded: boolean(),
})
/** What confined a run. */
export interface SandboxUse extends shape.Infer<typeof sandboxUseShape> {}

/** How the tasks of an array stand. */
const taskSummary = object({
  total: integer(),
  succeeded: integer(),
  /** Ended in any other way than with exit code 0. */
  failed: integer(),
  running: integer(),
  /** Neither ended nor running. */
  waiting: integer(),
  /** How many have ended how: `exit 0`, `exit 3`, `SIGKILL`, `timeout`; the most frequent first. */
  ends: list(object({ end: anyText(), count: integer(), tasks: anyText() })),
  /** The numbers of those that failed. */
  failures: list(integer()),
  /** The numbers of those without an end, as `array` takes them: `204-500`. */
  left: anyText(),
  /** Tries beyond the first of each. */
  retries: integer(),
  slowest: nullable(object({ task: integer(), durationMs: number('', { minimum: 0 }) })),
  /** Those that run now, the longest first; at most 50. */
  runningTasks: list(
    object({ task: integer(), durationMs: number('', { minimum: 0 }), host: nullable(anyText()) }),
  ),
})
export interface TaskSummary extends shape.Infer<typeof taskSummary> {}

/** Why something failed: a code for programs, a sentence for people. */
export const failureShape = object({ code: anyText(), message: anyText() })

/** What a program that waits for input expects: a line that is shown, one that is not, or single keys. */
const inputKind = choice(['line', 'password', 'raw'])
export type InputKind = shape.Infer<typeof inputKind>

/** How every run ended, apart from its text. */
export const outcome = {
  /** `run_…` */
  id: anyText(),
  /** Who asked. */
  origin: choice(origins),
  /** As a command line, also of a program with its words, or of a script. */
  command: anyText(),
  /** Where it began. */
  cwd: anyText(),
  /** How it ended, or that it goes on. */
  status: choice(statuses),
  /** Null unless exited. */
  exitCode: nullable(integer()),
  /** `SIGSEGV` when signaled; the signal that ended it when stopped. */
  signal: nullable(anyText()),
  /** Set when stopped, also before anything was started (`not_started`). */
  reason: nullable(choice(stopReasons)),
  /** For known programs: what the exit code says. */
  exitMeaning: nullable(anyText()),
  /** Every stage of the last pipeline, where the shell can tell. */
  pipeStatus: nullable(list(integer())),
  /** While running on a terminal. */
  waitingForInput: nullable(inputKind),
  /** Processes that outlived a stop. */
  survivors: list(survivor),
  /** Null: this machine. */
  host: nullable(anyText()),
  /** Monotonic clock. */
  durationMs: number('', { minimum: 0 }),
  /** Of `output`, or of `stdout`. */
  truncation: nullable(truncation),
  /** Where the complete bytes of it are; null where nothing was kept. */
  artifact: nullable(artifactRefShape),
  /** Set while the run goes on. */
  jobId: nullable(anyText()),
  /** Why it was not started, or how it was lost. */
  error: nullable(failureShape),
  /** What the guard said, where it denied the run. */
  verdict: nullable(verdictShape),
  /** Null where the system does not tell, and of a run that has not ended. */
  usage: nullable(usage),
  /** Short sentences for the reader. */
  notices: list(anyText()),
}

const outcomeOptional = {
  /** The deadline that ended it: with `timeout` for the whole run, with `inactivity` for its silence. */
  limitSeconds: number('', { minimum: 0 }),
  /** With separate streams only. */
  stderrTruncation: nullable(truncation),
  /** The same for the standard error. */
  stderrArtifact: nullable(artifactRefShape),
  /** Where one was asked for. */
  sandbox: sandboxUseShape,
  /** Of an array. */
  tasks: taskSummary,
}

const texts = {
  /** Merged streams. */
  output: anyText(),
  /** Separate streams, in place of `output`. */
  stdout: anyText(),
  /** The same for the standard error. */
  stderr: anyText(),
}

export const resultShape = object(outcome, { ...outcomeOptional, ...texts })

/** The end of a task of an array, after its last try. */
export const taskEnd = {
  task: integer(),
  /** 1: it was not tried again. */
  tries: integer(),
  result: resultShape,
}
/** How far an array is. */
export const taskCounts = { ended: integer(), failed: integer(), total: integer() }

/** What a nacre tells of a run that it carries for another one, beside the streams. */
export const toldShape = object(
  {
    ...shape.pick(outcome, ['status', 'exitCode', 'signal', 'reason', 'pipeStatus']),
    ...shape.pick(outcome, ['usage', 'error', 'notices']),
  },
  { sandbox: sandboxUseShape },
  { additionalProperties: true },
)
export interface ToldResult extends shape.Infer<typeof toldShape> {}

/** What a wait for one run or for several gives. */
export const waitedShape = object(outcome, {
  ...outcomeOptional,
  ...texts,
  /** Of all, in the order of the ids, where several were named. */
  jobs: list(resultShape),
})

/** How a run ended, as data; one shape for success and failure. */
export interface Result extends shape.Infer<typeof resultShape> {}

/** What the requests to a model used. */
export const modelUsageShape = object({
  /** What was read from the cache counts too. */
  inputTokens: integer(),
  outputTokens: integer(),
  cacheReadTokens: integer(),
  /** Null where the price of the model is not known. */
  costUsd: nullable(number('', { minimum: 0 })),
})

/** How a prompt ended, as data; the same in every door. */
export const promptResult = {
  type: choice(['result']),
  status: choice(['answered', 'failed', 'cancelled', 'limit']),
  text: anyText('The answer; empty where there is none that is whole'),
  /** What the answer holds, where it had to meet a schema. */
  data: anything(),
  steps: integer('How often the model was asked'),
  runs: list(anyText(), 'Ids of the runs that it started'),
  jobs: list(
    object({ id: anyText(), command: anyText() }),
    'Its jobs that go on; one that does not live on ends with nacre',
  ),
  usage: modelUsageShape,
  /** `provider/name`; null where there is none. */
  model: nullable(anyText()),
  conversationId: anyText(),
  durationMs: number('', { minimum: 0 }),
  /** Why there is no answer. */
  error: nullable(failureShape),
}

export interface PromptResult extends shape.InferFields<typeof promptResult> {}
