import { randomUUID } from 'node:crypto'
import { createInjectionQueue, type InjectionQueue } from '../../../agent/injection.ts'
import type { ArtifactStore } from '../../../executor/executor.ts'
import type { PiMessage } from './messages.ts'

/** How pi's clients know the end of a command: `exitCode` is absent where there is none. */
export interface BashResult {
  output: string
  exitCode?: number
  cancelled: boolean
  truncated: boolean
  /** The complete raw output, when it did not fit. */
  fullOutputPath?: string
}

/** A command in the list of messages. */
interface BashMessage extends BashResult {
  role: 'bashExecution'
  command: string
  /** Milliseconds since 1970. */
  timestamp: number
  /** It came from `!!command`, so no model is told. */
  excludeFromContext?: boolean
}

export interface MessagesPage {
  messages: (BashMessage | PiMessage)[]
  totalMessages: number
  /** Absent where nothing follows. */
  nextCursor?: string
}

/** Text that is kept of all messages together; the oldest go first. */
const keptChars = 8 * 1024 * 1024

/** What pi calls a session: the settings and messages that its clients ask for. */
export class Conversation {
  readonly sessionId = randomUUID()
  sessionName: string | undefined
  thinkingLevel = 'off'
  steeringMode = 'one-at-a-time'
  followUpMode = 'one-at-a-time'
  autoCompactionEnabled = true
  /** `provider/name`; null: as configured. */
  model: string | null
  readonly messages: (BashMessage | PiMessage)[] = []
  /** Commands that the model is told of with the first message. */
  readonly commands: InjectionQueue
  #chars = 0
  /** How many messages have gone. */
  #gone = 0

  constructor(model: string | null, artifacts: ArtifactStore | null) {
    this.model = model
    this.commands = createInjectionQueue(artifacts)
  }

  add(message: BashMessage | PiMessage): void {
    this.messages.push(message)
    this.#chars += sizeOf(message)
    while (this.#chars > keptChars && this.messages.length > 1) {
      const oldest = this.messages.shift()
      if (oldest) this.#chars -= sizeOf(oldest)
      this.#gone++
    }
  }

  /** Messages from where a page before this one has ended; without a cursor from the oldest on. */
  page(cursor: string | undefined, limit: number): MessagesPage {
    const [session, number] = cursor?.split(':') ?? [this.sessionId, '0']
    if (session !== this.sessionId || !/^\d+$/.test(number ?? '')) {
      throw new Error('`cursor` is of another conversation; begin without one')
    }
    const start = Math.max(0, Number(number) - this.#gone)
    const end = start + limit
    return {
      messages: this.messages.slice(start, end),
      totalMessages: this.messages.length,
      ...(end < this.messages.length && { nextCursor: `${this.sessionId}:${this.#gone + end}` }),
    }
  }

  /** The text of the newest message of a model; null where there is none. */
  lastText(): string | null {
    const message = this.messages.findLast(({ role }) => role === 'assistant')
    const content = (message as PiMessage | undefined)?.['content'] as
      | { type: string; text?: string }[]
      | undefined
    return content?.map(({ text = '' }) => text).join('') ?? null
  }
}

function sizeOf(message: BashMessage | PiMessage): number {
  return 'output' in message ? String(message.output).length : JSON.stringify(message).length
}
