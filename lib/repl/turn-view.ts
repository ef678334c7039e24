import { Markdown } from '@mariozechner/pi-tui/dist/components/markdown.js'
import type { AgentEvent } from '../agent/events.ts'
import type { AgentSession } from '../agent/session.ts'
import { formatDuration } from '../render/messages.ts'
import { parsePrompt } from '../protocol/prompt.ts'
import type { Result } from '../protocol/result/result.ts'
import { fromWire } from '../protocol/wire.ts'
import type { ReplState } from './run-command.ts'
import { printBlock } from './screen/block.ts'
import { createEmulator, type Emulator } from './screen/emulator.ts'
import { nowMs } from '../system/clock.ts'
import { fit, type Style } from './screen/text.ts'
import type { Display, View } from './screen/display.ts'
import { asPaste, isKey, typeAtEnd } from './screen/terminal.ts'

export interface TurnView {
  readonly view: View
  /** A promise holds the model up. */
  hear(event: AgentEvent): Promise<void>
  /** Nothing draws any more. */
  end(): void
}

export interface TurnViewParts {
  session: AgentSession
  display: Display
  style: Style
  state: Pick<ReplState, 'bash'>
  /** Runs a line that is no message to the model. */
  run: (line: string) => void
  /** Keeps the result of a command of the model for the viewer. */
  onEnded: (result: Result) => void
}

/** So many lines of a command's output are shown while it runs, and stay. */
const outputLines = 6
const tickMs = 100

/**
 * A turn of the model while it goes on: what it says as Markdown, its commands with their last lines,
 * what it has not heard yet, and a line in which the person types. What is over is printed for good.
 */
export function createTurnView(parts: TurnViewParts): TurnView {
  const { session, display, style, state } = parts
  const startedMs = nowMs()
  const markdown = createMarkdown(style)
  const calls = new Map<string, { headline: string; emulator: Emulator }>()
  let said = ''
  let typed = ''
  let unheard = ''
  let step = 0
  let cancelling = false
  // A question that nobody answers any more does not keep the process.
  const ticking = setInterval(() => display.refresh(), tickMs).unref()

  function isMessage(text: string): boolean {
    if (state.bash || text === 'v' || text.startsWith('!')) return false
    return parsePrompt(text).kind === 'message'
  }

  function openEmulator(): Emulator {
    const { columns, rows } = display
    const nothing = () => undefined
    return createEmulator({ columns, rows, onAnswer: nothing, onModes: nothing, onDrawn: nothing })
  }

  /** A command's block is like a person's own; of a call that runs none, the last line of its answer is shown. */
  async function printCall(event: Extract<AgentEvent, { type: 'tool_result' }>): Promise<void> {
    const call = calls.get(event.id)
    if (!call) return
    await call.emulator.settle()
    calls.delete(event.id)
    const tail = call.emulator.tail(outputLines)
    call.emulator.close()
    display.print([call.headline])
    const result = event.reply.name === 'bash' ? (fromWire(event.details) as Result | null) : null
    if (result === null) {
      const last = event.reply.text.trimEnd().split('\n').at(-1) ?? ''
      return display.print([(event.reply.isError ? style.red : style.dim)(last)])
    }
    parts.onEnded(result)
    printBlock(display, result, style, { tail, asked: false })
  }

  function printSaid(): void {
    if (said.trim() !== '') display.print(markdown(said.trim(), display.columns - 1))
    said = ''
  }

  const view: View = {
    render(columns, rows) {
      const commands = [...calls.values()].flatMap(({ headline, emulator }) => [
        fit(headline, columns - 1),
        ...emulator.tail(outputLines).lines.map((line) => fit(line, columns - 1)),
      ])
      const queued = session.queued.map((text) => style.dim(fit(`» ${text}`, columns - 1)))
      const room = Math.max(1, rows - commands.length - queued.length - 3)
      const text = said.trim() === '' ? [] : markdown(said, columns - 1).slice(-room)
      const elapsed = formatDuration(Math.floor((nowMs() - startedMs) / tickMs) * tickMs)
      const doing = cancelling ? 'stopping' : step > 1 ? `working · step ${step}` : 'working'
      const back = queued.length > 0 ? ' · Up takes back what is queued' : ''
      const told = `${doing} · ${elapsed} · Enter queues a message, !command runs${back} · Esc stops`
      const mark = state.bash ? 'bash> ' : '» '
      const line = `${state.bash ? style.mint(mark) : style.salmon(mark)}${typed}`
      const lines = [
        ...text,
        ...commands,
        ...queued,
        style.dim(fit(told, columns - 1)),
        fit(line, columns - 1),
      ]
      return {
        lines,
        cursor: {
          row: lines.length - 1,
          column: Math.min(columns - 1, mark.length + typed.length),
        },
      }
    },
    key(data) {
      if (isKey(data, 'escape', 'ctrl+c')) {
        cancelling = true
        session.cancel()
      } else if (isKey(data, 'enter')) {
        const text = typed.trim()
        if (!isMessage(text)) parts.run(text)
        if (text === '' || !isMessage(text) || session.steer(text)) typed = ''
      } else if (isKey(data, 'up')) {
        if (typed === '') typed = session.queued.pop() ?? ''
      } else typed = typeAtEnd(typed, data)
    },
  }

  async function hear(event: AgentEvent): Promise<void> {
    switch (event.type) {
      case 'step':
        ;({ step } = event)
        break
      case 'text':
        said += event.text
        break
      case 'message':
        printSaid()
        break
      case 'tool_call':
        calls.set(event.id, { headline: headlineOf(event, style), emulator: openEmulator() })
        break
      case 'tool_output':
        // There may be no terminal behind it that makes a new line of a newline.
        void calls.get(event.id)?.emulator.write(Buffer.from(event.data.replaceAll('\n', '\r\n')))
        break
      case 'tool_result':
        await printCall(event)
        break
      case 'steer':
        display.print([`${style.salmon('»')} ${event.text}`])
        break
      case 'retry':
        said = ''
        display.print([style.yellow(`${event.message}; trying again`)])
        break
      case 'notice':
        display.print([style.yellow(event.message)])
        break
      case 'result':
        unheard = [...session.queued, typed].filter((text) => text !== '').join('\n')
        break
    }
    display.refresh()
  }

  return {
    view,
    hear,
    end() {
      clearInterval(ticking)
      for (const { emulator } of calls.values()) emulator.close()
      printSaid()
      // As a paste, it is for the prompt.
      if (unheard !== '') display.keepKey(asPaste(unheard))
    },
  }
}

function headlineOf(
  { name, arguments: given }: Extract<AgentEvent, { type: 'tool_call' }>,
  style: Style,
): string {
  const { command } = given
  const [first = '', ...rest] =
    typeof command === 'string' ? command.split('\n') : [`${name} ${JSON.stringify(given)}`]
  return `${style.mint('$')} ${style.bold(first)}${rest.length > 0 ? ' …' : ''}`
}

function createMarkdown(style: Style): (text: string, columns: number) => string[] {
  const theme = {
    heading: style.bold,
    link: style.mint,
    linkUrl: style.dim,
    code: style.salmon,
    codeBlock: (text: string) => text,
    codeBlockBorder: style.dim,
    quote: style.dim,
    quoteBorder: style.dim,
    hr: style.dim,
    listBullet: style.salmon,
    bold: style.bold,
    italic: (text: string) => text,
    strikethrough: style.dim,
    underline: style.bold,
  }
  return (text, columns) =>
    new Markdown(text, 0, 0, theme).render(Math.max(20, columns)).map((line) => line.trimEnd())
}
