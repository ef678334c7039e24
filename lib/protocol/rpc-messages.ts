import type { ArtifactInfo, LineRange, Lines, Matches } from './artifacts.ts'
import type { StreamName } from './event.ts'
import type { JobOutput } from './job-output.ts'
import type { ObjectSchema } from './json-schema.ts'
import type { RunParams } from './params.ts'
import type { Result, Status, StopReason } from './result.ts'
import type { SessionInfo } from './sessions.ts'
import type { Verdict } from './verdict.ts'
import type { Wire } from './wire-types.ts'

/** What a run is asked for with; `streams`, `mode` and `origin` belong to the method. */
type RunRequest = Wire<Omit<RunParams, 'command' | 'mode' | 'streams' | 'stdin'>> & {
  command: string
  /** Send `shell.started`, `shell.output` and `shell.exited` while it runs. */
  stream?: boolean
}

/** The answer to `shell.exec`. */
export interface ShellExecResult {
  id: string
  /** Null unless exited. */
  exit_code: number | null
  signal: string | null
  stdout: string
  stderr: string
  truncated: { stdout: boolean; stderr: boolean; combined: boolean }
  duration_ms: number
  /** The first 400 characters of the command. */
  command_preview: string
  /** Where the complete raw output is kept, when it did not fit. */
  stdout_cache_id?: string
  stderr_cache_id?: string
  status: Status
  /** When stopped. */
  reason: StopReason | null
  /** When it goes on as a job. */
  job_id?: string
  /** When it did not start. */
  error?: { code: string; message: string }
  /** When the guard denied it. */
  verdict?: Wire<Verdict>
  /** Short sentences for the reader; absent when there are none. */
  notices?: string[]
}

export interface ServerCapabilities {
  supports_shell_exec: boolean
  supports_shell_tasks: boolean
  supports_shell_detach: boolean
  supports_sessions: boolean
  supports_tools: boolean
  supports_artifacts: boolean
  supports_prompt: boolean
  supports_cancel: boolean
}

export interface ClientCapabilities {
  /** The client answers `approval.request`. */
  supports_approval?: boolean
}

type ByJob = { id: string }
type WireResult = Wire<Result>
/** A result without its text. */
export type JobSummary = Omit<WireResult, 'output' | 'stdout' | 'stderr'>

/** Every method: what it takes and what it answers. */
export interface RpcMethods {
  initialize: {
    params: {
      client?: { name?: string; version?: string }
      /** Tools that the client's model has. */
      tool_names?: string[]
      capabilities?: ClientCapabilities
    }
    result: { server: { name: string; version: string }; capabilities: ServerCapabilities }
  }
  'shell.exec': {
    /** `timeout_seconds`: default 120, at most 300. `stdin`: what the command reads, else nothing. */
    params: RunRequest & { stdin?: string }
    result: ShellExecResult
  }
  'shell.start': {
    /** `open_stdin: true` lets `shell.input` write to it. */
    params: RunRequest & { streams?: 'merged' | 'separate' }
    result: WireResult
  }
  'shell.status': { params: ByJob; result: WireResult }
  'shell.list': { params: Record<string, never>; result: { jobs: JobSummary[] } }
  'shell.output': { params: ByJob & { cursor?: number }; result: Wire<JobOutput> }
  /** `timeout_seconds`: at most and by default 300. */
  'shell.wait': { params: ByJob & { timeout_seconds?: number }; result: WireResult }
  'shell.detach': { params: ByJob; result: WireResult }
  'shell.cancel': { params: ByJob; result: WireResult }
  'shell.input': { params: ByJob & { data: string; end?: boolean }; result: Record<string, never> }
  'shell.resize': {
    params: ByJob & { columns: number; rows: number }
    result: Record<string, never>
  }
  'session.open': {
    params: { name?: string; cwd?: string; env?: Record<string, string>; shell?: string }
    result: Wire<SessionInfo>
  }
  'session.list': { params: Record<string, never>; result: { sessions: Wire<SessionInfo>[] } }
  'session.close': { params: { name: string }; result: { closed: boolean } }
  'tool.list': {
    params: Record<string, never>
    result: {
      tools: {
        name: string
        title: string
        description: string
        input_schema: ObjectSchema
        read_only: boolean
      }[]
    }
  }
  'tool.call': {
    params: { name: string; arguments?: Record<string, unknown>; stream?: boolean }
    result: { content: { type: 'text'; text: string }[]; is_error: boolean; details: unknown }
  }
  'artifact.read': { params: { id: string } & LineRange; result: Wire<Lines> }
  'artifact.grep': {
    params: { id: string; pattern: string; context?: number }
    result: Wire<Matches>
  }
  'artifact.list': { params: Record<string, never>; result: { artifacts: Wire<ArtifactInfo>[] } }
  'artifact.remove': { params: { id: string }; result: { removed: boolean } }
  /** `artifact.read` by the `…_cache_id` of a result. */
  tool_output_cache: { params: { ref_id: string } & LineRange; result: Wire<Lines> }
  /** `!command` runs it; anything else needs a model. */
  prompt: { params: { text: string }; result: { disposition: 'handled'; result: WireResult } }
  /** Stops every prompt of this connection. */
  'prompt.cancel': { params: Record<string, never>; result: { cancelled: number } }
  /** Cancels a request of this connection by the id of its message. */
  '$/cancel': { params: { id: RequestId }; result: { cancelled: boolean } }
}

export type MethodName = keyof RpcMethods

/** What the server tells without being asked. */
export interface RpcNotifications {
  'shell.started': { id: string; pid: number | null; command: string; request_id: RequestId }
  'shell.output': { id: string; stream: StreamName; data: string }
  'shell.exited': {
    id: string
    status: Status
    exit_code: number | null
    signal: string | null
    reason: StopReason | null
    duration_ms: number
  }
  /** What happens in a prompt, by the id of its message. */
  'prompt.event': { request_id: RequestId; event: Record<string, unknown> & { type: string } }
}

/** What the server asks of the client. */
export interface ClientMethods {
  'approval.request': {
    params: { id: string; command: string; cwd: string; verdict: Wire<Verdict> }
    result: { approved: boolean }
  }
}

export type RequestId = string | number | null

/** JSON-RPC 2.0, section 5.1, and what `data` adds. */
export interface RpcErrorObject {
  code: number
  message: string
  data?: { code: string; field?: string }
}

/** A line of either side is at most so long. */
export const maxLineBytes = 64 * 1024 * 1024
