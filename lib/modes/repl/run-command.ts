import type { Executor, Run, RunOptions } from '../../executor/executor.ts'
import type { RequestInput } from '../../protocol/request.ts'
import type { Result } from '../../protocol/result.ts'
import { previewLines, renderBlock, renderEnd } from './block.ts'
import type { Display } from './display.ts'
import { createProgress } from './progress.ts'
import type { TerminalRun } from './run-on-terminal.ts'
import { keptRuns, type ReplState } from './state.ts'
import type { Style } from './style.ts'

export interface CommandRunnerParts {
  executor: Executor
  display: Display
  style: Style
  state: ReplState
  colored: boolean
  approve: NonNullable<RunOptions['approve']>
  /** Hears of a result that goes before the next message to a model. */
  onFinished: (result: Result) => void
}

/** How a line wants to be run. */
export interface Wanted {
  command: string
  /** Keep it for the next message to a model. */
  injected: boolean
  terminal: boolean
  /** The shell of bash mode. */
  session: boolean
}

export interface CommandRunner {
  /** Settles when the command has ended or goes on in the background. */
  run(wanted: Wanted): Promise<void>
  /** Shows a program on a terminal again. False: there is none of that id. */
  attach(id: string): Promise<boolean>
  /** Ids of programs on a terminal that go on, newest last. */
  attachable(): string[]
}

const tickMs = 100
export const sessionName = 'repl'

export function createCommandRunner(parts: CommandRunnerParts): CommandRunner {
  const { executor, display, style, state, approve } = parts
  const terminals = new Map<string, TerminalRun>()

  function headline(command: string): string[] {
    const [first = '', ...rest] = command.split('\n')
    return [
      `${style.bold('!')} ${style.bold(first)}`,
      ...rest.map((line) => `  ${style.bold(line)}`),
    ]
  }

  function keep(result: Result, injected: boolean): void {
    state.runs.push({ result, injected })
    if (injected) parts.onFinished(result)
    if (state.runs.length > keptRuns) state.runs.shift()
    if (result.origin === 'repl') followSession()
  }

  /** The directory of bash mode is that of its shell. */
  function followSession(): void {
    const session = executor.sessions.list().find(({ name }) => name === sessionName)
    if (state.bash && session) state.cwd = session.cwd
  }

  function requestFor({ command, session }: Wanted): RequestInput {
    const where = session && hasSession() ? {} : { cwd: state.cwd }
    return {
      command,
      origin: 'repl',
      ...where,
      ...(state.sandbox === null ? {} : { sandbox: state.sandbox }),
      ...(session ? { session: sessionName } : {}),
    }
  }

  const hasSession = () => executor.sessions.list().some(({ name }) => name === sessionName)

  /** What ends while somebody does something else is told between two lines. */
  async function tellLater(running: Promise<Result>, injected: boolean): Promise<void> {
    const result = await running
    keep(result, injected)
    const [command = ''] = result.command.split('\n')
    display.print([`${style.dim(`[${result.id}]`)} ${command}  ${renderEnd(result, style)}`])
  }

  function leaveRunning({ id, ended }: Run, injected: boolean): void {
    display.print([style.yellow(`… running as ${id} · /jobs lists, /kill ${id} stops`)])
    tellLater(ended, injected).catch(crash)
  }

  async function runInline(wanted: Wanted): Promise<void> {
    const stop = new AbortController()
    let run: Run | null = null
    let changed = true
    let seen: Result | null = null
    const progress = createProgress({
      style,
      look() {
        if (run === null || !changed) return seen
        changed = false
        seen = run.look()
        return seen
      },
      onStop: () => stop.abort(),
      onBackground: () => run?.detach(),
      onOther: (data) => display.keepKey(data),
    })
    const close = display.open(progress)
    // A question that nobody answers any more does not keep the process.
    const ticking = setInterval(() => display.refresh(), tickMs).unref()
    try {
      run = await executor.start(requestFor(wanted), {
        signal: stop.signal,
        approve,
        onEvent(event) {
          if (event.type === 'output') changed = true
        },
      })
      const result = await run.result
      if (result.status === 'running') leaveRunning(run, wanted.injected)
      else finish(result, wanted)
    } finally {
      clearInterval(ticking)
      close()
    }
  }

  function finish(result: Result, { injected }: Wanted, shown?: readonly string[]): void {
    keep(result, injected)
    display.print(renderBlock(result, style, shown))
  }

  async function runInOverlay(wanted: Wanted): Promise<void> {
    const { runOnTerminal } = await import('./run-on-terminal.ts')
    const started = await runOnTerminal(
      requestFor({ ...wanted, session: false }),
      {
        start: (input, options) => executor.start(input, options),
        display,
        style,
        colored: parts.colored,
      },
      { approve },
    )
    if ('status' in started) return finish(started, wanted)
    terminals.set(started.id, started)
    await show(started, wanted)
  }

  async function show(run: TerminalRun, wanted: Wanted): Promise<void> {
    const result = await run.attach()
    if (!result) {
      display.print([style.yellow(`… running as ${run.id} · /attach shows it, /kill stops it`)])
      tellLater(run.ended, wanted.injected)
        .then(() => terminals.delete(run.id))
        .catch(crash)
      return
    }
    terminals.delete(run.id)
    finish(result, wanted, run.remains(previewLines))
  }

  return {
    async run(wanted) {
      display.print(headline(wanted.command))
      await (wanted.terminal ? runInOverlay(wanted) : runInline(wanted))
    },
    attachable: () => [...terminals.keys()],
    async attach(id) {
      const run = terminals.get(id)
      if (!run) return false
      const result = await run.attach()
      if (!result) display.print([style.yellow(`… running as ${run.id}`)])
      return true
    },
  }
}

/** A fault of nacre's own ends it, as any other does. */
function crash(error: unknown): never {
  throw error
}
