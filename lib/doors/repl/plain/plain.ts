import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { AgentEvent } from '../../../agent/events.ts'
import type { AgentSession } from '../../../agent/session.ts'
import { MisuseError } from '../../../protocol/errors.ts'
import { parsePrompt } from '../../../protocol/request/prompt.ts'
import { renderEnd } from '../screen/block.ts'
import type { ReplContext } from '../context.ts'
import { readPlainLines } from './plain-lines.ts'
import { createStyle } from '../screen/style.ts'

const help =
  '!command runs it, /cd <directory> goes there, /quit leaves. The rest needs a terminal that can ' +
  'move its cursor (TERM is dumb).'

/** The REPL of a terminal that only prints: lines in, the command's own bytes out. */
export async function plainRepl(context: ReplContext): Promise<number> {
  const { executor, streams, signal, environment } = context
  const style = createStyle({ ...environment, NO_COLOR: '1' })
  let { cwd } = context
  let stop: AbortController | null = null
  let session: AgentSession | null = null
  const write = (text: string) => streams.stdout.write(text)
  const lines = readPlainLines(streams, {
    signal,
    mark: '> ',
    onInterrupt: () => stop?.abort(),
  })
  context.onCrash(() => lines.close())

  async function run(command: string, injected: boolean): Promise<void> {
    stop = new AbortController()
    let last = '\n'
    const result = await executor.run(
      { command, origin: 'repl', cwd, env: { TERM: 'dumb' } },
      {
        signal: stop.signal,
        onEvent(event) {
          if (event.type !== 'output') return
          last = String.fromCharCode(event.bytes.at(-1) ?? 10)
          return streams.stdout.write(event.bytes)
        },
      },
    )
    stop = null
    if (injected) (await openSession()).addCommand(result)
    const reason = result.verdict?.reason ?? result.error?.message
    if (reason) await write(`${reason}\n`)
    await write(`${last === '\n' ? '' : '\n'}${renderEnd(result, style)}\n`)
  }

  async function openSession(): Promise<AgentSession> {
    if (session) return session
    const { createAgent } = await import('../../../agent/agent.ts')
    session = createAgent(executor, context.agentSettings).open({}, { cwd })
    session.listen(tell)
    return session
  }

  async function tell(event: AgentEvent): Promise<void> {
    if (event.type === 'text') await write(event.text)
    else if (event.type === 'message') await write('\n')
    else if (event.type === 'tool_call') {
      const { command } = event.arguments
      await write(`$ ${typeof command === 'string' ? command : event.name}\n`)
    } else if (event.type === 'notice') await write(`${event.message}\n`)
    else if (event.type === 'result' && event.error) await write(`${event.error.message}\n`)
  }

  async function ask(text: string): Promise<void> {
    stop = new AbortController()
    await (await openSession()).prompt(text, { signal: stop.signal })
    stop = null
  }

  async function answer(line: string): Promise<void> {
    const prompt = parsePrompt(line)
    if (prompt.kind === 'command') return run(prompt.command, prompt.injected)
    if (prompt.kind === 'message') return ask(line)
    if (prompt.name !== 'cd') return void (await write(`${help}\n`))
    const target = resolve(cwd, prompt.rest.trim() || (environment['HOME'] ?? '/'))
    if (isDirectory(target)) cwd = target
    else await write(`Not a directory: ${target}\n`)
  }

  try {
    for await (const line of lines) {
      if (line.trim() === '/quit') break
      if (line.trim() === '') continue
      try {
        await answer(line)
      } catch (error) {
        if (!(error instanceof MisuseError)) throw error
        await write(`${error.message}\n`)
      }
    }
    return 0
  } finally {
    lines.close()
  }
}

/** Whether there is a directory of that path; one that cannot be looked at is none. */
function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
