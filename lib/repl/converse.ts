import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { quoteWord } from '../protocol/words.ts'
import { makeFilledFolder } from '../system/temporary-folder.ts'
import { answerLine, runSlash, tellMisuse } from './answer-line.ts'
import { createCompletion } from './line/completion.ts'
import { highlight } from './line/highlight.ts'
import { recall } from './line/history.ts'
import { type Choice, pick } from './line/picker.ts'
import { oneLine, shortenHome } from './screen/text.ts'
import { createPrompt, type Prompt, type PromptEvent } from './line/prompt.ts'
import { askQuestion } from './line/question.ts'
import { isUnfinished } from './line/unfinished.ts'
import type { SlashContext } from './slash/slash-command.ts'
import { slashCommands } from './slash/slash-commands.ts'
import type { ReplState } from './state.ts'

/** One line after the other, until it is enough. */
export async function converse(context: SlashContext): Promise<void> {
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
  while (!state.quit) {
    const title = `nacre: ${shortenHome(state.cwd, context.environment['HOME'])}`
    display.terminal.write(`\u001B]0;${title.replaceAll(/[\u0000-\u001F]/g, '?')}\u0007`)
    const event = await new Promise<PromptEvent>((resolve) => {
      const close = display.open(prompt)
      settle = (event) => {
        settle = () => undefined
        close()
        resolve(event)
      }
      display.replayKeys()
    })
    await answer(event, prompt, context)
    if (state.quit && !(await mayQuit(context))) state.quit = false
  }
}

/** Newest first, as they are typed in the present mode. */
function recallAll({ history, state }: SlashContext): string[] {
  const found: string[] = []
  for (const entry of history.list().toReversed()) {
    const text = recall(entry, state.bash)
    if (text !== null) found.push(text)
  }
  return found
}

/** The command of a line, where it has one. */
function commandOf(text: string, bash: boolean): string | null {
  const bang = /^\s*!{1,2}/.exec(text)
  if (bang) return text.slice(bang[0].length)
  return bash ? text : null
}

async function isUnfinishedLine(text: string, { bash, shell }: ReplState): Promise<boolean> {
  const command = commandOf(text, bash)
  return command !== null && isUnfinished(command.trimStart(), shell)
}

function paint(line: string, row: number, text: string, { state, style }: SlashContext): string {
  if (commandOf(text, state.bash) === null) return line
  const bang = row === 0 ? (/^\s*!{1,2}\s*/.exec(line)?.[0] ?? '') : ''
  return style.bold(bang) + highlight(line.slice(bang.length), style)
}

async function answer(event: PromptEvent, prompt: Prompt, context: SlashContext): Promise<void> {
  try {
    switch (event.type) {
      case 'line':
        if (await isUnfinishedLine(event.text, context.state))
          return prompt.setText(`${event.text}\n`)
        return await answerLine(event.text, context)
      case 'leave':
        return answerLeave(event.key, context)
      case 'search':
        return await search(prompt, context)
      case 'palette':
        return await choose(prompt, context)
      case 'view':
        return await runSlash('view', '', context)
      case 'clear':
        return context.display.clear()
      case 'edit':
        return await editLine(prompt, context)
    }
  } catch (error) {
    tellMisuse(error, context)
  }
}

function answerLeave(key: string, { state, style, print }: SlashContext): void {
  if (key === 'ctrl+c') {
    const how = state.bash
      ? 'exit, Esc or Ctrl-D leaves bash mode.'
      : 'Ctrl-D or /quit leaves nacre.'
    print([style.dim(how)])
  } else if (state.bash) state.bash = false
  else if (key === 'ctrl+d') state.quit = true
}

/** Asks a person where jobs would end. */
async function mayQuit({ runner, display, style, session }: SlashContext): Promise<boolean> {
  const running = runner.runningJobs()
  // A shell that has not started has no jobs.
  const ofShell = await session().then(
    (shell) => shell.listJobs(),
    () => [],
  )
  const names = [
    ...running.map(({ number, command }) => `  %${number} ${oneLine(command)}`),
    ...ofShell
      .filter((job) => !running.some(({ run }) => run.id === job.run))
      .map(({ command }) => `  ${oneLine(command)}`),
  ]
  if (names.length === 0) return true
  const text = [style.yellow('These jobs end with nacre:'), ...names, 'Leave all the same?']
  const yes = { word: 'yes', label: '', value: true }
  const no = { word: 'no', label: '', value: false }
  return await askQuestion(display, { text, answers: [yes, no], otherwise: no, style })
}

async function search(prompt: Prompt, context: SlashContext): Promise<void> {
  const { display, style } = context
  const choices = recallAll(context).map((text) => ({ value: text, label: text }))
  const picked = await pick(display, { title: 'history:', choices, style, nextKey: 'ctrl+r' })
  if (picked !== null) prompt.setText(picked)
}

/** A command that is picked runs; what was typed before is put on the line. */
async function choose(prompt: Prompt, context: SlashContext): Promise<void> {
  const choices: Choice[] = [
    ...slashCommands.map(({ name, hint = '', description }) => {
      return { value: `/${name}`, label: `/${name}`, hint: `${hint} ${description}`.trim() }
    }),
    ...recallAll(context)
      .slice(0, 50)
      .map((text) => ({ value: ` ${text}`, label: text })),
  ]
  const { display, style } = context
  const picked = await pick(display, { title: 'palette:', choices, style, nextKey: 'ctrl+p' })
  if (picked === null) return
  if (picked.startsWith(' ')) prompt.setText(picked.slice(1))
  else await answerLine(picked, context)
}

/** The line in the person's editor, which runs in the person's shell. */
async function editLine(prompt: Prompt, context: SlashContext): Promise<void> {
  const fileIn = (folder: string) => join(folder, 'line.sh')
  const folder = makeFilledFolder('line', (made) =>
    writeFileSync(fileIn(made), `${prompt.text()}\n`, { mode: 0o600 }),
  )
  const file = fileIn(folder)
  try {
    const editor = context.environment['VISUAL'] ?? context.environment['EDITOR'] ?? 'vi'
    await context.runner.run({
      command: `${editor} ${quoteWord(file)}`,
      injected: false,
      shownAs: `${editor} …`,
    })
    prompt.setText(readFileSync(file, 'utf8').replace(/\n+$/, ''))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
