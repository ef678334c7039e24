import type { Approve, TextBounds } from '../../executor/executor.ts'
import type { Reach } from '../../executor/reach.ts'
import { MisuseError } from '../../protocol/errors.ts'
import type { Origin, RequestInput } from '../../protocol/request/request.ts'
import type { RunListener } from '../../protocol/result/event.ts'
import type { Bounds } from '../../protocol/result/reading.ts'
import type { Result } from '../../protocol/result/result.ts'
import { check } from '../../protocol/shape/check.ts'
import {
  isNumber,
  isObject,
  type ObjectSchema,
  type ObjectShape,
  type Shape,
} from '../../protocol/shape/shape.ts'
import { toCamelCase } from '../../protocol/wire.ts'
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
  /** Arguments in the names of the wire. Rejects with `MisuseError` if they are wrong. */
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
  content: { type: 'text'; text: string }[]
  isError: boolean
  /** The same as data, in the names of the wire: of a run its result. */
  details: unknown
  /** Where the whole output is kept. */
  artifactId?: string
}

export function textResult(text: string, isError: boolean, details: unknown): ToolResult {
  return { content: [{ type: 'text', text }], isError, details }
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

/** What models write in place of a tool's own parameters, because other tools have these; the first one that a tool has is meant. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  cmd: ['command'],
  timeout_seconds: ['timeout', 'wait_seconds'],
  timeout: ['wait_seconds'],
  workdir: ['cwd'],
  working_directory: ['cwd'],
  id: ['job_id'],
  bash_id: ['job_id'],
  input: ['text'],
  data: ['text'],
  lines: ['tail'],
  artifact_id: ['id'],
  ref_id: ['id'],
  uri: ['id'],
  pattern: ['grep'],
  '-C': ['context'],
  '-i': ['ignore_case'],
}

/** Remarks for the person who looks on: they change nothing about what is done. */
const remarks = ['description', 'explanation', 'justification']

/**
 * Reads the arguments of a call. Beside what the shape says, a number or a boolean may come as its text
 * (`"5"`), the text of a variable as a number or a boolean (`{"PORT": 8080}`), an optional parameter as null, and
 * a parameter under a name that models know from other tools. Throws `MisuseError`, which names what is wrong.
 */
export function readArguments<Value>(params: ObjectShape<Value>, given: unknown): Value {
  const { properties } = params
  const isKnown = (name: string) => Object.hasOwn(properties, toCamelCase(name))
  const args: Record<string, unknown> = {}
  for (const [spelled, value] of Object.entries(isObject(given) ? given : {})) {
    if (value === null || (remarks.includes(spelled) && !isKnown(spelled))) continue
    const others = Object.hasOwn(otherNames, spelled) ? otherNames[spelled] : undefined
    const name = isKnown(spelled) ? spelled : (others?.find(isKnown) ?? spelled)
    if (Object.hasOwn(args, name)) {
      const message = `\`${spelled}\` means the same as another argument; give \`${name}\` alone`
      throw new MisuseError('invalid_field', message, spelled)
    }
    const shape = properties[toCamelCase(name)]
    args[name] = shape ? readHabit(shape, value) : value
  }
  return check(params, isObject(given) ? args : given, '', { names: 'wire' })
}

/** What is meant by a value of another JSON type than the parameter has; else what was given. */
function readHabit(shape: Shape, given: unknown): unknown {
  const { additionalProperties: values } = shape
  if (isObject(values) && values['type'] === 'string' && isObject(given)) {
    const isPlain = (value: unknown) => typeof value === 'number' || typeof value === 'boolean'
    const entries = Object.entries(given)
    return Object.fromEntries(entries.map(([name, it]) => [name, isPlain(it) ? String(it) : it]))
  }
  if (typeof given !== 'string' || !(isNumber(shape) || shape.type === 'boolean')) return given
  try {
    // A value of a wrong type is refused by the shape.
    return JSON.parse(given.trim().replace(/^(true|false)$/i, (word) => word.toLowerCase()))
  } catch {
    return given
  }
}
