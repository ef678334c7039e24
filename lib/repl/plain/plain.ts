import { stripVTControlCharacters } from 'node:util'
import type { AgentEvent } from '../../agent/events.ts'
import type { AgentSession } from '../../agent/session.ts'
import type { Approve, Run } from '../../executor/executor.ts'
import { MisuseError } from '../../protocol/errors.ts'
import { parsePrompt } from '../../protocol/prompt.ts'
import { toOneLine } from '../../render/tables.ts'
import { describeFaults, renderEnd } from '../screen/block.ts'
import { sessionRequest } from '../run-command.ts'
import type { ReplContext } from '../context.ts'
import { createStrayOutput } from '../screen/stray-output.ts'
import { createStyle } from '../screen/text.ts'
import { composeCd } from '../slash/slash-commands.ts'
import { readPlainLines } from './plain-lines.ts'

const help =
  '!command runs it in your shell, ! alone makes every line a command until exit, /cd <directory> ' +
  'goes there, /quit leaves. The rest needs a terminal that can move its cursor (TERM is dumb).'
/** Between two looks whether the program reads what was typed meanwhile. */
const lookMs = 50

/** The REPL of a terminal that only prints: lines in, the command's own bytes out, one shell. */
export async function plainRepl(context: ReplContext): Promise<number> {
  const { executor, streams, signal, environment } = context
  const style = createStyle({ ...environment, NO_COLOR: '1' })
  let bash = false
  let stop: AbortController | null = null
  let running: Run | null = null
  let agentSession: AgentSession | null = null
  const write = (text: string) => streams.stdout.write(text)
  const lines = readPlainLines(streams, { signal, onSignalKey: takeSignalKey })
  context.onCrash(() => lines.close())
  const shell = { ...sessionRequest({ sandbox: null }), cwd: context.cwd }
  const stray = createStrayOutput(
    (text) => void write(`${text.map(stripVTControlCharacters).join('\n')}\n`),
  )
  const opened = await executor.sessions.open({ ...shell, command: ':' })
  opened.listen({
    onOutput: (bytes, phase) => stray.take(bytes, phase),
    onNotice: (text) => void write(`${text}\n`),
  })

  /** Before it has begun, a command is cancelled; then its terminal does what the key means. */
  function takeSignalKey(key: string): void {
    if (running?.pid != null) running.write(key).catch(() => undefined)
    else if (key === '\u0003') stop?.abort()
  }

  async function run(command: string, injected: boolean): Promise<void> {
    stop = new AbortController()
    let last = '\n'
    const started = await executor.start(
      { ...sessionRequest({ sandbox: null }), command, env: { TERM: 'dumb' } },
      {
        signal: stop.signal,
        approve,
        onEvent(event) {
          if (event.type !== 'output') return
          last = String.fromCharCode(event.bytes.at(-1) ?? 10)
          return streams.stdout.write(event.bytes)
        },
      },
    )
    running = started
    const typing = setInterval(() => {
      if (process.platform === 'linux' && started.look().waitingForInput === null) return
      const ahead = lines.takeAhead()
      if (ahead !== '') started.write(ahead).catch(() => undefined)
    }, lookMs)
    const result = await started.ended
    clearInterval(typing)
    running = null
    stop = null
    if (injected) await (await openAgentSession()).commands.add(result)
    const told = [...describeFaults(result, false), renderEnd(result, style)]
    await write(`${last === '\n' ? '' : '\n'}${told.join('\n')}\n`)
  }

  const approve: Approve = async ({ command }, { reason, rule }) => {
    await write(`${toOneLine(reason ?? `${rule} asks`)}\nRun ${toOneLine(command)} ?\n`)
    return (await lines.askAnew('yes · no ? ')) === 'yes'
  }

  async function openAgentSession(): Promise<AgentSession> {
    if (agentSession) return agentSession
    const { createAgent } = await import('../../agent/agent.ts')
    const { cwd } = opened.info()
    agentSession = createAgent(executor, context.agentSettings).open({}, { cwd, approve })
    agentSession.listen(tell)
    return agentSession
  }

  async function tell(event: AgentEvent): Promise<void> {
    if (event.type === 'text') await write(event.text)
    else if (event.type === 'message') await write('\n')
    else if (event.type === 'tool_call') {
      const { command } = event.arguments
      await write(`$ ${typeof command === 'string' ? command : event.name}\n`)
    } else if (event.type === 'notice') await write(`${event.message}\n`)
    else if (event.type === 'retry') await write(`\n${event.message}; trying again\n`)
    else if (event.type === 'result' && event.error) await write(`${event.error.message}\n`)
  }

  async function ask(text: string): Promise<void> {
    stop = new AbortController()
    await (await openAgentSession()).prompt(text, { signal: stop.signal })
    stop = null
  }

  async function answer(line: string): Promise<void> {
    const word = line.trim()
    if (word === '!' || word === '/bash') return void (bash = true)
    if (bash && (word === 'exit' || word === 'quit')) return void (bash = false)
    const isCommand = bash && !word.startsWith('!') && !/^\/(?:cd|help)\b/.test(word)
    const prompt = parsePrompt(isCommand ? `!${line}` : line)
    // The history of the shell leaves out what begins with a blank.
    const blank = line.startsWith(' ') ? ' ' : ''
    if (prompt.kind === 'command') return run(blank + prompt.command, prompt.injected)
    if (prompt.kind === 'message') return ask(line)
    if (prompt.name === 'cd') return run(composeCd(prompt.rest), false)
    await write(`${help}\n`)
  }

  async function converse(): Promise<void> {
    for (;;) {
      const line = await lines.ask(bash ? 'bash> ' : '> ')
      if (line === null && bash && !signal.aborted) {
        bash = false
        await write('\n')
        continue
      }
      if (line === null || line.trim() === '/quit') return
      if (line.trim() === '') continue
      try {
        await answer(line)
      } catch (error) {
        if (!(error instanceof MisuseError)) throw error
        await write(`${error.message}\n`)
      }
    }
  }

  try {
    // A command under way ends with nacre.
    await Promise.race([converse(), lines.ended])
    return 0
  } finally {
    stray.flush()
    lines.close()
  }
}
