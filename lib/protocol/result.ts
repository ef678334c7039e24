import type { Origin } from './request.ts'
import type { Verdict } from './verdict.ts'

/** Where a run is, or how it ended. */
export type Status = 'exited' | 'signaled' | 'stopped' | 'running' | 'denied' | 'not_started'

/** Why a run was stopped. The first reason is kept. */
export type StopReason = 'timeout' | 'inactivity' | 'cancel' | 'kill' | 'shutdown' | 'output_limit'

export interface Truncation {
  /** Which part is shown. */
  direction: 'head' | 'tail' | 'head-tail' | 'middle'
  truncatedBy: 'lines' | 'bytes'
  /** Of the clean text. A trailing newline is not another line. */
  totalLines: number
  totalBytes: number
  outputLines: number
  outputBytes: number
  /** 1-based, both ends included. */
  shownRanges: [from: number, to: number][]
}

export interface ArtifactRef {
  id: string
  uri: string
  path: string
  bytes: number
  /** False: the middle is missing, both ends are there. */
  complete: boolean
}

export interface Survivor {
  pid: number
  command: string
}

/** What confined a run. */
export interface SandboxUse {
  /** `bubblewrap`; `none` where the configuration lets runs go without. */
  mechanism: 'bubblewrap' | 'none'
  network: 'on' | 'off'
  /** It was less than what was asked for; a notice says what. */
  degraded: boolean
}

/** How a run ended, as data; one shape for success and failure. */
export interface Result {
  id: string
  origin: Origin
  command: string
  cwd: string
  status: Status
  /** Null unless exited. */
  exitCode: number | null
  /** `SIGSEGV` when signaled; the signal that ended it when stopped. */
  signal: string | null
  /** Set when stopped, also before anything was started (`not_started`). */
  reason: StopReason | null
  /** For known programs: what the exit code says. */
  exitMeaning: string | null
  /** Every stage of the last pipeline, where the shell can tell. */
  pipeStatus: number[] | null
  /** While running on a terminal. */
  waitingForInput: 'line' | 'password' | 'raw' | null
  survivors: Survivor[]
  /** Monotonic clock. */
  durationMs: number
  /** Merged streams. */
  output?: string
  /** Separate streams, in place of `output`. */
  stdout?: string
  stderr?: string
  /** Of `output`, or of `stdout`. */
  truncation: Truncation | null
  artifact: ArtifactRef | null
  /** With separate streams only. */
  stderrTruncation?: Truncation | null
  stderrArtifact?: ArtifactRef | null
  jobId: string | null
  error: { code: string; message: string } | null
  verdict: Verdict | null
  /** Where one was asked for. */
  sandbox?: SandboxUse
  notices: string[]
}
