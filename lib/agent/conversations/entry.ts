import type { Message, Usage } from '../models/model.ts'

/*
 * A conversation on disk: one JSON object a line, in the names of the wire, only ever added to. A line
 * that cannot be read (the process was killed while it wrote) costs that line alone.
 */

/** The first line of a file. */
export interface HeadEntry {
  type: 'conversation'
  id: string
  /** ISO 8601, UTC. */
  at: string
  cwd: string
}

export type Entry =
  | HeadEntry
  | { type: 'message'; at: string; message: Message; usage?: Usage }
  /** The newest message of the user has had no answer and is no longer part of it. */
  | { type: 'withdrawn'; at: string; why: string }
  /** A prompt has come to its end. */
  | { type: 'result'; at: string; status: string; error: string | null }

/** What a list tells of a conversation. */
export interface ConversationInfo {
  id: string
  /** The beginning of what was asked first. */
  title: string
  cwd: string
  createdAt: string
  updatedAt: string
}

const titleChars = 100

/** The messages that the entries leave, complete: every call of a tool has a reply. */
export function replayEntries(entries: readonly Entry[]): { messages: Message[]; usage: Usage[] } {
  const messages: Message[] = []
  const usage: Usage[] = []
  for (const entry of entries) {
    if (entry.type === 'message') {
      closeCalls(messages, entry.message)
      messages.push(entry.message)
      if (entry.usage) usage.push(entry.usage)
    } else if (entry.type === 'withdrawn') {
      if (messages.at(-1)?.role === 'user') messages.pop()
    }
  }
  closeCalls(messages, null)
  return { messages, usage }
}

/** Providers refuse a call without a reply; one that was cut off gets a reply that says so. */
function closeCalls(messages: Message[], next: Message | null): void {
  const last = messages.at(-1)
  if (last?.role !== 'assistant' || next?.role === 'tool') return
  const calls = last.parts.filter((part) => part.type === 'tool_call')
  if (calls.length === 0) return
  const text = 'This call was cut off before its end; what it has done is not known.'
  messages.push({
    role: 'tool',
    replies: calls.map(({ id, name }) => ({ callId: id, name, text, isError: true })),
  })
}

export function titleOf(text: string): string {
  const own = text.replaceAll(/<(shell_result|stdin)>[\s\S]*?<\/\1>/g, '')
  return own.replaceAll(/\s+/g, ' ').trim().slice(0, titleChars)
}
