import { resolve } from 'node:path'
import { noModelMessage } from '../../agent/no-model.ts'
import { MisuseError } from '../../protocol/errors.ts'
import { parsePrompt } from '../../protocol/prompt.ts'
import { renderEnd } from './block.ts'
import type { ReplContext } from './context.ts'
import { isDirectory } from './is-directory.ts'
import { readPlainLines } from './plain-lines.ts'
import { createStyle } from './style.ts'

const help =
  '!command runs it, /cd <directory> goes there, /quit leaves. The rest needs a terminal that can ' +
  'move its cursor (TERM is dumb).'

/** The REPL of a terminal that only prints: lines in, the command's own bytes out. */
export async function plainRepl(context: ReplContext): Promise<number> {
  const { executor, streams, signal, environment } = context
  const style = createStyle({ ...environment, NO_COLOR: '1' })
  let { cwd } = context
  let stop: AbortController | null = null
  const write = (text: string) => streams.stdout.write(text)
  const lines = readPlainLines(streams, {
    signal,
    mark: '> ',
    onInterrupt: () => stop?.abort(),
  })
  context.onCrash(() => lines.close())

  async function run(command: string): Promise<void> {
    stop = new AbortController()
    let last = '\n'
    const result = await executor.run(
      { command, origin: 'repl', cwd, artifact: 'never', env: { TERM: 'dumb' } },
      {
        signal: stop.signal,
        text: false,
        onEvent(event) {
          if (event.type !== 'output') return
          last = String.fromCharCode(event.bytes.at(-1) ?? 10)
          return streams.stdout.write(event.bytes)
        },
      },
    )
    stop = null
    const reason = result.verdict?.reason ?? result.error?.message
    if (reason) await write(`${reason}\n`)
    await write(`${last === '\n' ? '' : '\n'}${renderEnd(result, style)}\n`)
  }

  async function answer(line: string): Promise<void> {
    const prompt = parsePrompt(line)
    if (prompt.kind === 'command') return run(prompt.command)
    if (prompt.kind === 'message') return void (await write(`${noModelMessage}\n`))
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
