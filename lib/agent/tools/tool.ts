import type { Approve, TextBounds } from '../../executor/executor.ts'
import type { Reach } from '../../executor/reach.ts'
import type { RunListener } from '../../protocol/result/event.ts'
import type { ObjectSchema } from '../../protocol/shape/json-schema.ts'
import type { Origin, RequestInput } from '../../protocol/request/request.ts'
import type { Bounds } from '../../protocol/result/reading.ts'
import type { Result } from '../../protocol/result/result.ts'
import { isCutShort, isFailure } from '../../render/model.ts'

/** What a model is told about a tool, and what the tool does. The same for agent, RPC and MCP. */
export interface Tool {
  readonly name: string
  /** For people. */
  readonly title: string
  /** What the model is told of it, with the directory in which commands run, and whether in a sandbox. */
  description(cwd: string, isSandboxed?: boolean): string
  readonly inputSchema: ObjectSchema
  /** True: it changes nothing. */
  readonly readOnly: boolean
  /** Arguments in the names of the wire. Rejects with `MisuseError` where they are wrong. */
  call(given: unknown, context: ToolContext): Promise<ToolResult>
}

export interface ToolContext {
  executor: Reach
  /** Who asks: chooses defaults and the rules of the guard. */
  origin: Origin
  /** Aborting it stops what the call has started. */
  signal?: AbortSignal | undefined
  onEvent?: RunListener | undefined
  approve?: Approve | undefined
  /** Laid under what the call itself says of its run: where it works, in which sandbox. */
  fields?: Pick<RequestInput, 'cwd' | 'sandbox' | 'workspace'>
  /** The whole output of every command is kept, so that its text can be taken out of a conversation. */
  keepsOutput?: boolean
  /**
   * True: a command that failed by itself is a result like any other, since clients take an error for a
   * broken tool. An error is then only what did not run, or was stopped.
   */
  exitIsResult?: boolean
  /** The most that the client takes whole: it cuts longer answers itself. */
  atMost?: TextBounds | undefined
  /** Callers of this door give up after a while: a run that takes longer goes on as a job. */
  maxWaitSeconds?: number
}

export interface ToolResult {
  content: ToolText[]
  isError: boolean
  /** The same as data, in the names of the wire: of a run its result. */
  details: unknown
  /** Where the whole output is kept. */
  artifactId?: string
}

export interface ToolText {
  type: 'text'
  text: string
}

/** How much text a reading gives, of what was asked for and what the client has room for. */
export function boundsOf(asked: Bounds, { atMost }: ToolContext): Pick<Bounds, keyof TextBounds> {
  if (!atMost) return { maxLines: asked.maxLines, maxBytes: asked.maxBytes }
  return {
    maxLines: Math.min(asked.maxLines ?? atMost.maxLines, atMost.maxLines),
    maxBytes: Math.min(asked.maxBytes ?? atMost.maxBytes, atMost.maxBytes),
  }
}

/** Whether a run is an error for those who call a tool. */
export function isErrorFor(result: Result, { exitIsResult }: ToolContext): boolean {
  return exitIsResult ? isCutShort(result) : isFailure(result)
}

export function textResult(text: string, isError: boolean, details: unknown): ToolResult {
  return { content: [{ type: 'text', text }], isError, details }
}
