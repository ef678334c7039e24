import { basename, join } from 'node:path'
import { createDeferred, whenAborted } from '../protocol/deferred.ts'
import { MisuseError } from '../protocol/errors.ts'
import type { TerminalSession } from '../protocol/ports.ts'
import { runLine } from './answer-line.ts'
import { openApprovals } from './approval/approvals.ts'
import { createApprove } from './approval/ask-approval.ts'
import type { ReplContext } from './context.ts'
import { converse } from './converse.ts'
import { openHistory } from './line/history.ts'
import { createCommandRunner, sessionRequest } from './run-command.ts'
import { createDisplay } from './screen/display.ts'
import { guardTerminal } from './screen/terminal.ts'
import { createStrayOutput } from './screen/stray-output.ts'
import { createStyle } from './screen/text.ts'
import type { SlashContext } from './slash/slash-command.ts'
import type { ReplState } from './state.ts'
import { createStatusBar } from './status-bar.ts'
import { createTalk } from './talk/talk.ts'

/** How long the status bar may be wrong about a job's time. */
const jobTickMs = 1000

/** The interactive front door. Gives the exit status when the person leaves or a signal ends nacre. */
export async function repl(context: ReplContext): Promise<number> {
  const { executor, streams, signal, environment } = context
  if (environment['TERM'] === 'dumb') {
    const { plainRepl } = await import('./plain/plain.ts')
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
  const { promise: left, resolve: leave } = createDeferred()
  const style = createStyle(environment)
  const home = environment['HOME']
  const jobs = () => runner.runningJobs()
  const dismissGuard = guardTerminal()
  const display = createDisplay({
    streams,
    statusBar: createStatusBar({ state, style, home, jobs }),
    onResize: (columns, rows) => runner.resize(columns, rows),
    onEnd: leave,
  })
  context.onCrash(() => display.close())
  const print = (lines: readonly string[]) => display.print(lines)
  const stray = createStrayOutput((lines) => display.printWhole(lines))
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
    const { damage } = slash.history
    print([`${style.salmon('nacre')} ${context.version} · /help tells what to type`])
    if (damage !== null) print([style.yellow(damage)])
    // The first prompt comes first.
    starting = setImmediate(() => {
      session().catch((error: unknown) => {
        if (!(error instanceof MisuseError)) throw error
        print([style.red(error.message)])
      })
    })
    await Promise.race([left, whenAborted(signal), converse(slash)])
    return 0
  } finally {
    clearInterval(ticking)
    clearImmediate(starting)
    stray.flush()
    display.close()
    dismissGuard()
  }
}
