import type { Message, ToolReply } from './models/model.ts'

/** A result of this length stays as it is. */
const shortChars = 1200
const headLines = 4
const tailLines = 8
/** Each end has at most so many characters, however long its lines are. */
const endChars = 400

/**
 * Makes room in a conversation: results of tools lose their middle, but for those of the newest
 * `kept` rounds. Each says where its whole text is. Null where nothing is left to be shortened.
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
