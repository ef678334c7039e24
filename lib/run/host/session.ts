import { randomBytes } from 'node:crypto'
import { limits } from '../../protocol/limits.ts'
import type { Exit, OutputSink, StopOptions, StopReport } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import { sessionVariable } from '../../system/process/own-process.ts'
import { settleWithin } from '../../system/clock.ts'
import type { Beginning, HostShell, ShellTurn, TurnEnd } from '../session/shell.ts'
import { type ClientEnvironment, type HostClient, startClient } from './client.ts'
import { describeEnd, type Follower, followFrames } from './follower.ts'
import { composeSessionScript, composeTurn, markThere, nameTurn } from './script.ts'
import { describeStop, endThere, runMark } from './stop.ts'

export interface HostShellParts {
  host: string
  client: HostClient
  environment: ClientEnvironment
  /** Makes sure that the host answers. Rejects with `StartError`, also if the signal aborts before. */
  connect: (request: Request, signal: AbortSignal) => Promise<void>
}

/** A command that has not ended so long after its stop takes its shell with it. */
const patienceMs = 1000

/** Starts a shell on another machine that keeps its state from run to run. */
export async function startHostShell(
  { host, client, environment, connect }: HostShellParts,
  { request: first, signal, mark }: Pick<Beginning, 'request' | 'signal' | 'mark'>,
): Promise<HostShell> {
  await connect(first, signal)
  const name = randomBytes(16).toString('hex')
  const { file, args } = client.compose(composeSessionScript(first, name, mark), false)
  const child = startClient(file, args, environment)
  /** Hears the command that runs; what a shell before it says late is not for that. */
  let current: Follower | null = null
  /** Hears of the shell itself: its beginning, its end, and what its client says. */
  const heard = followFrames({ ...first, streams: 'separate' }, name, {
    async write(stream, part) {
      await current?.write(stream, part)
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
  let alive = true
  const ended = Promise.race([heard.ended, left]).then((): Exit => {
    alive = false
    // The shell has said what it had to say.
    child.stdin.end()
    return { code: heard.state.code ?? null, signal: null }
  })

  async function begin(request: Request, sink: OutputSink): Promise<ShellTurn> {
    const turn = followFrames(request, nameTurn(name, request), sink)
    current = turn
    child.stdin.write(composeTurn(request))
    const told = Promise.race([turn.ended, ended])
    return {
      begun: Promise.resolve(true),
      told,
      async finish() {
        await told
        return describeTurnEnd(turn, request)
      },
      revoke: () => undefined,
      files: () => [],
    }
  }

  function describeTurnEnd(turn: Follower, request: Request): TurnEnd {
    const { code: status, cwd = null, startedIn, refused } = turn.state
    if (!refused && status !== undefined) {
      return { kind: 'told', status, stages: null, cwd, startedIn, notices: [], unfit: null }
    }
    const { code, begun } = heard.state
    const unknown = { code: null, signal: null }
    if (!refused && code !== undefined) return { kind: 'gone', exit: { code, signal: null } }
    const teller = refused || begun ? turn : heard
    return { kind: 'gone', exit: describeEnd(unknown, teller, host, request) }
  }

  /** Ends the command and what it started; if that does not help, its shell too. */
  async function stop(turn: ShellTurn, request: Request, how?: StopOptions): Promise<StopReport> {
    const end = { client, stop: describeStop(request, how?.interrupt) }
    const survivors = await endThere({ ...end, assignment: runMark(markThere(request.id)) })
    let isOver = false
    const noted = turn.told.then(() => (isOver = true))
    await settleWithin(patienceMs, noted)
    if (!isOver) {
      await endThere({ ...end, assignment: `${sessionVariable}=${mark}` })
      child.stdin.end()
      await settleWithin(limits.killGraceMs, noted)
      child.kill('SIGTERM')
    }
    if (survivors !== null) return { survivors }
    return { survivors: [], notices: [`The host ${host} did not answer; what ran there may go on`] }
  }

  return {
    pid: null,
    get alive() {
      return alive
    },
    group: null,
    cwd: '~',
    terminal: null,
    ready: () => Promise.resolve(alive),
    begin,
    stop,
    readUsage: () => null,
    async close() {
      child.stdin.end()
      const kill = setTimeout(() => child.kill('SIGKILL'), limits.killGraceMs * 2)
      await left
      clearTimeout(kill)
    },
    ended,
  }
}
