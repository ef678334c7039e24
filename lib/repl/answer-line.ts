import { MisuseError } from '../protocol/errors.ts'
import { StartError } from '../protocol/ports.ts'
import { parsePrompt } from '../protocol/prompt.ts'
import type { SlashContext } from './slash/slash-command.ts'
import { slashCommands } from './slash/slash-commands.ts'

/** What a line asks for: a slash command, a command, a change of mode, or a message to the model. */
export async function answerLine(text: string, context: SlashContext): Promise<void> {
  const { state, style } = context
  const line = text.trim()
  if (line === '') return
  const slash = line.startsWith('/') ? parsePrompt(line) : null
  if (slash?.kind === 'slash' && (findSlash(slash.name) || !state.bash)) {
    remember('prompt', text, context)
    context.print([`${state.bash ? style.mint('bash>') : style.salmon('>')} ${line}`])
    return runSlash(slash.name, slash.rest, context)
  }
  if (line === 'v') return runSlash('view', '', context)
  if (state.bash && (line === 'exit' || line === 'quit')) return void (state.bash = false)
  if (!state.bash && line === '!') return void (state.bash = true)
  // In bash mode the text after an explicit `!` runs too.
  const prompt =
    state.bash && !line.startsWith('!')
      ? ({ kind: 'command', command: text, injected: true } as const)
      : parsePrompt(text)
  if (prompt.kind === 'command') {
    // A line that begins with a blank is not kept.
    const blank = text.startsWith(' ') ? ' ' : ''
    return runLine(blank + prompt.command.trimStart(), prompt.injected, context)
  }
  if (prompt.kind === 'slash') return
  remember('prompt', text, context)
  context.print(
    line.split('\n').map((part, row) => `${row === 0 ? style.salmon('>') : ' '} ${part}`),
  )
  await context.talk.ask(prompt.text, (line) =>
    answerLine(line, context).catch((error: unknown) => tellMisuse(error, context)),
  )
}

/** A fault of nacre's own is thrown on. */
export function tellMisuse(error: unknown, { print, style }: SlashContext): void {
  if (!(error instanceof MisuseError || error instanceof StartError)) throw error
  print([style.red(error.message)])
}

function remember(kind: 'command' | 'prompt', text: string, context: SlashContext) {
  const { history, state, style } = context
  const added = history.add({ kind, text: text.replace(/\s+$/, ''), cwd: state.cwd })
  if (added.lost !== null) context.print([style.yellow(added.lost)])
  return added.end
}

/** Runs a command as a line of its own, which the history keeps. */
export async function runLine(
  text: string,
  injected: boolean,
  context: SlashContext,
): Promise<void> {
  const end = remember('command', text, context)
  // The shell's own history, too, leaves out what begins with a blank.
  const command = text.trimEnd()
  // What has no command in it leaves everything as it is.
  if (command.split('\n').every((line) => /^\s*(?:#.*)?$/.test(line))) return
  const result = await context.runner.run({ command, injected })
  end(result?.exitCode ?? null)
}

const findSlash = (name: string) => slashCommands.find((known) => known.name === name.toLowerCase())

export async function runSlash(name: string, rest: string, context: SlashContext): Promise<void> {
  const command = findSlash(name)
  if (command) return command.run(rest, context)
  context.print([`No such command: /${name}; /help lists them.`])
}
