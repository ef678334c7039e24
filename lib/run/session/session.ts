import { nowMs } from '../../protocol/clock.ts'
import { createId } from '../../protocol/ids.ts'
import {
  type Exit,
  type OutputSink,
  type Running,
  StartError,
  type StopReport,
} from '../../protocol/ports.ts'
import type { SessionInfo } from '../../protocol/sessions.ts'
import type { Request } from '../../protocol/request.ts'
import { createFifoPool, type FifoPool, type SharedFolder } from '../pipe/fifo.ts'
import type { Launch, PrepareLaunch } from '../launch.ts'
import { quoteWord } from '../quote.ts'
import { createCarriedState } from './session-carried.ts'
import type { SessionDialect } from './session-dialect.ts'
import { createSessionOutput, type SessionOutput } from './session-output.ts'
import { type ActiveTurn, createSessionQueue } from './session-queue.ts'
import { type SessionShell, startSessionShell, type TurnEnd } from './session-shell.ts'
import { openSessionStdin } from './session-stdin.ts'
import { sessionVariable, stopSession, stopTurn } from './session-stop.ts'
import { markVariable } from '../stop.ts'
import type { Uninherited } from '../uninherited.ts'

/** One shell that keeps its state, replaced when a command ends it. */
export interface Session {
  /** Rejects with `StartError`. */
  run(request: Request, sink: OutputSink): Promise<Running>
  info(): SessionInfo
  /** Ends the shell and all that it left behind; a run under way is stopped. */
  close(): Promise<StopReport>
}

export interface SessionOptions {
  dialect: SessionDialect
  prepare: PrepareLaunch
  pipes: FifoPool
  uninherited: Uninherited
  readSetUp?: (launch: Launch) => Promise<{ text: string; notices: string[] }>
  /** Where it begins. */
  cwd: string
  /** For the first run's result. */
  notices: string[]
  idleMs: number
  /** It has not been used for `idleMs` and has closed. */
  onIdle(): void
}

/** A command that is over sooner is read in one go at its end. */
const followAfterMs = 2

export function createSession(name: string, options: SessionOptions): Session {
  const mark = createId('session')
  let pipes = options.pipes
  let outputs = createOutputs(pipes)
  const queue = createSessionQueue(rest)
  const carried = createCarriedState(options.dialect)
  let shell: SessionShell | null = null
  let shellName: string | null = null
  /** What the shell is confined to. */
  let confinement = ''
  let active: ActiveTurn | null = null
  let closed = false
  let cwd = options.cwd
  let notices = [...options.notices]
  /** How the shell before was lost, until there is another. */
  let lost: string | null = null
  let usedMs = nowMs()
  let idleTimer: NodeJS.Timeout | null = null

  function rest(): void {
    usedMs = nowMs()
    idleTimer ??= setTimeout(expire, options.idleMs).unref()
  }

  function expire(): void {
    idleTimer = null
    if (closed) return
    const leftMs = usedMs + options.idleMs - nowMs()
    if (queue.busy || leftMs > 0) {
      idleTimer = setTimeout(expire, Math.max(leftMs, 1)).unref()
      return
    }
    options.onIdle()
    void close()
  }

  async function ensureShell(request: Request): Promise<SessionShell> {
    if (shell?.alive) {
      if (confinement === describeConfinement(request)) return shell
      throw refuse(
        'session_sandbox',
        `The shell of session ${name} runs with ${confinement}; take another name for ${describeConfinement(request)}`,
      )
    }
    if (shell) lose('was ended from outside')
    const launch = await prepareShell({ ...request, sandbox: 'off' })
    if (lost !== null) notices.push(describeLoss(lost, launch.cwd))
    lost = null
    const { text, notices: found } = (await options.readSetUp?.(launch)) ?? noSetUp
    notices.push(...found)
    shell = await startSessionShell({
      dialect: options.dialect,
      login: request.login,
      setUp: text,
      pipes: options.pipes,
      uninherited: options.uninherited,
      cwd: launch.cwd,
      oldCwd: launch.env['OLDPWD'],
      async prepare(use) {
        return addMarks(await options.prepare({ ...request, env: {}, cwd: launch.cwd }, use))
      },
    })
    shellName = request.shell
    confinement = describeConfinement(request)
    cwd = launch.cwd
    await openOutputs(shell.shared)
    return shell
  }

  /** Where the shell sees only a folder of its own, its pipes are in there. */
  async function openOutputs(shared: SharedFolder | null): Promise<void> {
    await closeOutputs()
    pipes = shared === null ? options.pipes : createFifoPool(null, shared)
    outputs = createOutputs(pipes)
  }

  async function closeOutputs(): Promise<void> {
    for (const output of outputs) output.close()
    if (pipes !== options.pipes) await pipes.close()
  }

  function addMarks(launch: Launch): Launch {
    const env = { ...launch.env, [markVariable]: mark, [sessionVariable]: mark }
    return { ...launch, env }
  }

  async function prepareShell(request: Request): Promise<Launch> {
    let launch: Launch
    try {
      launch = await options.prepare({ ...request, env: {}, cwd })
    } catch (error) {
      if (cwd === request.cwd) throw error
      launch = await options.prepare({ ...request, env: {} })
      notices.push(`The session's directory is gone: ${cwd}`)
    }
    return addMarks(launch)
  }

  function lose(how: string): void {
    shell = null
    carried.reset()
    lost = how
  }

  /** As a leading `cd` would. */
  async function moveTo(directory: string, request: Request, current: SessionShell): Promise<void> {
    await options.prepare(request)
    const text = `\\builtin cd -- ${quoteWord(directory)}`
    const nowhere = { stdin: '/dev/null', stdout: '/dev/null', stderr: '/dev/null' }
    const end = await current.run({ ...nowhere, status: 0, lastArgument: '', mark, text })
    if (end.kind === 'record' && end.record.status === 0) {
      cwd = directory
      return
    }
    if (end.kind === 'gone') lose('was ended from outside')
    const message = `Working directory may not be entered: ${directory}`
    throw new StartError({ code: 'cwd_not_accessible', message, exitCode: 125 })
  }

  async function start(request: Request, sink: OutputSink): Promise<ActiveTurn> {
    if (closed) throw refuse('session_closed', `Session ${name} has been closed`)
    const current = await ensureShell(request)
    if (request.cwdGiven && request.cwd !== cwd) await moveTo(request.cwd, request, current)
    const stdin = openSessionStdin(request.stdin, current.shared)
    const merged = request.streams === 'merged'
    const stdout = await outputs[0].open(merged ? 'output' : 'stdout', sink)
    const stderr = merged ? stdout : await outputs[1].open('stderr', sink)
    const startedMs = nowMs()
    const { status, lastArgument } = carried
    const text = carried.compose(request)
    const paths = { stdin: stdin.path, stdout, stderr }
    const ended = current.run({ ...paths, status, lastArgument, mark: request.id, text })
    const used = merged ? [outputs[0]] : outputs
    const timer = setTimeout(() => used.forEach((output) => output.follow()), followAfterMs)
    let stopping: Promise<StopReport> | null = null

    async function finish(): Promise<Exit> {
      const end = await ended
      clearTimeout(timer)
      await stopping
      for (const output of used) await output.finish()
      stdin.release()
      active = null
      return settle(end, stopping !== null)
    }

    active = {
      pid: current.pid,
      exited: finish(),
      stop() {
        const pipes = used.flatMap((output) => output.identify() ?? [])
        stopping ??= stopTurn({
          shell: current,
          dialect: options.dialect,
          mark: request.id,
          startedMs,
          pipes,
          ended,
        })
        return stopping
      },
    }
    return active
  }

  function settle(end: TurnEnd, stopped: boolean): Exit {
    const told = notices
    notices = []
    const ending = stopped ? { code: null, signal: 'SIGTERM' } : null
    if (end.kind === 'gone') {
      const { code, signal } = end
      lose(stopped ? 'did not survive the stop' : describeEnd(code, signal))
      return { code, signal, ...ending, cwd, notices: told }
    }
    const { record } = end
    carried.remember(record, stopped)
    if (record.cwd.startsWith('/')) cwd = record.cwd
    if (record.repaired) {
      told.push('The session needs the builtins builtin and eval: it has restored them')
    }
    if (!record.started) {
      told.push('The command did not run: the session could not open its input or output')
    }
    const code = record.started ? record.status : 125
    const { pipeStatus } = record
    return { code, signal: null, ...ending, pipeStatus, cwd, notices: told }
  }

  async function close(): Promise<StopReport> {
    closed = true
    if (idleTimer) clearTimeout(idleTimer)
    await active?.stop()
    await queue.idle()
    const report = await stopSession(shell, mark)
    await closeOutputs()
    return report
  }

  return {
    async run(request, sink) {
      checkRequest(request, shellName)
      return await queue.enter(() => start(request, sink))
    },
    info() {
      return {
        name,
        pid: shell?.alive ? shell.pid : null,
        cwd,
        busy: queue.busy,
        queued: queue.length,
        idleMs: queue.busy ? 0 : nowMs() - usedMs,
      }
    },
    close,
  }
}

function createOutputs(pipes: FifoPool): readonly [SessionOutput, SessionOutput] {
  return [createSessionOutput(pipes), createSessionOutput(pipes)]
}

/** For the reader, and to compare. */
function describeConfinement({ sandbox, network, workspace }: Request): string {
  if (sandbox === 'off') return 'no sandbox'
  const place = workspace === null ? '' : ` of ${workspace}`
  return `sandbox ${sandbox}${place}, network ${network}`
}

const noSetUp = { text: '', notices: [] }

function checkRequest(request: Request, shellName: string | null): void {
  if (request.command.includes('\0')) {
    throw refuse('invalid_command', 'A command cannot hold a NUL character')
  }
  if (request.shell !== null && shellName !== null && request.shell !== shellName) {
    throw refuse(
      'session_shell',
      `This session runs ${shellName}; take another name for ${request.shell}`,
    )
  }
  for (const variable of Object.keys(request.env)) {
    if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(variable)) continue
    throw refuse('session_environment', `A shell cannot hold a variable of this name: ${variable}`)
  }
}

function describeLoss(how: string, cwd: string): string {
  return `The session's shell ${how}: this ran in a fresh one in ${cwd}, without the variables and functions of before`
}

function describeEnd(code: number | null, signal: string | null): string {
  return signal === null ? `ended with exit status ${code}` : `was ended by ${signal}`
}

function refuse(code: string, message: string): StartError {
  return new StartError({ code, message, exitCode: 125 })
}
