import { toWire } from '../../protocol/wire.ts'
import type { Message } from '../models/model.ts'
import { type Entry, replayEntries, titleOf } from './entry.ts'

/** A conversation for people: what was asked, what was called with its result, what was answered. */
export function exportMarkdown(entries: readonly Entry[]): string {
  const head = entries.find((entry) => entry.type === 'conversation')
  const { messages } = replayEntries(entries)
  const first = messages.find((message) => message.role === 'user')
  const title = first ? titleOf(first.text) : ''
  const parts = [
    `# ${title || 'Conversation'}`,
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
