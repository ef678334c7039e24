import type { Executor, Run, RunOptions } from '../../executor/executor.ts'
import { formatDuration } from '../../render/messages.ts'
import type { RequestInput } from '../../protocol/request/request.ts'
import type { Result } from '../../protocol/result/result.ts'
import type { TerminalSession } from '../../protocol/sessions.ts'
import { nowMs } from '../../system/clock.ts'
import { renderBlock, renderEnd } from './screen/block.ts'
import type { Display } from './screen/display.ts'
import { createEmulator, type Emulator } from './screen/emulator.ts'
import { createForeground } from './foreground.ts'
import { createOverlay } from './screen/overlay.ts'
import { keptRuns, type ReplState } from './state.ts'
import type { Style } from './screen/style.ts'

export interface CommandRunnerParts {
  executor: Executor
  display: Display
  style: Style
  state: ReplState
  colored: boolean
  session: () => Promise<TerminalSession>
  approve: NonNullable<RunOptions['approve']>
  /** Hears of a result that goes before the next message to a model. */
  onFinished: (result: Result) => void
}

/** How a line wants to be run. */
export interface Wanted {
  command: string
  /** Keep it for the next message to a model. */
  injected: boolean
}

/** A command that goes on though nobody waits for it, by the number that a person calls it by. */
export interface NumberedJob {
  number: number
  run: Run
  command: string
  startedMs: number
  /** Set when it has ended. */
  result: Result | null
}

export interface CommandRunner {
  /** Settles when the command has ended (with its result) or goes on in the background (null). */
  run(wanted: Wanted): Promise<Result | null>
  /** Shows a job on its terminal again. */
  attach(job: NumberedJob): Promise<void>
  jobs(): readonly NumberedJob[]
  /** The terminal has another size. */
  resize(columns: number, rows: number): void
}

const tickMs = 50
/** A command that took longer and ended unseen is told of. */
const noticedMs = 10_000
/** After it has read a key, for how long a program counts as one that reads them. */
const listeningMs = 1000
/** Rows around the output of an ended command: headline, what is missing, end, prompt, status bar. */
const otherRows = 6
/** Programs that run others as another user, whose waiting nobody can see. */
const hidden = /^\s*(?:sudo|doas|su|pkexec|machinectl)\b/

const sessionName = 'repl'

/** What every command of a person's shell has in common. */
export function sessionRequest(state: ReplState): Omit<RequestInput, 'command'> {
  return {
    origin: 'repl',
    session: sessionName,
    pty: true,
    ...(state.sandbox === null ? {} : { sandbox: state.sandbox }),
  }
}

/** A command on its terminal, whether or not somebody looks at it. */
interface Shown {
  run: Run | null
  emulator: Emulator
  wanted: Wanted
  startedMs: number
  listenedMs: number
  /** Set while it waits for keys; sure when that is not the shell after its end. */
  waiting: { isSure: boolean } | null
  /** Draws it, where it is looked at. */
  drawn: () => void
}

export function createCommandRunner(parts: CommandRunnerParts): CommandRunner {
  const { executor, display, style, state } = parts
  const jobs: NumberedJob[] = []
  const shownJobs = new Map<NumberedJob, Shown>()
  let current: Shown | null = null

  function headline(command: string): string[] {
    const [first = '', ...rest] = command.split('\n')
    return [
      `${style.bold('!')} ${style.bold(first)}`,
      ...rest.map((line) => `  ${style.bold(line)}`),
    ]
  }

  function open(wanted: Wanted): Shown {
    const shown: Shown = {
      run: null,
      wanted,
      startedMs: nowMs(),
      listenedMs: hidden.test(wanted.command) ? Infinity : -Infinity,
      waiting: null,
      drawn: () => undefined,
      emulator: createEmulator({
        columns: display.columns,
        rows: display.rows,
        colored: parts.colored,
        onAnswer: (data) => type(shown, data),
        onModes: (text) => shown === current && lent && display.terminal.write(text),
        onDrawn: () => shown.drawn(),
      }),
    }
    return shown
  }

  let lent = false

  function type({ run }: Shown, data: string): void {
    // What a program that has just ended is sent, nobody reads.
    run?.write(data).catch(() => undefined)
  }

  /** Whether its program reads keys, which only Linux can tell. */
  function isListening(shown: Shown): boolean {
    if (process.platform !== 'linux' || shown.emulator.isFullScreen) return true
    const waits = shown.run?.look().waitingForInput ?? null
    if (waits === null) shown.waiting = null
    else if (shown.waiting?.isSure || waits === 'password') {
      // No shell waits at its prompt with a hidden echo.
      shown.listenedMs = Math.max(shown.listenedMs, nowMs())
    } else if (shown.waiting === null) {
      const waiting = { isSure: false }
      shown.waiting = waiting
      // In a turn of the event loop the end of the command is heard, if it was its shell that waits.
      setImmediate(() => setImmediate(() => (waiting.isSure = true)))
    }
    return nowMs() - shown.listenedMs < listeningMs
  }

  /** Shows it until it ends, or until it is left to itself. */
  async function show(
    shown: Shown,
    started: Promise<Run>,
    stop: () => void,
  ): Promise<Result | null> {
    let leave = () => {}
    const left = new Promise<null>((resolve) => {
      leave = () => resolve(null)
    })
    const foreground = createForeground({
      style,
      emulator: shown.emulator,
      startedMs: shown.startedMs,
      hasBegun: () => shown.run !== null && shown.run.pid !== null,
      isListening: () => isListening(shown),
      asksSecret: () => shown.run?.look().waitingForInput === 'password',
      onInput: (data) => type(shown, data),
      onInterrupt: () => (shown.run?.pid == null ? stop() : type(shown, '\u0003')),
      onKill: () => (shown.run === null ? stop() : void shown.run.stop('kill')),
      onBackground: () => shown.run !== null && shown.run.pid !== null && leave(),
      onAhead: (data) => display.keepKey(data),
    })
    const overlay = createOverlay({
      emulator: shown.emulator,
      onInput: (data) => type(shown, data),
      onResize: () => undefined,
      onLeave: () => leave(),
    })
    let takeBack = null as (() => void) | null
    const draw = () => {
      if (shown.emulator.isFullScreen && !takeBack) {
        takeBack = display.lend(overlay)
        lent = true
      } else if (!shown.emulator.isFullScreen && takeBack) {
        lent = false
        takeBack()
        takeBack = null
        display.terminal.setKittyKeys(false)
      } else display.refresh()
    }
    current = shown
    display.terminal.setKittyKeys(false)
    const close = display.open(foreground)
    shown.drawn = draw
    draw()
    const ticking = setInterval(() => {
      foreground.tick()
      display.refresh()
    }, tickMs).unref()
    try {
      shown.run ??= await started
      const ended = shown.run.ended.then(async (result) => {
        await shown.emulator.settle()
        return result
      })
      return await Promise.race([ended, left])
    } finally {
      clearInterval(ticking)
      shown.drawn = () => undefined
      current = null
      lent = false
      takeBack?.()
      foreground.close()
      close()
      display.terminal.setKittyKeys(true)
    }
  }

  async function finish(shown: Shown, result: Result): Promise<void> {
    keep(result, shown.wanted)
    await followShell()
    const rows = Math.max(3, display.rows - otherRows)
    display.print(renderBlock(result, style, shown.emulator.tail(rows)))
    shown.emulator.close()
    notify(shown.wanted.command, result)
  }

  function keep(result: Result, { injected }: Wanted): void {
    state.runs.push({ result, injected })
    if (injected) parts.onFinished(result)
    if (state.runs.length > keptRuns) state.runs.shift()
  }

  async function followShell(): Promise<void> {
    state.cwd = (await parts.session()).info().cwd
  }

  /** Rings where nobody has looked for as long as the command took. */
  function notify(command: string, result: Result): void {
    if (result.durationMs < noticedMs || result.status === 'stopped') return
    if (display.hasFocus && nowMs() - display.lastKeyMs < noticedMs) return
    const told = `${command.split('\n')[0] ?? ''}: ${renderEnd(result, plainStyle)}`
    display.terminal.write(
      `\u0007\u001B]9;${told.replaceAll(/[\u0000-\u001F]/g, ' ').slice(0, 200)}\u0007`,
    )
  }

  function leaveRunning(shown: Shown, run: Run): void {
    run.detach()
    let number = 1
    while (jobs.some((job) => job.number === number && job.result === null)) number++
    const job: NumberedJob = {
      number: Math.max(number, jobs.length + 1),
      run,
      command: shown.wanted.command,
      startedMs: shown.startedMs,
      result: null,
    }
    jobs.push(job)
    shownJobs.set(job, shown)
    const id = `%${job.number}`
    display.print([
      ...shown.emulator.tail(Math.max(1, Math.floor(display.rows / 4))).lines,
      style.yellow(`[${id}] goes on in the background`) +
        style.dim(` · /view -f ${id} follows · /attach ${id} shows it · /kill ${id} stops it`),
    ])
    void run.ended.then((result) => endJob(job, shown, result))
  }

  /** What ends while somebody does something else is told between two lines. */
  async function endJob(job: NumberedJob, shown: Shown, result: Result): Promise<void> {
    await shown.emulator.settle()
    job.result = result
    if (current === shown) return
    shownJobs.delete(job)
    shown.emulator.close()
    keep(result, shown.wanted)
    const [command = ''] = job.command.split('\n')
    display.print([`${style.dim(`[%${job.number}]`)} ${command}  ${renderEnd(result, style)}`])
    notify(job.command, result)
  }

  return {
    jobs: () => jobs,
    async run(wanted) {
      display.print(headline(wanted.command))
      const stop = new AbortController()
      const shown = open(wanted)
      const started = executor.start(
        { ...sessionRequest(state), command: wanted.command },
        {
          signal: stop.signal,
          approve: parts.approve,
          onEvent(event) {
            if (event.type === 'output') shown.emulator.write(event.bytes)
          },
        },
      )
      const result = await show(shown, started, () => stop.abort())
      const { run } = shown
      if (result) await finish(shown, result)
      else if (run) leaveRunning(shown, run)
      return result
    },
    async attach(job) {
      const shown = shownJobs.get(job)
      if (!shown) return
      display.print(headline(job.command))
      job.run.resize(display.columns, display.rows)
      shown.emulator.resize(display.columns, display.rows)
      const result = await show(shown, Promise.resolve(job.run), () => undefined)
      if (!result) {
        display.print([
          style.yellow(`[%${job.number}] goes on after ${formatDuration(nowMs() - job.startedMs)}`),
        ])
        return
      }
      shownJobs.delete(job)
      await finish(shown, result)
    },
    resize(columns, rows) {
      void parts.session().then(
        (session) => session.resize({ columns, rows }),
        () => undefined,
      )
      if (!current) return
      current.run?.resize(columns, rows)
      current.emulator.resize(columns, rows)
    },
  }
}

const same = (text: string) => text
const plainStyle: Style = {
  salmon: same,
  mint: same,
  green: same,
  red: same,
  yellow: same,
  dim: same,
  bold: same,
  inverse: same,
  cyan: same,
}
