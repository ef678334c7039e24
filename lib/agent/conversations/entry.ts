import {
  addUsage,
  noUsage,
  type Message,
  type ToolCall,
  type ToolReply,
  toolCallsOf,
  type Usage,
} from '../models/model.ts'

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

/**
 * The messages that the entries leave, such as every provider takes them, also of a file in which entries are
 * missing or those of several prompts are mixed: each call of a tool is followed by its one reply, and no reply
 * is without its call.
 */
export function replayEntries(entries: readonly Entry[]): { messages: Message[]; usage: Usage } {
  const messages: Message[] = []
  let usage = noUsage
  /** By their calls; each says that the call was cut off until the reply itself is found. */
  const awaited = new Map<string, ToolReply>()
  for (const entry of entries) {
    if (entry.type === 'withdrawn' && messages.at(-1)?.role === 'user') messages.pop()
    if (entry.type !== 'message') continue
    const { message } = entry
    if (entry.usage) usage = addUsage(usage, entry.usage)
    if (message.role === 'tool') {
      for (const reply of message.replies) {
        Object.assign(awaited.get(reply.callId) ?? {}, reply)
        awaited.delete(reply.callId)
      }
      continue
    }
    messages.push(message)
    const replies = message.role === 'user' ? [] : toolCallsOf(message).map(replyCutOff)
    for (const reply of replies) awaited.set(reply.callId, reply)
    if (replies.length > 0) messages.push({ role: 'tool', replies })
  }
  // A conversation begins with a question; without one there is nothing to go on with.
  const first = messages.findIndex(({ role }) => role === 'user')
  return { messages: first < 0 ? [] : messages.slice(first), usage }
}

function replyCutOff({ id, name }: ToolCall): ToolReply {
  const text = 'This call was cut off before its end; what it has done is not known.'
  return { callId: id, name, text, isError: true }
}

export function titleOf(text: string): string {
  const own = text.replaceAll(/<(shell_result|stdin)>[\s\S]*?<\/\1>/g, '')
  return own.replaceAll(/\s+/g, ' ').trim().slice(0, titleChars)
}
