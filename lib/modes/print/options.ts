import type { RequestInput } from '../../protocol/request.ts'

export type OutputFormat = 'text' | 'json' | 'stream-json'

export interface PrintOptions {
  /** Null: standard input holds the prompt. */
  prompt: string | null
  /** Whether the prompt is itself a command (`-c`). */
  isCommand: boolean
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
