import { stripVTControlCharacters } from 'node:util'
import type { Approve, Executor, Run } from '../executor/executor.ts'
import { formatDuration } from '../render/messages.ts'
import type { RequestInput, SandboxMode } from '../protocol/request/request.ts'
import type { Result } from '../protocol/result/result.ts'
import type { TerminalSession } from '../protocol/ports.ts'
import { nowMs } from '../system/clock.ts'
import { describeFaults, joinWrapped, printBlock, renderEnd } from './screen/block.ts'
import type { Display } from './screen/display.ts'
import type { ShownCommand, Wanted } from './shown-command.ts'
import type { Style } from './screen/text.ts'

/** What lasts from one line to the next. */
export interface ReplState {
  /** Where the person's shell stands. */
  cwd: string
  bash: boolean
  model: string | null
  /** The sandbox that the person has chosen; null: as it is configured. */
  sandbox: SandboxMode | null
  readonly configuredSandbox: SandboxMode
  /** The name of the person's shell: `zsh`. */
  readonly shell: string
  /** The runs that have ended, the newest one last; `injected`: it goes before the next message to a model. */
  runs: { result: Result; injected: boolean }[]
  quit: boolean
}

export interface RunnerParts {
  executor: Executor
  style: Style
  state: ReplState
  session: () => Promise<TerminalSession>
  approve: Approve
  /** What came before is to be printed before what is printed now. */
  beforePrint: () => void
  /** Keeps a result for the viewer, and `injected` for the next message to a model. */
  onEnded: (result: Result, injected: boolean) => void
}

/** A command that goes on though nobody waits for it, by the number that a person calls it by. */
export interface NumberedJob {
  number: number
  run: Run
  shown: ShownCommand
  /** Set when it has ended. */
  result: Result | null
}

export interface CommandRunner {
  /** Settles when the command has ended (with its result) or goes on in the background (null). */
  run(wanted: Wanted): Promise<Result | null>
  /** Shows a job on its terminal again. */
  attach(job: NumberedJob): Promise<void>
  jobs(): readonly NumberedJob[]
  /** Those of them that go on. */
  runningJobs(): readonly NumberedJob[]
}

/** A command that took longer and ended unseen is told of. */
const noticedMs = 10_000
/** Rows around the output of an ended command: headline, what is missing, end, prompt, status bar. */
const otherRows = 6
const sessionName = 'repl'
/** The terminal behind a command, which the first prompt does without. */
const loadShownCommand = () => import('./shown-command.ts')

/** What every command of a person's shell has in common. */
export function sessionRequest(state: Pick<ReplState, 'sandbox'>): Omit<RequestInput, 'command'> {
  return {
    origin: 'repl',
    session: sessionName,
    pty: true,
    ...(state.sandbox === null ? {} : { sandbox: state.sandbox }),
  }
}

export function createCommandRunner(display: Display, parts: RunnerParts): CommandRunner {
  const { executor, style, state } = parts
  // It is there when the first command is typed.
  setImmediate(() => void loadShownCommand())
  const jobs: NumberedJob[] = []

  /** A terminal that only prints has the line above as it was typed. */
  function printHeadline(command: string): void {
    if (display.isPlain) return
    const lines = command.split('\n').map(style.bold)
    display.printWhole(lines.map((line, row) => `${row === 0 ? style.bold('!') : ' '} ${line}`))
  }

  /** `asked`: the person has been told why it did not run. */
  async function finish(shown: ShownCommand, result: Result, asked = false): Promise<void> {
    if (shown.wanted.shownAs === undefined) parts.onEnded(result, shown.wanted.injected)
    state.cwd = (await parts.session()).info().cwd
    parts.beforePrint()
    const tail = shown.emulator.tail(Math.max(3, display.rows - otherRows))
    // Whoever empties the screen wants to see nothing on it.
    const wantsNothing = shown.emulator.wasCleared && tail.lines.length === 0
    if (!wantsNothing || result.exitCode !== 0) {
      printBlock(display, result, style, { tail, asked })
    }
    shown.emulator.close()
    notify(shown.wanted.command, result)
  }

  /** Rings where nobody has looked for as long as the command took. */
  function notify(command: string, result: Result): void {
    if (result.durationMs < noticedMs || result.status === 'stopped') return
    if (nowMs() - display.lastKeyMs < noticedMs) return
    const end = stripVTControlCharacters(renderEnd(result, style))
    display.ring(`${command.split('\n')[0] ?? ''}: ${end}`)
  }

  function leaveRunning(shown: ShownCommand, run: Run): void {
    run.detach()
    const job: NumberedJob = { number: jobs.length + 1, run, shown, result: null }
    jobs.push(job)
    const id = `%${job.number}`
    display.printWhole(joinWrapped(shown.emulator.tail(Math.max(1, Math.floor(display.rows / 4)))))
    display.print([
      style.yellow(`[${id}] goes on in the background`) +
        style.dim(` · /view -f ${id} follows · /attach ${id} shows it · /kill ${id} stops it`),
    ])
    void run.ended.then((result) => endJob(job, result))
  }

  /** What ends while somebody does something else is told between two lines. */
  async function endJob(job: NumberedJob, result: Result): Promise<void> {
    const { number, shown } = job
    await shown.emulator.settle()
    job.result = result
    if (shown.isShown) return
    shown.emulator.close()
    parts.onEnded(result, shown.wanted.injected)
    const [command = ''] = shown.wanted.command.split('\n')
    display.print([
      `${style.dim(`[%${number}]`)} ${command}  ${renderEnd(result, style)}`,
      ...describeFaults(result, false).map(style.yellow),
    ])
    notify(shown.wanted.command, result)
  }

  return {
    jobs: () => jobs,
    runningJobs: () => jobs.filter(({ result }) => result === null),
    async run(wanted) {
      parts.beforePrint()
      printHeadline(wanted.shownAs ?? wanted.command.trimStart())
      let asked = false
      const stop = new AbortController()
      const { createShownCommand } = await loadShownCommand()
      const shown = createShownCommand(wanted, { display, style })
      const started = executor.start(
        { ...sessionRequest(state), command: wanted.command },
        {
          signal: stop.signal,
          approve(request, verdict, signal) {
            asked = true
            return parts.approve(request, verdict, signal)
          },
          onEvent(event) {
            return event.type === 'output' ? shown.emulator.write(event.bytes) : undefined
          },
        },
      )
      const result = await shown.show(started, () => stop.abort())
      const { run } = shown
      if (result) await finish(shown, result, asked)
      else if (run) leaveRunning(shown, run)
      return result
    },
    async attach({ number, run, shown }) {
      printHeadline(shown.wanted.command)
      const result = await shown.show(Promise.resolve(run), () => undefined)
      if (result) return finish(shown, result)
      const time = formatDuration(nowMs() - shown.startedMs)
      display.print([style.yellow(`[%${number}] goes on after ${time}`)])
    },
  }
}
