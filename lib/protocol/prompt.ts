import { MisuseError } from './errors.ts'
import type { RequestInput, RunFields } from './request/request.ts'
import type { UserRule } from './rules.ts'

/** What a prompt asks for; every front door reads it in this way. */
export type Prompt =
  /** `!cmd`. `injected`: the result goes before the next message to a model; not with `!!cmd`. */
  | { kind: 'command'; command: string; injected: boolean }
  | { kind: 'slash'; name: string; rest: string }
  | { kind: 'message'; text: string }

export function parsePrompt(text: string): Prompt {
  const trimmed = text.trim()
  if (trimmed.startsWith('!')) {
    const injected = !trimmed.startsWith('!!')
    const command = trimmed.slice(injected ? 1 : 2).trim()
    if (command === '') throw new MisuseError('empty_command', 'bang command is empty', 'command')
    return { kind: 'command', command, injected }
  }
  const slash = /^\/([a-z][\w-]*)(?:\s+([\s\S]*))?$/i.exec(trimmed)
  if (slash) return { kind: 'slash', name: slash[1] ?? '', rest: slash[2] ?? '' }
  return { kind: 'message', text: trimmed }
}

/** There is nothing to ask, neither as words nor on standard input. */
export function emptyPrompt(): MisuseError {
  return new MisuseError(
    'empty_prompt',
    "The prompt is empty; give it as words: nacre -p '<prompt>'",
  )
}

export type OutputFormat = 'text' | 'json' | 'stream-json'

/** What a command line runs without a look at `!`, in one of its three forms, with what belongs to it. */
export type Subject = Pick<
  RequestInput,
  'command' | 'args' | 'script' | 'parameters' | 'shellOptions'
>

/** What a command line asks of print. */
export interface PrintOptions {
  /** Null: `prompt` says what to do. */
  subject: Subject | null
  /** Null: standard input holds it. */
  prompt: string | null
  outputFormat: OutputFormat
  inputFormat: 'text' | 'lines'
  /** No messages of nacre on stderr. */
  quiet: boolean
  run: RunFields
  model: PromptOptions
}

/** What a command line says of prompts for a model. */
export interface PromptOptions {
  /** `provider/name`; null: as configured. */
  model: string | null
  /** A file or the schema itself. */
  outputSchema: string | null
  /** Go on with the newest conversation of this directory. */
  continue: boolean
  /** The id of the conversation to go on with. */
  resume: string | null
  /** Whether the conversation is kept. */
  keep: boolean
  /** Null: the usual number of steps. */
  maxSteps: number | null
  maxCostUsd: number | null
  yes: boolean
  /** Rules for this call. */
  allow: UserRule[]
}
