import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { MisuseError } from '../../protocol/errors.ts'
import { parsePrompt } from '../../protocol/request/prompt.ts'
import type { TerminalSession } from '../../protocol/sessions.ts'
import { quoteWord } from '../../protocol/words.ts'
import { openApprovals } from './approvals.ts'
import { createApprove } from './ask-approval.ts'
import { createCompletion } from './line/completion.ts'
import type { ReplContext } from './context.ts'
import { createDisplay } from './screen/display.ts'
import { highlight } from './line/highlight.ts'
import { openHistory, recall } from './line/history.ts'
import { createPicker, type Choice } from './line/picker.ts'
import { createPrompt, type Prompt, type PromptEvent } from './line/prompt.ts'
import { createQuestion } from './line/question.ts'
import { createCommandRunner, sessionRequest } from './run-command.ts'
import type { SlashContext } from './slash-command.ts'
import { slashCommands } from './slash-commands.ts'
import type { ReplState } from './state.ts'
import { createStatusBar, shortenHome } from './status-bar.ts'
import { guardTerminal } from './screen/kill-guard.ts'
import { createStrayOutput } from './screen/stray-output.ts'
import { createStyle } from './screen/style.ts'
import { createTalk } from './talk.ts'
import { isUnfinished } from './line/unfinished.ts'

/** How long the status bar may be wrong about a job's time. */
const jobTickMs = 1000

/** The interactive front door. Gives the exit status when the person leaves or a signal ends nacre. */
export async function repl(context: ReplContext): Promise<number> {
  const { executor, streams, signal, environment } = context
  if (environment['TERM'] === 'dumb') {
    const { plainRepl } = await import('./plain.ts')
    return plainRepl(context)
  }
  const state: ReplState = {
    cwd: context.cwd,
    bash: false,
    model: context.agentSettings.model,
    sandbox: null,
    configuredSandbox: context.sandbox,
    shell: basename(environment['SHELL'] ?? 'bash'),
    runs: [],
    quit: false,
  }
  let leave = () => {}
  const left = new Promise<void>((resolve) => {
    leave = resolve
  })
  const style = createStyle(environment)
  const home = environment['HOME']
  const jobs = () => runner.jobs().filter(({ result }) => result === null)
  const dismissGuard = guardTerminal()
  const display = createDisplay({
    streams,
    statusBar: createStatusBar({ state, style, home, jobs }),
    onResize: (columns, rows) => runner.resize(columns, rows),
    onEnd: leave,
  })
  context.onCrash(() => display.close())
  signal.addEventListener('abort', leave, { once: true })
  const print = (lines: readonly string[]) => display.print(lines)
  const stray = createStrayOutput(print)
  let opened: Promise<TerminalSession> | null = null
  const session = () => (opened ??= openShell())

  /** The person's shell starts with the REPL, so that it is there when it is needed. */
  async function openShell(): Promise<TerminalSession> {
    const found = await executor.sessions.open({
      ...sessionRequest(state),
      command: ':',
      cwd: context.cwd,
    })
    found.resize({ columns: display.columns, rows: display.rows })
    found.listen({
      onOutput: (bytes, phase) => stray.take(bytes, phase),
      onNotice: (text) => print([style.yellow(text)]),
    })
    return found
  }

  const approvals = openApprovals(join(context.stateDir, 'approvals.json'))
  const approve = createApprove({ display, approvals, style, home })
  const settings = context.agentSettings
  const talk = createTalk({ executor, settings, display, style, state, approve })
  const runner = createCommandRunner({
    executor,
    display,
    style,
    state,
    colored: !environment['NO_COLOR'],
    session,
    approve,
    beforePrint: () => stray.flush(),
    onFinished: (result) => talk.addCommand(result),
  })
  let starting: NodeJS.Immediate | undefined
  const ticking = setInterval(() => jobs().length > 0 && display.refresh(), jobTickMs).unref()
  try {
    const slash: SlashContext = {
      executor,
      state,
      display,
      style,
      history: openHistory(join(context.stateDir, 'history')),
      approvals,
      runner,
      talk,
      session,
      environment,
      print,
      runLine: (command, injected) => runLine(command, injected, slash),
    }
    print([`${style.salmon('nacre')} ${context.version} · /help tells what can be typed`])
    // The first prompt comes first.
    starting = setImmediate(() => {
      session().catch((error: unknown) => {
        if (!(error instanceof MisuseError)) throw error
        print([style.red(error.message)])
      })
    })
    await Promise.race([left, converse(slash)])
    return 0
  } finally {
    signal.removeEventListener('abort', leave)
    clearInterval(ticking)
    clearImmediate(starting)
    stray.flush()
    display.close()
    dismissGuard()
  }
}

/** One line after the other, until it is enough. */
async function converse(context: SlashContext): Promise<void> {
  const { state, display, style } = context
  let settle: (event: PromptEvent) => void = () => undefined
  const prompt = createPrompt({
    style,
    isBash: () => state.bash,
    rows: () => display.rows,
    refresh: () => display.refresh(),
    history: () => recallAll(context),
    isUnfinished: (text) => goesOn(text, state),
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

function goesOn(text: string, { bash, shell }: ReplState): boolean {
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
    if (!(error instanceof MisuseError)) throw error
    context.print([context.style.red(error.message)])
  }
}

async function answerLine(text: string, context: SlashContext): Promise<void> {
  const { state, style } = context
  const line = text.trim()
  if (line === '') return
  const slash = /^\/([a-z][\w-]*)(?:\s+([\s\S]*))?$/i.exec(line)
  const [, name = '', rest = ''] = slash ?? []
  const isKnown = slashCommands.some((known) => known.name === name.toLowerCase())
  if (slash && (isKnown || !state.bash)) {
    remember('prompt', text, context)
    context.print([`${state.bash ? style.mint('bash>') : style.salmon('>')} ${line}`])
    return runSlash(name, rest, context)
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
  await context.talk.ask(prompt.text)
}

function remember(kind: 'command' | 'prompt', text: string, context: SlashContext) {
  const { history, state, style } = context
  const added = history.add({ kind, text: text.replace(/\s+$/, ''), cwd: state.cwd })
  if (added.lost !== null) context.print([style.yellow(added.lost)])
  return added.end
}

async function runLine(text: string, injected: boolean, context: SlashContext): Promise<void> {
  const end = remember('command', text, context)
  const command = text.trim()
  // What has no command in it leaves everything as it is.
  if (command.split('\n').every((line) => /^\s*(?:#.*)?$/.test(line))) return
  const result = await context.runner.run({ command, injected })
  end(result?.exitCode ?? null)
}

async function runSlash(name: string, rest: string, context: SlashContext): Promise<void> {
  const command = slashCommands.find((known) => known.name === name.toLowerCase())
  if (command) return command.run(rest, context)
  context.print([`No such command: /${name}; /help lists them.`])
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

/** With jobs that would end, a person is asked. */
async function mayQuit({ runner, display, style, print }: SlashContext): Promise<boolean> {
  const running = runner.jobs().filter(({ result }) => result === null)
  if (running.length === 0) return true
  const names = running.map(({ number, command }) => `  %${number} ${command.split('\n')[0] ?? ''}`)
  const text = [style.yellow('These jobs end with nacre:'), ...names, 'Leave all the same?']
  const yes = { word: 'yes', label: '', value: true }
  const no = { word: 'no', label: '', value: false }
  const { value, word } = await new Promise<typeof yes>((resolve) => {
    const close = display.open(
      createQuestion({
        text,
        answers: [yes, no],
        otherwise: no,
        style,
        lastKeyMs: display.lastKeyMs,
        onOther: (data) => display.keepKey(data),
        onDone(answer) {
          close()
          resolve(answer)
        },
      }),
    )
  })
  print([...text, style.dim(`? ${word}`)])
  return value
}

async function search(prompt: Prompt, context: SlashContext): Promise<void> {
  const choices = recallAll(context).map((text) => ({ value: text, label: text }))
  const picked = await pick('history:', choices, 'ctrl+r', context)
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
  const picked = await pick('palette:', choices, 'ctrl+p', context)
  if (picked === null) return
  if (picked.startsWith(' ')) prompt.setText(picked.slice(1))
  else await answerLine(picked, context)
}

function pick(
  title: string,
  choices: readonly Choice[],
  nextKey: 'ctrl+r' | 'ctrl+p',
  { display, style }: SlashContext,
): Promise<string | null> {
  return new Promise((resolve) => {
    const close = display.open(
      createPicker({
        title,
        choices,
        style,
        nextKey,
        onDone(value) {
          close()
          resolve(value)
        },
      }),
    )
  })
}

/** The line in the person's editor, which runs in the person's shell. */
async function editLine(prompt: Prompt, context: SlashContext): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'nacre-line-'))
  const file = join(folder, 'line.sh')
  try {
    writeFileSync(file, `${prompt.text()}\n`, { mode: 0o600 })
    const editor = context.environment['VISUAL'] ?? context.environment['EDITOR'] ?? 'vi'
    await context.runner.run({ command: `${editor} ${quoteWord(file)}`, injected: false })
    prompt.setText(readFileSync(file, 'utf8').replace(/\n+$/, ''))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
