import { createAgent } from '../../agent/agent.ts'
import { emptyPrompt, type PrintOptions } from '../../protocol/prompt.ts'
import { eventToWire, type AgentEvent } from '../../agent/events.ts'
import { textOf, toolCallsOf } from '../../agent/models/model.ts'
import { openOutputSchema, type OutputSchema } from '../../agent/output-schema.ts'
import type { InjectionQueue } from '../../agent/injection.ts'
import type { AgentSettings } from '../../agent/session.ts'
import type { Executor } from '../../executor/executor.ts'
import type { Stdin } from '../../protocol/request/request.ts'
import type { PromptResult } from '../../protocol/result/result.ts'
import { MisuseError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { readText, type Streams } from '../streams.ts'
import type { DoorContext } from '../command.ts'
import { createApprove } from '../terminal.ts'

export interface PrompterContext extends DoorContext {
  agentSettings: () => AgentSettings
}

/**
 * Opens the conversation that is asked for; gives what answers one prompt on the streams, with its exit status.
 * `commands`: those that ran before the next prompt. Rejects with `MisuseError`.
 */
export async function createPrompter(
  options: PrintOptions,
  context: PrompterContext,
  commands: InjectionQueue | null,
): Promise<(text: string, stdin: Stdin) => Promise<number>> {
  const { executor, streams, signal } = context
  const { model } = options
  const settings = context.agentSettings()
  const schema =
    model.outputSchema === null ? null : await openOutputSchema(model.outputSchema, settings.cwd)
  const session = createAgent(executor, settings).open({
    ...model,
    approve: createApprove(options, streams),
    commands,
  })
  const page = choosePage(options, schema, streams)
  const keep = (input: string) => keepLarge(input, executor, session.conversation.id)
  session.listen(async (event) => {
    await page(event)
    // Nobody reads the answer any more, so the model need not go on.
    if (streams.stdout.closed) session.cancel()
  })

  return async (text, stdin) => {
    const given = stdin.kind === 'descriptor' ? await readGiven(streams, keep) : ''
    // Without words, the prompt itself came from standard input.
    const typed = options.prompt === null ? await keep(text) : text
    const asked = given + typed
    if (asked === '') throw emptyPrompt()
    const { status } = await session.prompt(asked, { signal, schema, typed })
    return status === 'answered' ? 0 : 1
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
      const answer = createTextPage(streams, options.quiet, schema !== null)
      return async (event) => {
        await answer(event)
        await notes(event)
      }
    }
  }
}

/**
 * The answer alone, once it is known to be the answer and whole: before that, the model may call a tool, or its
 * connection may break. A terminal shows what the model says as it comes; `asData`: the data, and nothing else.
 */
function createTextPage({ stdout, stderr }: Streams, quiet: boolean, asData: boolean): Page {
  const isLive = stdout.isTerminal && !asData
  /** Of what the model is saying, as it is shown. */
  let shown = ''

  async function endLine(mark = ''): Promise<void> {
    if (shown !== '' && !`${shown}${mark}`.endsWith('\n')) await stdout.write(`${mark}\n`)
    shown = ''
  }

  return async (event) => {
    switch (event.type) {
      case 'text':
        if (!isLive) return
        shown += event.text
        return void (await stdout.write(event.text))
      case 'retry':
        return endLine(' [broken off]')
      case 'message': {
        if (isLive) return endLine()
        const words = textOf(event.message).trim()
        if (quiet || words === '' || toolCallsOf(event.message).length === 0) return
        return void (await stderr.write(`nacre: ${words}\n`))
      }
      case 'result':
        if (event.status !== 'answered') return endLine(' [broken off]')
        if (isLive) return
        shown = asData ? JSON.stringify(event.data) : event.text
        await stdout.write(shown)
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
        for (const job of event.jobs) await say(describeLeft(job))
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

function describeLeft({ id, command }: PromptResult['jobs'][number]): string {
  const what = describeCall('bash', { command })
  return `Job ${id} goes on: ${what}; nacre job read ${id} shows its output, nacre job kill ${id} stops it`
}

/** One line: of a command its first line, of anything else its arguments. */
function describeCall(name: string, given: Readonly<Record<string, unknown>>): string {
  const { command } = given
  if (typeof command !== 'string') return `${name} ${JSON.stringify(given)}`.slice(0, 200)
  const [first = '', ...rest] = command.split('\n')
  return `$ ${first}${rest.length > 0 ? ' …' : ''}`
}

async function readGiven(
  { stdin }: Streams,
  keep: (input: string) => Promise<string>,
): Promise<string> {
  const text = await keep(await readText(stdin))
  if (text.trim() === '') return ''
  return `<stdin>\n${text.replaceAll('</stdin>', '<\\/stdin>').trimEnd()}\n</stdin>\n\n`
}

/** Of longer input a prompt has both ends, so much of each, and an artifact has the whole. */
const givenBytes = 32 * 1024
const ends = { maxBytes: 8 * 1024 }

/**
 * Input as it goes into a prompt. `owner`: the conversation, to which the artifact belongs; its record has no other
 * run. Rejects with `MisuseError` if it cannot be kept.
 */
async function keepLarge(input: string, { artifacts }: Executor, owner: string): Promise<string> {
  const bytes = Buffer.from(input)
  if (bytes.length <= givenBytes) return input
  const writer = artifacts?.create({
    runId: owner,
    belongsTo: owner,
    command: 'stdin',
    stream: 'stdout',
  })
  await writer?.write(bytes)
  const kept = await writer?.finish()
  if (!artifacts || !kept?.artifact) {
    const why = kept?.notice ?? 'There is no state folder'
    const message = `Standard input (${bytes.length} bytes) must be kept as an artifact, and cannot be: ${why}`
    throw new MisuseError('stdin_not_kept', message)
  }
  const { id } = kept.artifact
  const head = await artifacts.read(id, ends)
  const tail = await artifacts.read(id, { ...ends, tail: limits.maxLines })
  const note = `[… The middle is left out. The whole, ${bytes.length} bytes in ${tail.totalLines} lines, is the artifact ${id}: search and read it with the tool artifact (grep, offset, limit). …]`
  return [head.text, note, kept.notice, tail.text].filter(Boolean).join('\n')
}
