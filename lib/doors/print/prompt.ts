import { createAgent } from '../../agent/agent.ts'
import type { PromptResult } from '../../protocol/result/prompt.ts'
import { eventToWire, type AgentEvent } from '../../agent/events.ts'
import { openOutputSchema, type OutputSchema } from '../../agent/output-schema.ts'
import type { AgentSettings } from '../../agent/settings.ts'
import type { Executor } from '../../executor/executor.ts'
import type { Stdin } from '../../protocol/request/request.ts'
import type { Result } from '../../protocol/result/result.ts'
import type { Streams } from '../streams.ts'
import type { PrintOptions } from '../../protocol/print-options.ts'
import { createApprove } from './approve.ts'
import { emptyPrompt, readText } from './stdin.ts'

/** The conversation of one call of print. */
export interface Prompter {
  /** Answers one prompt on the streams; gives the exit status. */
  ask(text: string, stdin: Stdin): Promise<number>
  /** A command that ran before the next prompt. */
  addCommand(result: Result): void
}

export interface PrompterContext {
  executor: Executor
  streams: Streams
  /** Aborts when a signal ends nacre. */
  signal: AbortSignal
  agentSettings: () => AgentSettings
}

/** Opens the conversation that is asked for. Rejects with `MisuseError`. */
export async function createPrompter(
  options: PrintOptions,
  context: PrompterContext,
): Promise<Prompter> {
  const { executor, streams, signal } = context
  const { model } = options
  const settings = context.agentSettings()
  const schema =
    model.outputSchema === null ? null : await openOutputSchema(model.outputSchema, settings.cwd)
  const session = createAgent(executor, settings).open(model, {
    approve: createApprove(options, streams),
  })
  const page = choosePage(options, schema, streams)
  session.listen(async (event) => {
    await page(event)
    // Nobody reads the answer any more, so the model need not go on.
    if (streams.stdout.closed) session.cancel()
  })

  return {
    addCommand: (result) => session.addCommand(result),
    async ask(text, stdin) {
      const given = stdin.kind === 'descriptor' ? await readGiven(options, streams) : ''
      if (given + text === '') throw emptyPrompt()
      const { status } = await session.prompt(given + text, { signal, schema })
      return status === 'answered' ? 0 : 1
    },
  }
}

type Page = (event: AgentEvent) => Promise<void>

function choosePage(options: PrintOptions, schema: OutputSchema | null, streams: Streams): Page {
  const { stdout } = streams
  const notes = options.quiet ? async () => undefined : createNotes(streams)
  const write = async (event: AgentEvent) => {
    await stdout.write(`${JSON.stringify(eventToWire(event))}\n`)
  }
  switch (options.outputFormat) {
    case 'stream-json':
      return write
    case 'json':
      return async (event) => {
        if (event.type === 'result') await write(event)
        await notes(event)
      }
    case 'text': {
      const answer = schema === null ? createTextPage(streams, options.quiet) : dataPage(streams)
      return async (event) => {
        await notes(event)
        await answer(event)
      }
    }
  }
}

/** With a schema, the answer is the data alone, when it is whole. */
function dataPage({ stdout }: Streams): Page {
  return async (event) => {
    if (event.type !== 'result' || event.status !== 'answered') return
    await stdout.write(`${JSON.stringify(event.data)}\n`)
  }
}

/** A text is held for so long, since it may only announce a call of a tool. */
const holdMs = 1000

/**
 * The answer as it comes. A model may say what it is about to do before it calls a tool; that is no
 * answer, so the beginning of a text is held for a moment where no person watches, and goes to
 * standard error when a call follows.
 */
function createTextPage({ stdout, stderr }: Streams, quiet: boolean): Page {
  let held = ''
  let passes = false
  let last = '\n'
  let timer: NodeJS.Timeout | null = null

  async function pass(text: string): Promise<void> {
    if (text === '') return
    last = text.at(-1) ?? last
    await stdout.write(text)
  }

  async function release(): Promise<void> {
    if (timer) clearTimeout(timer)
    timer = null
    passes = true
    const text = held
    held = ''
    await pass(text)
  }

  async function endLine(): Promise<void> {
    if (last !== '\n') await pass('\n')
  }

  return async (event) => {
    switch (event.type) {
      case 'step':
        await endLine()
        held = ''
        passes = stdout.isTerminal
        return
      case 'text':
        if (passes) return pass(event.text)
        held += event.text
        // Nobody awaits this write; where it fails, the next one meets the same closed stream.
        timer ??= setTimeout(() => void release(), holdMs)
        return
      case 'message': {
        if (timer) clearTimeout(timer)
        timer = null
        const isAnswer = !event.message.parts.some(({ type }) => type === 'tool_call')
        if (isAnswer) return release()
        if (held !== '' && !quiet) await stderr.write(`nacre: ${held.trim()}\n`)
        held = ''
        return
      }
      case 'result':
        if (timer) clearTimeout(timer)
        timer = null
        return endLine()
    }
  }
}

/** What a person at standard error is told beside the answer. */
function createNotes({ stdout, stderr }: Streams): Page {
  const say = async (text: string) => void (await stderr.write(`nacre: ${text}\n`))
  return async (event) => {
    switch (event.type) {
      case 'tool_call':
        return say(describeCall(event.name, event.arguments))
      case 'tool_result': {
        const line = event.reply.text.trimEnd().split('\n').at(-1) ?? ''
        return event.reply.isError ? say(`  ${line}`) : undefined
      }
      case 'retry':
        return say(`${event.message}; trying again in ${(event.delayMs / 1000).toFixed(1)} s`)
      case 'notice':
        return say(event.message)
      case 'result':
        return stdout.closed ? undefined : tellEnd(event, say)
    }
  }
}

async function tellEnd(
  { status, error }: PromptResult,
  say: (text: string) => Promise<void>,
): Promise<void> {
  if (error !== null) await say(error.message)
  else if (status === 'cancelled') await say('The prompt was cancelled')
}

/** One line: of a command its first line, of anything else its arguments. */
function describeCall(name: string, given: Readonly<Record<string, unknown>>): string {
  const { command } = given
  if (typeof command !== 'string') return `${name} ${JSON.stringify(given)}`.slice(0, 200)
  const [first = '', ...rest] = command.split('\n')
  return `$ ${first}${rest.length > 0 ? ' …' : ''}`
}

/** So much of what is handed over on standard input reaches the model; the middle of more is left out. */
const givenChars = 512 * 1024
/** After so long without a word a person may wonder what it waits for. */
const patienceMs = 3000

async function readGiven({ quiet }: PrintOptions, { stdin, stderr }: Streams): Promise<string> {
  const note = setTimeout(() => {
    if (!quiet)
      void stderr.write('nacre: Waiting for the end of standard input; < /dev/null gives none\n')
  }, patienceMs)
  try {
    const text = await readText(stdin)
    if (text.trim() === '') return ''
    return `<stdin>\n${cutMiddle(text).replaceAll('</stdin>', '<\\/stdin>').trimEnd()}\n</stdin>\n\n`
  } finally {
    clearTimeout(note)
  }
}

function cutMiddle(text: string): string {
  if (text.length <= givenChars) return text
  const left = text.length - givenChars
  const half = givenChars / 2
  return `${text.slice(0, half)}\n[… ${left} characters left out …]\n${text.slice(-half)}`
}
