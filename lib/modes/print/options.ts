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
}
