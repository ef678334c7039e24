import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createId } from '../../protocol/wire.ts'
import { limits } from '../../protocol/limits.ts'
import {
  type Exit,
  type Runner,
  StartError,
  type StopOptions,
  type StopReport,
} from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import { sessionVariable } from '../../system/process/own-process.ts'
import { settleWithin } from '../../system/clock.ts'
import { type ActiveTurn, createSessionQueue } from '../session/queue.ts'
import type { Session } from '../session/session.ts'
import { sessionClosed } from '../start-failure.ts'
import type { ClientEnvironment, HostClient } from './client.ts'
import { describeEnd, type Follower, followFrames } from './follower.ts'
import { composeSessionScript, composeTurn, markThere, nameTurn } from './script.ts'
import { describeStop, endThere, runMark } from './stop.ts'

export interface HostSessionOptions {
  name: string
  host: string
  client: HostClient
  environment: ClientEnvironment
  /** Makes sure that the host answers. Rejects with `StartError`, also if a signal aborts before. */
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
  /** Settles when the shell has reported its end, or its client has ended. */
  over: Promise<void>
  /** Hears of the shell itself: its beginning, its end, and what its client says. */
  heard: Follower
  /** Hears the command that runs; what a shell before it says late is not for that. */
  turn: Follower | null
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
  let active: ActiveTurn | null = null

  function open(request: Request): Shell {
    const names = { name: randomBytes(16).toString('hex'), mark: createId('session') }
    const { file, args } = client.compose(
      composeSessionScript(request, names.name, names.mark),
      false,
    )
    const child = spawn(file, args, { env: options.environment, stdio: 'pipe', detached: true })
    const apart: Request = { ...request, streams: 'separate' }
    const heard = followFrames(apart, names.name, {
      async write(stream, part) {
        await made.turn?.write(stream, part)
        return undefined
      },
    })
    child.stdin.on('error', () => undefined)
    for (const stream of ['stdout', 'stderr'] as const) {
      const source = child[stream]
      source.on('data', (bytes: Buffer) => {
        source.pause()
        void Promise.resolve(heard.write(stream, bytes)).then(() => source.resume())
      })
    }
    const left = new Promise<void>((resolve) => {
      child.once('error', () => resolve())
      child.once('close', () => resolve())
    })
    const over = Promise.race([heard.ended, left])
    const made: Shell = { ...names, child, over, heard, turn: null }
    void over.then(() => {
      if (shell === made) shell = null
      // The shell has said what it had to say.
      child.stdin.end()
    })
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
    const notices =
      shell === null && lost !== null
        ? [
            `The session's shell on ${host} ${lost}: this ran in a fresh one, without the directory, variables and functions of before`,
          ]
        : []
    const current = (shell ??= open(request))
    lost = null
    const turn = followFrames(request, nameTurn(current.name, request), sink)
    current.turn = turn
    current.child.stdin?.write(composeTurn(request))
    const over = Promise.race([turn.ended, current.over])
    let stopping: Promise<StopReport> | null = null

    async function finish(): Promise<Exit> {
      await over
      active = null
      await stopping
      const settled = settle(current, turn, request, stopping !== null)
      return { ...settled, notices, startedIn: turn.state.startedIn }
    }

    active = {
      pid: null,
      exited: finish(),
      group: null,
      stop(how) {
        stopping ??= stop(current, request, over, how)
        return stopping
      },
    }
    return active
  }

  function settle(current: Shell, turn: Follower, request: Request, stopped: boolean): Exit {
    const unknown = { code: null, signal: null }
    const ended = stopped ? { code: null, signal: 'SIGTERM' } : null
    if (turn.state.cwd !== undefined) cwd = turn.state.cwd
    if (turn.state.refused) return describeEnd(unknown, turn, host, request)
    if (turn.state.code !== undefined) {
      return { code: turn.state.code, signal: null, cwd, ...ended }
    }
    const { code, begun } = current.heard.state
    if (code !== undefined) {
      lost = stopped ? 'did not survive the stop' : `ended with exit status ${code}`
      return { code, signal: null, ...ended }
    }
    lost = 'was lost with its connection'
    return ended ?? describeEnd(unknown, begun ? turn : current.heard, host, request)
  }

  /** Ends the command and what it started; if that does not help, its shell too. */
  async function stop(
    current: Shell,
    request: Request,
    over: Promise<void>,
    how?: StopOptions,
  ): Promise<StopReport> {
    const end = { client, stop: describeStop(request, how?.interrupt) }
    const survivors = await endThere({ ...end, assignment: runMark(markThere(request.id)) })
    let isOver = false
    const noted = over.then(() => (isOver = true))
    await settleWithin(patienceMs, noted)
    if (!isOver) {
      await endThere({ ...end, assignment: `${sessionVariable}=${current.mark}` })
      current.child.stdin?.end()
      await settleWithin(limits.killGraceMs, noted)
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
    const kill = setTimeout(() => current.child.kill('SIGKILL'), limits.killGraceMs * 2)
    await ended
    clearTimeout(kill)
  }

  return {
    async run(request, sink, signal) {
      if (shell !== null && request.shell !== null && request.shell !== shellName) {
        const message = `Session ${options.name} on ${host} has another shell; name another session`
        throw new StartError('session_shell', message)
      }
      return queue.enter(() => start(request, sink, signal))
    },
    info: () => ({ name: options.name, pid: null, cwd, ...queue.describe() }),
    close,
  }
}
