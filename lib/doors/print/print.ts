import type { InjectionQueue } from '../../agent/injection.ts'
import type { Run, RunOptions } from '../../executor/executor.ts'
import { createLazy } from '../../protocol/deferred.ts'
import { MisuseError, wrongUsage } from '../../protocol/errors.ts'
import { mayOutlive, mayReturnEarly } from '../../executor/wait.ts'
import type { RequestInput, Stdin } from '../../protocol/request/request.ts'
import { emptyPrompt, parsePrompt, type PrintOptions } from '../../protocol/prompt.ts'
import type { Result } from '../../protocol/result/result.ts'
import { readLines, readText, type Streams } from '../streams.ts'
import { createAnswer } from './answer.ts'
import type { PrompterContext } from './prompt.ts'
import { createApprove, typeIntoRun } from '../terminal.ts'

export interface PrintContext extends PrompterContext {
  exitStatusOf: (result: Result) => number
}

/** The status where a line is no prompt. */
const wrongStatus = 125

/** Answers prompts one after another; gives the exit status of the last one. */
export async function print(options: PrintOptions, context: PrintContext): Promise<number> {
  const { signal, streams } = context
  let status = 0
  const conversation = await createConversation(options, context)
  for await (const { prompt, stdin } of readPrompts(options, streams)) {
    try {
      status = await answerPrompt(prompt, stdin, conversation, options, context)
    } catch (error) {
      const isEmpty = error instanceof MisuseError && error.code === 'empty_command'
      if (!isEmpty || options.inputFormat !== 'lines') throw error
      // The next line is answered all the same.
      await streams.stderr.write(`nacre: ${error.message}\n`)
      status = wrongStatus
    }
    if (signal.aborted || streams.stdout.closed) break
  }
  return status
}

async function* readPrompts(
  { subject, prompt, inputFormat }: PrintOptions,
  streams: Streams,
): AsyncGenerator<{ prompt: string; stdin: Stdin }> {
  if (subject !== null || prompt !== null) {
    const given: Stdin = { kind: 'descriptor', fd: 0 }
    yield {
      prompt: prompt ?? '',
      stdin: streams.input === 'given' ? given : { kind: 'none' },
    }
  } else if (inputFormat === 'lines') {
    for await (const line of readLines(streams.stdin)) {
      if (line.trim() !== '') yield { prompt: line, stdin: { kind: 'none' } }
    }
  } else {
    yield { prompt: await readPromptText(streams.stdin), stdin: { kind: 'none' } }
  }
}

async function readPromptText(stdin: NodeJS.ReadStream): Promise<string> {
  const text = await readText(stdin)
  if (text.trim() !== '') return text
  throw emptyPrompt()
}

/** The conversation with a model, opened with its first prompt. */
interface Conversation {
  ask(text: string, stdin: Stdin): Promise<number>
  /** What was run goes before the next prompt; null where no prompt can follow. */
  commands: InjectionQueue | null
}

async function createConversation(
  options: PrintOptions,
  context: PrintContext,
): Promise<Conversation> {
  let commands: InjectionQueue | null = null
  if (options.inputFormat === 'lines') {
    const { createInjectionQueue } = await import('../../agent/injection.ts')
    commands = createInjectionQueue(context.executor)
  }
  const prompter = createLazy(async () => {
    const { createPrompter } = await import('./prompt.ts')
    return createPrompter(options, context, commands)
  })
  return { commands, ask: async (text, stdin) => (await prompter.open())(text, stdin) }
}

async function answerPrompt(
  text: string,
  stdin: Stdin,
  conversation: Conversation,
  options: PrintOptions,
  context: PrintContext,
): Promise<number> {
  const prompt = options.subject ? null : parsePrompt(text)
  if (prompt !== null && prompt.kind !== 'command') {
    if (text.trim() === '' && stdin.kind === 'none') throw emptyPrompt()
    if (options.run.array !== undefined) {
      throw wrongUsage('An array runs a command, not a prompt: nacre --array N -c <command>')
    }
    return conversation.ask(text.trim(), stdin)
  }
  const commands = prompt?.injected ? conversation.commands : null
  const subject = options.subject ?? { command: prompt?.command ?? '' }
  const { executor, streams, signal } = context
  const input = {
    stdin,
    ...options.run,
    ...subject,
    ...(await readArray(options.run, streams)),
    origin: 'print',
  } as const
  const request = executor.parse(input)
  const isSupervised = mayOutlive(request)
  const isJob = request.waitMs === 0 || request.mode === 'background'
  const wait = mayReturnEarly(request) ? (isJob ? 'not at all' : 'for a while') : 'to the end'
  const answer = createAnswer(options, wait, streams, commands !== null)
  // `nacre job write` and `attach` type into a job; print's own input is not connected to it.
  const terminal = options.run.pty && !isSupervised ? connectTerminal(stdin, context) : null
  const wanted: RequestInput = {
    ...input,
    ...answer.fields,
    ...terminal?.fields,
    ...(request.host === null && { cwd: request.cwd }),
    ...(request.workspace !== null && { workspace: request.workspace }),
    ...(request.pty && { stdin: { kind: 'none' } }),
  }
  const approve = createApprove(options, streams)
  const runOptions = { signal, text: answer.text, onEvent: answer.onEvent, approve }
  const result = isSupervised
    ? await executor.hold(wanted, runOptions)
    : await runHere(wanted, runOptions)
  await answer.finish(result)
  await commands?.add(result)
  return context.exitStatusOf(result)

  async function runHere(wanted: RequestInput, runOptions: RunOptions): Promise<Result> {
    const run = await executor.start(wanted, runOptions)
    const disconnect = terminal?.connect(run)
    try {
      return await run.result
    } finally {
      disconnect?.()
    }
  }
}

/** A run on a terminal reads what is typed: standard input goes there, and the size comes along. */
function connectTerminal(stdin: Stdin, { streams }: PrintContext) {
  const typed = stdin.kind === 'descriptor' || ['terminal', 'empty'].includes(streams.input)
  return {
    fields: streams.stdout.isTerminal ? (streams.stdout.size() ?? {}) : {},
    /** Gives what undoes it. */
    connect: (run: Run) => (typed ? typeIntoRun(run, streams) : undefined),
  }
}

/** What an array makes of the input of print: its tasks read nothing, and `-` reads their commands. */
async function readArray(
  { array }: Partial<RequestInput>,
  streams: Streams,
): Promise<Partial<RequestInput>> {
  if (array === undefined) return {}
  if (array !== '-') return { stdin: { kind: 'none' } }
  const commands: string[] = []
  for await (const line of readLines(streams.stdin)) if (line.trim() !== '') commands.push(line)
  return { commands, array: String(commands.length), stdin: { kind: 'none' } }
}
