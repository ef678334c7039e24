import { randomUUID } from 'node:crypto'

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
export interface BashMessage extends BashResult {
  role: 'bashExecution'
  command: string
  /** Milliseconds since 1970. */
  timestamp: number
  /** Of `!!command`: no model is told. */
  excludeFromContext?: boolean
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
  readonly messages: BashMessage[] = []
  #chars = 0

  add(message: BashMessage): void {
    this.messages.push(message)
    this.#chars += message.output.length
    while (this.#chars > keptChars && this.messages.length > 1) {
      this.#chars -= this.messages.shift()?.output.length ?? 0
    }
  }
}
