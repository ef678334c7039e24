import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MisuseError } from '../protocol/errors.ts'
import { StartError } from '../protocol/ports.ts'
import { parsePrompt } from '../protocol/prompt.ts'
import { quoteWord } from '../protocol/words.ts'
import { makeTemporaryFolder, removeTemporaryFolder } from '../system/temporary-folder.ts'
import type { LineContext, LineReader } from './context.ts'
import { highlight, isUnfinished } from './line/command-text.ts'
import { createCompletion } from './line/completion.ts'
import { recall } from './line/history.ts'
import { askQuestion, pick } from './line/list.ts'
import { createPrompt, type PromptEvent } from './line/prompt.ts'
import type { PlainDisplay } from './plain.ts'
import { oneLine } from './screen/text.ts'
import { slashCommands } from './slash.ts'

/** One line after the other, until the person leaves. */
export async function converse(reader: LineReader, context: LineContext): Promise<void> {
  const { state } = context
  while (!state.quit) {
    const event = await reader.next()
    await answerEvent(event, reader, context).catch((error: unknown) => tellMisuse(error, context))
    if (state.quit && !(await mayQuit(context))) state.quit = false
  }
}

/** Lines that are edited on the screen. */
export function createScreenReader(context: LineContext): LineReader {
  const { state, display, style } = context
  let settle: (event: PromptEvent) => void = () => undefined
  const prompt = createPrompt({
    style,
    isBash: () => state.bash,
    rows: () => display.rows,
    refresh: () => display.refresh(),
    history: () => recallAll(context),
    highlight: (line, row) => paint(line, row, prompt.text(), context),
    completion: createCompletion({
      slashCommands: slashCommands.map(({ name, description, complete }) => ({
        name,
        description,
        complete: complete && (() => complete(context)),
      })),
      isBash: () => state.bash,
      askShell: async (line) => (await context.session()).complete(line),
    }),
    onEvent: (event) => settle(event),
  })
  return {
    text: () => prompt.text(),
    setText: (text) => prompt.setText(text),
    next: () =>
      new Promise((resolve) => {
        const close = display.open(prompt)
        settle = (event) => {
          settle = () => undefined
          close()
          resolve(event)
        }
        display.replayKeys()
      }),
  }
}

/** Lines from a terminal that only prints. */
export function createPlainReader(display: PlainDisplay, { state }: LineContext): LineReader {
  /** Lines of an unfinished command. */
  let before = ''
  return {
    text: () => before,
    setText: (text) => void (before = text),
    async next() {
      const line = await display.readLine(state.bash ? 'bash> ' : '> ')
      const text = before + (line ?? '')
      before = ''
      if (line !== null) return { type: 'line', text }
      display.printWhole([''])
      return { type: 'leave', key: 'ctrl+d' }
    },
  }
}

async function answerEvent(
  event: PromptEvent,
  reader: LineReader,
  context: LineContext,
): Promise<void> {
  const { display, state, style, print } = context
  switch (event.type) {
    case 'line': {
      const command = commandOf(event.text, state.bash)?.trimStart()
      if (command !== undefined && (await isUnfinished(command, state.shell)))
        return reader.setText(`${event.text}\n`)
      return answerLine(event.text, context)
    }
    case 'leave':
      if (event.key !== 'ctrl+c') {
        if (state.bash) state.bash = false
        else state.quit = event.key === 'ctrl+d'
      } else if (state.bash) print([style.dim('exit, Esc or Ctrl-D leaves bash mode.')])
      else print([style.dim('Ctrl-D or /quit leaves nacre.')])
      return
    case 'search': {
      const choices = recallAll(context).map((text) => ({ value: text, label: text }))
      const options = { title: 'history:', choices, style, nextKey: 'ctrl+r' } as const
      const picked = await pick(display, options)
      if (picked !== null) reader.setText(picked)
      return
    }
    case 'palette':
      return choose(reader, context)
    case 'view':
      return runSlash('view', '', context)
    case 'clear':
      return display.clear()
    case 'edit':
      return editLine(reader, context)
  }
}

/** What a line asks for: a slash command, a command, a change of mode, or a message to the model. */
async function answerLine(text: string, context: LineContext): Promise<void> {
  const { state, style, print, display } = context
  const line = text.trim()
  if (line === '') return
  const slash = line.startsWith('/') ? parsePrompt(line) : null
  if (slash?.kind === 'slash' && (findSlash(slash.name) || !state.bash)) {
    remember('prompt', text, context)
    if (!display.isPlain) print([`${state.bash ? style.mint('bash>') : style.salmon('>')} ${line}`])
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
  if (!display.isPlain)
    print(line.split('\n').map((part, row) => `${row === 0 ? style.salmon('>') : ' '} ${part}`))
  await context.talk.ask(prompt.text, (line) =>
    answerLine(line, context).catch((error: unknown) => tellMisuse(error, context)),
  )
}

/** A fault of nacre's own is thrown on. */
function tellMisuse(error: unknown, { print, style }: LineContext): void {
  if (!(error instanceof MisuseError || error instanceof StartError)) throw error
  print([style.red(error.message)])
}

function remember(kind: 'command' | 'prompt', text: string, context: LineContext) {
  return context.history.add({ kind, text: text.trimEnd(), cwd: context.state.cwd })
}

/** Runs a command as a line of its own, which the history keeps. */
export async function runLine(
  text: string,
  injected: boolean,
  context: LineContext,
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

async function runSlash(name: string, rest: string, context: LineContext): Promise<void> {
  const command = findSlash(name)
  if (command) return command.run(rest, context)
  context.print([`No such command: /${name}; /help lists them.`])
}

/** Newest first, as they are typed in the present mode. */
function recallAll({ history, state }: LineContext): string[] {
  return history
    .list()
    .toReversed()
    .flatMap((entry) => recall(entry, state.bash) ?? [])
}

/** The command of a line, if it has one. */
function commandOf(text: string, bash: boolean): string | null {
  const bang = /^\s*!{1,2}/.exec(text)
  if (bang) return text.slice(bang[0].length)
  return bash ? text : null
}

function paint(line: string, row: number, text: string, { state, style }: LineContext): string {
  if (commandOf(text, state.bash) === null) return line
  const bang = row === 0 ? (/^\s*!{1,2}\s*/.exec(line)?.[0] ?? '') : ''
  return style.bold(bang) + highlight(line.slice(bang.length), style)
}

/** Asks a person about jobs that would end. */
async function mayQuit({ runner, display, style, session }: LineContext): Promise<boolean> {
  const running = runner.runningJobs()
  // A shell that has not started has no jobs.
  const ofShell = await session().then(
    (shell) => shell.listJobs(),
    () => [],
  )
  const names = [
    ...running.map(({ number, shown }) => `  %${number} ${oneLine(shown.wanted.command)}`),
    ...ofShell
      .filter((job) => !running.some(({ run }) => run.id === job.run))
      .map(({ command }) => `  ${oneLine(command)}`),
  ]
  if (names.length === 0) return true
  const text = [style.yellow('These jobs end with nacre:'), ...names, 'Leave all the same?']
  return (await askQuestion(display, { text, answers: { yes: '', no: '' }, style })) === 'yes'
}

/** A command that is picked runs; what was typed before is put on the line. */
async function choose(reader: LineReader, context: LineContext): Promise<void> {
  const { display, style } = context
  const commands = slashCommands.map(({ name, hint = '', description }) => {
    return { value: `/${name}`, label: `/${name}`, hint: `${hint} ${description}`.trim() }
  })
  const typed = recallAll(context).slice(0, 50)
  const choices = [...commands, ...typed.map((text) => ({ value: ` ${text}`, label: text }))]
  const picked = await pick(display, { title: 'palette:', choices, style, nextKey: 'ctrl+p' })
  if (picked?.startsWith(' ')) reader.setText(picked.slice(1))
  else if (picked !== null) await answerLine(picked, context)
}

/** The line in the person's editor, which runs in the person's shell. */
async function editLine(reader: LineReader, { environment, runner }: LineContext): Promise<void> {
  const fileIn = (folder: string) => join(folder, 'line.sh')
  const folder = makeTemporaryFolder('line', (made) =>
    writeFileSync(fileIn(made), `${reader.text()}\n`, { mode: 0o600 }),
  )
  const file = fileIn(folder)
  try {
    const editor = environment['VISUAL'] ?? environment['EDITOR'] ?? 'vi'
    const command = `${editor} ${quoteWord(file)}`
    await runner.run({ command, injected: false, shownAs: `${editor} …` })
    reader.setText(readFileSync(file, 'utf8').replace(/\n+$/, ''))
  } finally {
    removeTemporaryFolder(folder)
  }
}
