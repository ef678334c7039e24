import { toWire } from '../../protocol/wire.ts'
import {
  addUsage,
  type Message,
  noUsage,
  type ToolCall,
  type ToolReply,
  toolCallsOf,
  type Usage,
} from '../models/model.ts'

/*
 * A conversation on disk: one JSON object a line, in the names of the wire, only ever added to. A line
 * that cannot be read (the process was killed while it wrote) costs that line alone.
 */

export type Entry =
  /** The first line of a file; `at` is ISO 8601, UTC. */
  | { type: 'conversation'; id: string; at: string; cwd: string }
  | { type: 'message'; at: string; message: Message; usage?: Usage }
  /** The newest message of the user has had no answer and is no longer part of it. */
  | { type: 'withdrawn'; at: string; why: string }
  /** A prompt has come to its end. */
  | { type: 'result'; at: string; status: string; error: string | null }

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

/** The beginning of what was asked first; empty if nothing was. */
export function titleOf(entries: readonly Entry[]): string {
  for (const entry of entries) {
    if (entry.type !== 'message' || entry.message.role !== 'user') continue
    const own = entry.message.text.replaceAll(/<(shell_result|stdin)>[\s\S]*?<\/\1>/g, '')
    return own.replaceAll(/\s+/g, ' ').trim().slice(0, titleChars)
  }
  return ''
}

/** A result of this length stays as it is. */
const shortChars = 1200
const headLines = 4
const tailLines = 8
/** Each end has at most so many characters, however long its lines are. */
const endChars = 400

/**
 * Makes room in a conversation: results of tools lose their middle, but for those of the newest
 * `kept` rounds. Each says where its whole text is. Null if nothing is left to be shortened.
 */
export function shortenReplies(messages: readonly Message[], kept: number): Message[] | null {
  const rounds = messages.flatMap(({ role }, index) => (role === 'tool' ? [index] : []))
  const before = rounds.at(-kept - 1) ?? -1
  let changed = false
  const shortened = messages.map((message, index): Message => {
    if (message.role !== 'tool' || index > before) return message
    const replies = message.replies.map((reply) => {
      const short = shortenReply(reply)
      changed ||= short !== reply
      return short
    })
    return { ...message, replies }
  })
  return changed ? shortened : null
}

function shortenReply(reply: ToolReply): ToolReply {
  const { text, artifactId } = reply
  if (text.length <= shortChars) return reply
  const lines = text.split('\n')
  const head = lines.slice(0, headLines).join('\n').slice(0, endChars)
  const tail = lines
    .slice(Math.max(headLines, lines.length - tailLines))
    .join('\n')
    .slice(-endChars)
  const left = text.length - head.length - tail.length
  const where =
    artifactId === undefined
      ? 'call the tool again for it'
      : `the whole output: artifact {"id": "${artifactId}"}`
  return {
    ...reply,
    text: `${head}\n[${left} characters taken out to save room; ${where}]\n${tail}`,
  }
}

/** A conversation for people: what was asked, what was called with its result, what was answered. */
export function exportMarkdown(entries: readonly Entry[]): string {
  const head = entries.find((entry) => entry.type === 'conversation')
  const { messages } = replayEntries(entries)
  const parts = [
    `# ${titleOf(entries) || 'Conversation'}`,
    ...(head ? [`${head.id}, ${head.at}, in \`${head.cwd}\``] : []),
    ...messages.flatMap(writeMessage),
  ]
  return `${parts.join('\n\n')}\n`
}

function writeMessage(message: Message): string[] {
  switch (message.role) {
    case 'user':
      return ['## User', message.text]
    case 'assistant': {
      const parts = message.parts.flatMap((part): string[] => {
        if (part.type === 'reasoning') return []
        if (part.type === 'text') return part.text === '' ? [] : [part.text]
        const { name, input, raw } = part
        const command = input?.['command']
        return name === 'bash' && typeof command === 'string'
          ? [fence(command, 'sh')]
          : [`\`${name}\``, fence(raw ?? JSON.stringify(input, null, 2), 'json')]
      })
      return parts.length === 0 ? [] : [`## ${message.model}`, ...parts]
    }
    case 'tool':
      return message.replies.map(({ text }) => fence(text, ''))
  }
}

/** A fence longer than any in the text. */
function fence(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([found]) => found.length))
  const marks = '`'.repeat(longest + 1)
  return `${marks}${language}\n${text.replace(/\n$/, '')}\n${marks}`
}

/** A conversation as data. */
export function exportJson(entries: readonly Entry[]): unknown {
  const head = entries.find((entry) => entry.type === 'conversation')
  const { messages } = replayEntries(entries)
  const { id = null, at: createdAt = null, cwd = null } = head ?? {}
  return toWire({ id, createdAt, cwd, messages })
}
