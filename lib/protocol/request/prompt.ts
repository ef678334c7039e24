import { MisuseError } from '../errors.ts'

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
