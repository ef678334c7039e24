import type { RequestInput } from '../../protocol/request/request.ts'

export type OutputFormat = 'text' | 'json' | 'stream-json'

/** What to run, in one of its three forms, with what belongs to it. */
export type Subject = Pick<
  RequestInput,
  'command' | 'args' | 'script' | 'parameters' | 'shellOptions'
>

export interface PrintOptions {
  /** What is run directly; null: the prompt says what to do. */
  subject: Subject | null
  /** Null: standard input holds the prompt. */
  prompt: string | null
  outputFormat: OutputFormat
  inputFormat: 'text' | 'lines'
  /** No messages of nacre on stderr. */
  quiet: boolean
  run: Partial<RequestInput>
  model: {
    /** A file, or the JSON Schema itself. */
    outputSchema: string | null
    /** Go on with the newest conversation of this directory. */
    continue: boolean
    resume: string | null
  }
}
