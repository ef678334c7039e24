import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createId } from '../../protocol/wire.ts'
import { limits } from '../../protocol/limits.ts'
import { takesOwnShell } from '../../protocol/origin.ts'
import {
  type Exit,
  type Runner,
  StartError,
  type StopOptions,
  type StopReport,
} from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import { sessionVariable } from '../../system/process/run-variables.ts'
import { waitUntil } from '../../system/wait.ts'
import { type ActiveTurn, createSessionQueue } from '../session/queue.ts'
import { sessionClosed } from '../start-limit.ts'
import type { Session } from '../session/session.ts'
import type { HostClient } from './client.ts'
import { endThere } from './end-there.ts'
import { describeEnd, type Follower, followFrames } from './follower.ts'
import { describeCommand, describeStop } from './remote-command.ts'
import { markThere } from './script.ts'
import { runMark } from './stop-script.ts'
import { createFrameReader, type Frame, frameHead } from './frames.ts'
import { composeSessionScript, composeTurn, nameTurn } from './session-script.ts'

export interface HostSessionOptions {
  name: string
  host: string
  client: HostClient
  environment: Readonly<Record<string, string | undefined>>
  /** Makes sure that the host answers. Rejects with `StartError`, also where a signal aborts before. */
  connect(request: Request, ...signals: readonly (AbortSignal | undefined)[]): Promise<void>
  idleMs: number
  /** Aborts when nacre ends. */
  ending: AbortSignal
  /** It has not been used for so long and has closed. */
  onIdle(): void
}

/** A command that has not ended so long after its stop takes its shell with it. */
const patienceMs = 1000

/** The connection to a session's shell. */
interface Shell {
  child: ChildProcess
  name: string
  mark: string
  alive: boolean
  /** Hears the command that runs; what a shell before it says late is not for that. */
  follower: Follower | null
}

/** One command of it. */
interface Turn {
  current: Shell
  heard: Follower
  request: Request
}

/** A shell on another machine that keeps its state from run to run. */
export function createHostSession(options: HostSessionOptions): Session {
  const { client, host } = options
  const onIdle = () => {
    options.onIdle()
    void close()
  }
  const queue = createSessionQueue(options.idleMs, onIdle, () => connecting?.abort())
  let shell: Shell | null = null
  let shellName: string | null = null
  /** Ends the wait for the host. */
  let connecting: AbortController | null = null
  let closed = false
  let cwd = '~'
  /** How the shell before was lost. */
  let lost: string | null = null
  let tellGone: (() => void) | null = null
  let active: ActiveTurn | null = null

  function open(request: Request): Shell {
    const opened = {
      name: randomBytes(16).toString('hex'),
      mark: createId('session'),
      alive: true,
    }
    const script = composeSessionScript({
      ...opened,
      shell: request.shell,
      login: request.login,
      ownShell: takesOwnShell(request),
      stop: describeStop(request),
    })
    const { file, args } = client.compose(script, false)
    const child = spawn(file, args, {
      env: options.environment,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    })
    const made: Shell = { ...opened, child, follower: null }
    child.stdin.on('error', () => undefined)
    // Each stream tells the end of the shell behind what it holds of the command.
    let speaking = 2
    for (const stream of ['stdout', 'stderr'] as const) {
      const source = child[stream]
      const frames: Frame[] = []
      // What the session says of itself stands between the frames of its commands.
      const own = createFrameReader(opened.name, (frame) => void frames.push(frame))
      own.read(Buffer.from(`${frameHead(opened.name)}begin /\n`))
      source.on('data', (bytes: Buffer) => {
        const taken = own.read(bytes).map(async (part) => made.follower?.write(stream, part))
        source.pause()
        void Promise.all(taken).then(() => {
          for (const frame of frames.splice(0)) {
            if (frame.gone === undefined || --speaking === 0) made.follower?.tell(frame)
          }
          source.resume()
        })
      })
    }
    const end = () => {
      made.alive = false
      if (shell !== made) return
      shell = null
      tellGone?.()
    }
    child.once('error', end)
    child.once('close', end)
    shellName = request.shell
    return made
  }

  function refuseIfClosed(): void {
    if (closed) throw sessionClosed(options.name, options.ending)
  }

  async function start(...[request, sink, signal]: Parameters<Runner>): Promise<ActiveTurn> {
    refuseIfClosed()
    connecting = new AbortController()
    try {
      await options.connect(request, signal, connecting.signal)
    } finally {
      connecting = null
      refuseIfClosed()
    }
    const notices: string[] = []
    if (shell === null && lost !== null) notices.push(describeLoss(lost, host))
    const current = (shell ??= open(request))
    lost = null
    const heard = followFrames(request, nameTurn(current.name, markThere(request.id)), sink)
    current.follower = heard
    const gone = new Promise<void>((resolve) => {
      tellGone = resolve
    })
    if (!current.alive) tellGone?.()
    const environment = describeCommand({ ...request, env: {} }, current.name, null).env
    current.child.stdin?.write(composeTurn(request, environment))
    let stopping: Promise<StopReport> | null = null

    async function finish(): Promise<Exit> {
      await Promise.race([heard.ended, heard.gone, gone])
      // The shell has said what it had to say.
      if (heard.state.gone !== null) current.child.stdin?.end()
      active = null
      await stopping
      const settled = settle(current, heard, request, stopping !== null)
      return { ...settled, notices, startedIn: heard.state.startedIn }
    }

    active = {
      pid: null,
      exited: finish(),
      group: null,
      stop(how) {
        stopping ??= stop({ current, heard, request }, how)
        return stopping
      },
    }
    return active
  }

  function settle(current: Shell, heard: Follower, request: Request, stopped: boolean): Exit {
    const { state } = heard
    if (state.cwd !== null) cwd = state.cwd
    const ended = stopped ? { code: null, signal: 'SIGTERM' } : null
    if (state.refused === null && state.code !== null) {
      return { code: state.code, signal: null, cwd, ...ended }
    }
    if (state.refused !== null) {
      return describeEnd({ code: null, signal: null }, heard, host, request)
    }
    shell = null
    current.alive = false
    if (state.gone !== null) {
      lost = stopped ? 'did not survive the stop' : `ended with exit status ${state.gone}`
      return { code: state.gone, signal: null, ...ended }
    }
    lost = 'was lost with its connection'
    if (ended) return ended
    return describeEnd({ code: null, signal: null }, heard, host, request)
  }

  /** Ends the command and what it started; where that does not help, its shell too. */
  async function stop(
    { current, heard, request }: Turn,
    options?: StopOptions,
  ): Promise<StopReport> {
    const end = { client, pid: null, stop: describeStop(request, options?.interrupt) }
    const assignment = runMark(markThere(request.id))
    const survivors = await endThere({ ...end, assignment })
    const isOver = () => heard.state.code !== null || heard.state.gone !== null || !current.alive
    await waitUntil(isOver, { everyMs: 10, mostMs: patienceMs })
    if (!isOver()) {
      await endThere({ ...end, assignment: `${sessionVariable}=${current.mark}` })
      current.child.stdin?.end()
      await waitUntil(isOver, { everyMs: 10, mostMs: limits.killGraceMs })
      current.child.kill('SIGTERM')
    }
    if (survivors !== null) return { survivors }
    return { survivors: [], notices: [`The host ${host} did not answer; what ran there may go on`] }
  }

  async function close(): Promise<void> {
    closed = true
    connecting?.abort()
    const free = queue.close()
    await active?.stop()
    await free
    const current = shell
    if (current === null) return
    const ended = new Promise((resolve) => current.child.once('close', resolve))
    current.child.stdin?.end()
    const over = setTimeout(() => current.child.kill('SIGKILL'), limits.killGraceMs * 2)
    await ended
    clearTimeout(over)
  }

  return {
    async run(request, sink, signal) {
      if (shell !== null && request.shell !== null && request.shell !== shellName) {
        const message = `Session ${options.name} on ${host} has another shell; name another session`
        throw new StartError('session_shell', message)
      }
      return queue.enter(() => start(request, sink, signal))
    },
    info: () => ({
      name: options.name,
      pid: null,
      cwd,
      ...queue.describe(),
    }),
    close,
  }
}

function describeLoss(how: string, host: string): string {
  return `The session's shell on ${host} ${how}: this ran in a fresh one, without the directory, variables and functions of before`
}
