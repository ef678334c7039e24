import { basename, join } from 'node:path'
import { formatDuration } from '../render/messages.ts'
import { nowMs } from '../system/clock.ts'
import { readGitBranch } from '../system/look.ts'
import { createDeferred, whenAborted } from '../protocol/deferred.ts'
import { MisuseError } from '../protocol/errors.ts'
import type { TerminalSession } from '../protocol/ports.ts'
import type { Result } from '../protocol/result/result.ts'
import { openApprovals } from '../doors/approvals.ts'
import { createApprove } from './approvals.ts'
import type { LineContext, ReplContext } from './context.ts'
import { converse, createPlainReader, createScreenReader, runLine } from './converse.ts'
import { openHistory } from './line/history.ts'
import { createPlainDisplay } from './plain.ts'
import {
  type CommandRunner,
  createCommandRunner,
  type NumberedJob,
  type ReplState,
  sessionRequest,
} from './run-command.ts'
import { createDisplay } from './screen/display.ts'
import { createStrayOutput } from './screen/block.ts'
import { createStyle, fit, shortenHome, type Style } from './screen/text.ts'
import { createTalk } from './talk.ts'

/** So many finished runs stay at hand for the viewer. */
const keptRuns = 100
/** How long the status bar may be wrong about a job's time. */
const jobTickMs = 1000

/** The interactive front door. Gives the exit status when the person leaves or a signal ends nacre. */
export async function repl(context: ReplContext): Promise<number> {
  const { executor, streams, signal, environment } = context
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
  const isDumb = environment['TERM'] === 'dumb'
  let opened: Promise<TerminalSession> | null = null
  const plain = isDumb ? createPlainDisplay(streams, leave) : null
  const style = createStyle(isDumb ? { NO_COLOR: '1', TERM: 'dumb' } : environment)
  const home = environment['HOME']
  const jobs = (): readonly NumberedJob[] => runner.runningJobs()
  const display =
    plain ??
    createDisplay({
      streams,
      statusBar: createStatusBar(state, style, home, jobs),
      onResize: () => void opened?.then(fitSession, () => undefined),
      onEnd: leave,
    })
  context.onCrash(() => display.close())
  const print = (lines: readonly string[]) => display.print(lines)
  const warn = (text: string) => print([style.yellow(text)])
  const stray = createStrayOutput((lines) => display.printWhole(lines))
  const session = () => (opened ??= openShell())

  const fitSession = (shell: TerminalSession) =>
    shell.resize({ columns: display.columns, rows: display.rows })

  /** The person's shell starts with the REPL, so that it is there when it is needed. */
  async function openShell(): Promise<TerminalSession> {
    const found = await executor.sessions.open({
      ...sessionRequest(state),
      command: ':',
      cwd: context.cwd,
    })
    fitSession(found)
    found.listen({
      onOutput: (bytes, phase) => stray.take(bytes, phase),
      onNotice: warn,
    })
    return found
  }

  const approvals = openApprovals(context.stateDir, (problem) =>
    display.print([style.yellow(problem)]),
  )
  const approve = createApprove({ display, approvals, style })
  const settings = context.agentSettings
  const keep = (result: Result, injected = false) => {
    state.runs.push({ result, injected })
    if (state.runs.length > keptRuns) state.runs.shift()
  }
  const talk = createTalk({ executor, settings, display, style, state, approve, onEnded: keep })
  const runner: CommandRunner = createCommandRunner(display, {
    executor,
    style,
    state,
    session,
    approve,
    beforePrint: () => stray.flush(),
    onEnded(result, injected) {
      keep(result, injected)
      if (injected) talk.addCommand(result)
    },
  })
  let starting: NodeJS.Immediate | undefined
  print([`${style.salmon('nacre')} ${context.version} · /help tells what to type`])
  const ticking = setInterval(() => jobs().length > 0 && display.refresh(), jobTickMs).unref()
  try {
    const lineContext: LineContext = {
      executor,
      state,
      display,
      style,
      history: openHistory(join(context.stateDir, 'history'), warn),
      approvals,
      runner,
      talk,
      session,
      environment,
      print,
      runLine: (command, injected) => runLine(command, injected, lineContext),
    }
    const openFirst = async () => {
      try {
        await session()
      } catch (error) {
        if (!(error instanceof MisuseError)) throw error
        print([style.red(error.message)])
      }
    }
    // The first prompt comes first; on a terminal that only prints, a greeting would stand behind it.
    if (display.isPlain) await Promise.race([left, whenAborted(signal), openFirst()])
    else starting = setImmediate(() => void openFirst())
    stray.flush()
    const reader = plain ? createPlainReader(plain, lineContext) : createScreenReader(lineContext)
    await Promise.race([left, whenAborted(signal), converse(reader, lineContext)])
    return 0
  } finally {
    clearInterval(ticking)
    clearImmediate(starting)
    stray.flush()
    display.close()
  }
}

/** So many jobs are named; of more only their count is told. */
const namedJobs = 3

/** One line: mode, directory, branch, model, sandbox and jobs. */
function createStatusBar(
  state: ReplState,
  style: Style,
  home: string | undefined,
  jobs: () => readonly NumberedJob[],
) {
  return (columns: number): string => {
    const branch = readGitBranch(state.cwd)
    const mode = state.bash ? `${style.mint('[BASH]')} ` : ''
    const place = branch === null ? '' : ` (${branch})`
    const sandbox = state.sandbox ?? state.configuredSandbox
    const parts = [
      `${mode}${style.bold(shortenHome(state.cwd, home))}${place}`,
      state.model ?? '',
      sandbox === 'off' ? '' : `sandbox ${sandbox}`,
      nameJobs(jobs()),
    ]
    // It is kept short: a terminal that gets narrower wraps a long one, and some lose the cursor above it.
    return fit(parts.filter((part) => part !== '').join(' · '), columns - 1)
  }
}

function nameJobs(running: readonly NumberedJob[]): string {
  if (running.length > namedJobs) return `${running.length} jobs`
  return running
    .map(({ number, shown }) => {
      const seconds = Math.floor((nowMs() - shown.startedMs) / 1000)
      return `%${number} ${formatDuration(Math.max(1, seconds) * 1000)}`
    })
    .join(' ')
}
