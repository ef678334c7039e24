import { setTimeout as delay } from 'node:timers/promises'
import { limits } from '../../protocol/limits.ts'
import { nowMs } from '../../system/clock.ts'
import {
  type Exit,
  type OutputSink,
  type Running,
  StartError,
  type StopReport,
} from '../../protocol/ports.ts'
import type { Request, TerminalSize } from '../../protocol/request/request.ts'
import type { StopReason } from '../../protocol/result/result.ts'
import type { SessionInfo, TerminalSessionListener } from '../../protocol/sessions.ts'
import { createRunning } from '../running.ts'
import { checkRequest, describeConfinement, refuse } from '../session/refusals.ts'
import { sessionVariable } from '../session/stop.ts'
import { markVariable, stopTree } from '../stop.ts'
import { describeProcess } from '../../system/process/process-table.ts'
import { type EditorDialect, encodeQuestion, encodeTurn } from './editor-dialect.ts'
import type { CommandEnd, EditorShell } from './editor-shell.ts'
import { listShellJobs } from './shell-jobs.ts'
import { type ShellStartParts, type StartedShell, startShell } from './start-shell.ts'
import { stopCommand } from './stop-command.ts'

/** One interactive shell on a terminal, replaced when it ends, left behind with a command that goes on. */
export interface TerminalSession {
  /** Gives a run at once, which may have to wait for the shell. */
  run(request: Request, sink: OutputSink): Running
  /** Starts the shell ahead of its first command, as this request would have it. */
  open(request: Request): void
  listen(listener: TerminalSessionListener): void
  /** What the shell would complete the line with, its last word first; null: it cannot say now. */
  complete(line: string): Promise<string[] | null>
  type(data: string): void
  resize(size: TerminalSize): void
  info(): SessionInfo
  close(): Promise<void>
}

export interface TerminalSessionOptions extends ShellStartParts {
  cwd: string
  size: TerminalSize
}

const completeTimeoutMs = 5000
/** Between two looks at what a shell that nobody waits for still runs. */
const jobsLookMs = 500

export function createTerminalSession(
  name: string,
  options: TerminalSessionOptions,
): TerminalSession {
  let listener: TerminalSessionListener = { onOutput: () => undefined, onNotice: () => undefined }
  let { size } = options
  let cwd = options.cwd
  let held: StartedShell | null = null
  let opening: Promise<StartedShell> | null = null
  /** The shell that starts, so that what its start files ask can be answered. */
  let arising: EditorShell | null = null
  let turns: Promise<unknown> = Promise.resolve()
  let waiting = 0
  let busy = false
  let closed = false
  /** What the next shell takes over. */
  let inherited: Promise<string> = Promise.resolve('')
  let hasGreeted = false
  /** Names of variables that the run before was given for itself. */
  let lent: string[] = []
  const all = new Set<StartedShell>()
  /** Files of shells that have ended, being removed. */
  const closings = new Set<Promise<void>>()
  let tellClosing = () => {}
  const closing = new Promise<void>((resolve) => {
    tellClosing = resolve
  })

  function ensureShell(request: Request): Promise<StartedShell> {
    if (opening) return opening
    if (held?.shell.alive) {
      if (held.confinement === describeConfinement(request)) return Promise.resolve(held)
      listener.onNotice(`Your shell starts anew with ${describeConfinement(request)}`)
      inherited = readState(held)
      void leave(held)
    }
    held = null
    opening = openShell(request).finally(() => (opening = null))
    return opening
  }

  /** At its prompt: one that has told the end of a command may yet end on the way there. */
  async function awaitShell(request: Request): Promise<StartedShell> {
    const found = await ensureShell(request)
    return (await found.shell.awaitPrompt()) ? found : awaitShell(request)
  }

  async function openShell(request: Request): Promise<StartedShell> {
    const state = await inherited
    inherited = Promise.resolve('')
    let found = await begin(request, { plain: false, state })
    if (!(await found.shell.awaitPrompt())) {
      const how = describeEnd(await found.shell.ended)
      found = await begin(request, { plain: true, state })
      if (!(await found.shell.awaitPrompt())) {
        const message = `The shell ended before its first prompt (${describeEnd(await found.shell.ended)})`
        throw new StartError({ code: 'session_failed', message, exitCode: 125 })
      }
      listener.onNotice(`Your start files ended the shell (${how}): this one runs without them`)
    }
    arising = null
    if (closed) {
      await leave(found)
      throw refuse('session_closed', `Session ${name} has been closed`)
    }
    held = found
    found.files.hide()
    watch(found)
    return found
  }

  async function begin(
    request: Request,
    how: { plain: boolean; state: string },
  ): Promise<StartedShell> {
    const onOutput: TerminalSessionListener['onOutput'] = (bytes, phase) =>
      listener.onOutput(bytes, phase)
    const isRepeated = hasGreeted
    hasGreeted = true
    const made = await startShell(options, request, {
      ...how,
      cwd,
      size: () => size,
      isRepeated,
      onOutput,
    })
    if (made.cwd !== cwd) listener.onNotice(`The shell's directory is gone: ${cwd}`)
    ;({ cwd } = made)
    arising = made.shell
    all.add(made)
    const gone = made.shell.ended.then(() => {
      all.delete(made)
      return made.files.close()
    })
    closings.add(gone)
    void gone.then(() => closings.delete(gone))
    return made
  }

  /** A shell that ends while nobody runs anything is told of at once, and replaced at the next need. */
  function watch(found: StartedShell): void {
    void found.shell.ended.then((exit) => {
      if (held !== found || closed) return
      held = null
      listener.onNotice(`Your shell has ended (${describeEnd(exit)}); the next line gets a new one`)
    })
  }

  function run(request: Request, sink: OutputSink): Running {
    checkRequest(request, null)
    if (closed) throw refuse('session_closed', `Session ${name} has been closed`)
    let mine: StartedShell | null = null
    let ended: Promise<CommandEnd> | null = null
    let cancelled = false
    let left = false
    let stopping: Promise<StopReport> | null = null
    let cancel = () => {}
    const whenCancelled = new Promise<'cancelled'>((resolve) => {
      cancel = () => resolve('cancelled')
    })
    let end: (exit: Exit) => void = () => undefined
    const exited = new Promise<Exit>((resolve) => {
      end = resolve
    })
    let free = () => {}
    const freed = new Promise<void>((resolve) => {
      free = resolve
    })
    let startedMs = nowMs()

    async function take(): Promise<void> {
      waiting--
      busy = true
      try {
        const exit = await turn()
        end(exit)
      } catch (error) {
        if (!(error instanceof StartError)) throw error
        end({ code: null, signal: null, notStarted: error.failure })
      } finally {
        if (!left) busy = false
        free()
      }
    }

    async function turn(): Promise<Exit> {
      const neverBegun: Exit = { code: null, signal: 'SIGINT', notices: [], cwd }
      if (cancelled) return neverBegun
      const found = await Promise.race([awaitShell(request), whenCancelled])
      if (found === 'cancelled') return neverBegun
      mine = found
      startedMs = nowMs()
      found.files.turn(composeTurn(request, found.dialect))
      ended = found.shell.run((bytes) => sink.write('output', bytes))
      const told = await ended
      await stopping
      return settle(told, found)
    }

    function composeTurn(
      { env, cwdGiven, cwd: directory }: Request,
      dialect: EditorDialect,
    ): string {
      const { quote } = dialect
      const before = lent.map((variable) => dialect.restoreVariable(variable))
      lent = Object.keys(env)
      for (const variable of lent) {
        before.push(dialect.lendVariable(variable, quote(env[variable] ?? '')))
      }
      if (cwdGiven && directory !== cwd) before.push(dialect.changeDirectory(quote(directory)))
      before.push(dialect.exportVariable(markVariable, quote(request.id)))
      return encodeTurn(before.join('; '), request.command)
    }

    async function settle(told: CommandEnd, found: StartedShell): Promise<Exit> {
      if (told.kind === 'told') {
        const place = told.cwd?.startsWith('/') ? told.cwd : cwd
        if (!left) cwd = place
        // The shell of a command that went on without its session has nobody any more.
        if (left) void leaveWithoutJobs(found)
        const signal = stopping ? 'SIGINT' : null
        return { code: signal ? null : told.status, signal, cwd: place }
      }
      return { ...told.exit, cwd }
    }

    waiting++
    turns = turns.then(() => Promise.race([take(), freed]))

    return createRunning({
      pid: () => mine?.shell.pid ?? null,
      group: () => mine?.shell.group?.path ?? null,
      exited,
      input: {
        write: async (data) => (mine?.shell ?? arising)?.type(data),
        // Ctrl-D, which a terminal reads as the end at the start of a line.
        end: () => void (mine?.shell ?? arising)?.type('\u0004'),
      },
      resize(columns, rows) {
        if (left) mine?.shell.resize(columns, rows)
        else setSize({ columns, rows })
      },
      stop(reason: StopReason) {
        stopping ??= (async () => {
          cancelled = true
          cancel()
          if (!ended || !mine) return { survivors: [] }
          return stopCommand({ shell: mine.shell, mark: request.id, startedMs, ended, reason })
        })()
        return stopping
      },
      waitingForInput: () => (mine?.shell ?? arising)?.waitingForInput() ?? null,
      leave() {
        if (left || !mine || held !== mine) return
        left = true
        held = null
        busy = false
        lent = []
        inherited = readState(mine)
        tellSuspended(mine, request.id)
        free()
        open(request)
      },
    })
  }

  /** What the shell left of its state before the command that it runs; empty where it could not. */
  async function readState({ shell, files, dialect }: StartedShell): Promise<string> {
    const state = await files.readState(shell.prompt)
    if (state !== '') return state
    listener.onNotice('The new shell has the directory of the one before, and nothing else of it')
    return dialect.changeDirectory(dialect.quote(cwd))
  }

  function open(request: Request): void {
    // A start that fails is told by the first run that needs it.
    ensureShell(request).catch(() => undefined)
  }

  function setSize(wanted: TerminalSize): void {
    size = wanted
    const shell = held?.shell ?? arising
    shell?.resize(wanted.columns, wanted.rows)
  }

  /** What is suspended belongs to its shell, and cannot be carried to another one. */
  function tellSuspended({ shell, mark }: StartedShell, leftMark: string): void {
    const suspended = listShellJobs(shell.pid, mark).filter(
      (job) => job.isSuspended && job.mark !== leftMark,
    )
    if (suspended.length === 0) return
    const names = suspended.map(({ pid }) => `${describeProcess(pid)} (kill -CONT ${pid})`)
    listener.onNotice(
      `Still suspended, and out of reach of fg in the new shell: ${names.join(', ')}`,
    )
  }

  /** Ends a shell that nobody needs any more, once what its commands left in the background has ended. */
  async function leaveWithoutJobs(found: StartedShell): Promise<void> {
    const { shell, dialect, files, mark } = found
    while (!closed && shell.alive && listShellJobs(shell.pid, mark).length > 0) {
      await Promise.race([shell.ended, closing, delay(jobsLookMs)])
    }
    // Its state, traps and all, has gone over to the next one.
    if (!closed && (await shell.awaitPrompt())) {
      files.turn(encodeTurn('', dialect.forgetEnd))
      await Promise.race([shell.run(() => undefined), closing])
    }
    await leave(found)
  }

  /** Ends a shell with all that it started. */
  async function leave({ shell, mark }: StartedShell): Promise<void> {
    const over = shell.close()
    const timer = new AbortController()
    await Promise.race([
      over,
      delay(limits.stopGraceMs, null, { signal: timer.signal }).catch(() => null),
    ])
    timer.abort()
    await stopTree({
      pid: shell.alive ? shell.pid : null,
      mark,
      group: shell.group,
      marks: [`${sessionVariable}=${mark}`],
      pipes: () => shell.terminals(),
    })
    await over
  }

  return {
    run,
    open,
    listen: (chosen) => void (listener = chosen),
    async complete(line) {
      const found = held ?? (await opening?.catch(() => null))
      // A shell that has just started, or whose prompt hooks still run, is there in a moment.
      if (!found || busy || !(await found.shell.awaitPrompt()) || busy) return null
      found.files.turn(encodeQuestion(line))
      const answer = await found.shell.ask(completeTimeoutMs)
      return answer === null ? null : answer.split('\n')
    },
    type: (data) => void (held?.shell ?? arising)?.type(data),
    resize: setSize,
    info: () => ({
      name,
      pid: held?.shell.alive ? held.shell.pid : null,
      cwd,
      busy,
      queued: waiting,
      idleMs: 0,
    }),
    async close() {
      closed = true
      tellClosing()
      await Promise.all([...all].map(leave))
      await opening?.catch(() => undefined)
      await Promise.all(closings)
    },
  }
}

function describeEnd({ code, signal }: Exit): string {
  return signal ?? `exit ${code}`
}
