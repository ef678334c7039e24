import { join } from 'node:path'
import { MisuseError } from '../../protocol/errors.ts'
import { parsePrompt } from '../../protocol/prompt.ts'
import { openApprovals } from './approvals.ts'
import { createApprove } from './ask-approval.ts'
import { createCompletion } from './completion.ts'
import type { ReplContext } from './context.ts'
import { createDisplay } from './display.ts'
import { openHistory } from './history.ts'
import { createPicker, type Choice } from './picker.ts'
import { createPrompt, type Prompt, type PromptEvent } from './prompt.ts'
import { createCommandRunner, sessionName } from './run-command.ts'
import type { SlashContext } from './slash-command.ts'
import { slashCommands } from './slash-commands.ts'
import type { ReplState } from './state.ts'
import { createStatusBar } from './status-bar.ts'
import { createStyle } from './style.ts'
import { createTalk } from './talk.ts'
import { wantsTerminal } from './terminal-programs.ts'

/** The interactive front door. Gives the exit status when the person leaves or a signal ends nacre. */
export async function repl(context: ReplContext): Promise<number> {
  const { executor, streams, signal, environment } = context
  if (environment['TERM'] === 'dumb') {
    const { plainRepl } = await import('./plain.ts')
    return plainRepl(context)
  }
  const state: ReplState = {
    cwd: context.cwd,
    previousCwd: null,
    bash: false,
    model: context.agentSettings.model,
    sandbox: null,
    configuredSandbox: context.sandbox,
    runs: [],
    quit: false,
  }
  let leave = () => {}
  const left = new Promise<void>((resolve) => {
    leave = resolve
  })
  const style = createStyle(environment)
  const display = createDisplay({
    streams,
    statusBar: createStatusBar({
      state,
      style,
      home: environment['HOME'],
      countJobs: () => executor.jobs.runningCount,
    }),
    onEnd: leave,
  })
  context.onCrash(() => display.close())
  signal.addEventListener('abort', leave, { once: true })
  try {
    const history = openHistory(join(context.stateDir, 'history'))
    const approvals = openApprovals(join(context.stateDir, 'approvals.json'))
    const approve = createApprove({ display, approvals, style })
    const settings = context.agentSettings
    const talk = createTalk({ executor, settings, display, style, state, approve })
    const runner = createCommandRunner({
      executor,
      display,
      style,
      state,
      colored: !environment['NO_COLOR'],
      approve,
      onFinished: (result) => talk.addCommand(result),
    })
    const print = (lines: readonly string[]) => display.print(lines)
    const slash = {
      executor,
      state,
      display,
      style,
      history,
      approvals,
      runner,
      talk,
      environment,
      print,
    }
    display.print([`${style.salmon('nacre')} ${context.version} · /help tells what can be typed`])
    await Promise.race([left, converse(slash)])
    return 0
  } finally {
    signal.removeEventListener('abort', leave)
    display.close()
  }
}

/** One line after the other, until it is enough. */
async function converse(context: SlashContext): Promise<void> {
  const { state, display, style, history, environment } = context
  let settle: (event: PromptEvent) => void = () => undefined
  const prompt = createPrompt({
    style,
    isBash: () => state.bash,
    rows: () => display.rows,
    refresh: () => display.refresh(),
    history: history.list().slice(-100),
    completion: createCompletion({
      slashCommands,
      isBash: () => state.bash,
      cwd: () => state.cwd,
      environment,
      listModels: () => context.talk.listModels(),
    }),
    onEvent: (event) => settle(event),
  })
  while (!state.quit) {
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
  }
}

async function answer(event: PromptEvent, prompt: Prompt, context: SlashContext): Promise<void> {
  switch (event.type) {
    case 'line':
      return answerLine(event.text, context)
    case 'leave':
      return answerLeave(event.key, context)
    case 'search':
      return search(prompt, context)
    case 'palette':
      return choose(prompt, context)
    case 'view':
      return runSlash('view', '', context)
    case 'clear':
      return context.display.clear()
  }
}

async function answerLine(text: string, context: SlashContext): Promise<void> {
  const { state, style, history, display } = context
  const line = text.trim()
  if (line === '') return
  const lost = history.add(text)
  if (lost !== null) display.print([style.yellow(lost)])
  if (state.bash && (line === 'exit' || line === 'quit')) return leaveBash(context)
  if (!state.bash && line === '!') return void (state.bash = true)
  if (!state.bash && line === 'v') return runSlash('view', '', context)
  try {
    await answerPrompt(line, context)
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    display.print([style.red(error.message)])
  }
}

async function answerPrompt(line: string, context: SlashContext): Promise<void> {
  const { state, style, display, runner } = context
  // In bash mode the text after an explicit `!` runs too.
  const prompt = state.bash && !line.startsWith('!') ? commandOf(line) : parsePrompt(line)
  switch (prompt.kind) {
    case 'command': {
      const forced = prompt.command.startsWith('&')
      const command = forced ? prompt.command.slice(1).trim() : prompt.command
      const terminal = forced || wantsTerminal(command)
      return runner.run({
        command,
        injected: prompt.injected,
        terminal,
        session: state.bash && !terminal,
      })
    }
    case 'slash':
      display.print([`${style.salmon('>')} ${line}`])
      return runSlash(prompt.name, prompt.rest, context)
    case 'message':
      display.print([
        ...line.split('\n').map((part, row) => `${row === 0 ? style.salmon('>') : ' '} ${part}`),
      ])
      return context.talk.ask(line)
  }
}

function commandOf(command: string) {
  return { kind: 'command', command, injected: true } as const
}

async function runSlash(name: string, rest: string, context: SlashContext): Promise<void> {
  const command = slashCommands.find((known) => known.name === name.toLowerCase())
  if (command) return command.run(rest, context)
  context.print([`No such command: /${name}; /help lists them.`])
}

function answerLeave(key: string, context: SlashContext): void {
  if (context.state.bash) leaveBash(context)
  else if (key === 'ctrl+d') context.state.quit = true
  else if (key === 'ctrl+c') context.print([context.style.dim('Ctrl-D or /quit leaves nacre.')])
}

/** The shell of bash mode stays as it is for the next time. */
function leaveBash({ state, executor }: SlashContext): void {
  const session = executor.sessions.list().find(({ name }) => name === sessionName)
  if (session) state.cwd = session.cwd
  state.bash = false
}

async function search(prompt: Prompt, context: SlashContext): Promise<void> {
  const entries = context.history.list().reverse()
  const choices = entries.map((text) => ({ value: text, label: text }))
  const picked = await pick('history:', choices, 'ctrl+r', context)
  if (picked !== null) prompt.setText(picked)
}

async function choose(prompt: Prompt, context: SlashContext): Promise<void> {
  const recent = context.history.list().reverse().slice(0, 50)
  const choices: Choice[] = [
    ...slashCommands.map(({ name, description }) => {
      return { value: `/${name}`, label: `/${name}`, hint: description }
    }),
    ...recent.map((text) => ({ value: text, label: text })),
  ]
  const picked = await pick('palette:', choices, 'ctrl+p', context)
  if (picked !== null) prompt.setText(picked)
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
