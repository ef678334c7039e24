import { randomBytes } from 'node:crypto'
import {
  type Exit,
  type OutputSink,
  type Running,
  StartError,
  type StopReport,
} from '../../../protocol/ports.ts'
import { nowMs } from '../../../system/clock.ts'
import { pause } from '../../../system/wait.ts'
import { changeRunning } from '../../running.ts'
import { callProgram } from '../call.ts'
import type { HostClient } from '../client.ts'
import { endThere } from '../end-there.ts'
import type { Follower } from '../follower.ts'
import { createFrameReader, type Frame } from '../frames.ts'
import { allowCarrying, runMark } from '../stop-script.ts'
import {
  composeAttachScript,
  composeForgetScript,
  composeKeptScript,
  type KeptRun,
} from './script.ts'

export interface KeptParts {
  /** It runs there already: it is found again, and what it wrote comes from the beginning. */
  isFound: boolean
  client: HostClient
  /** Hears of the run over there, and gives on what it writes. */
  follower: Follower
  /** Throws `StartError` where a script is too long. */
  check(script: string): void
  /** Starts the client here, which runs this there and waits for its input. */
  call(script: string, write: OutputSink['write']): Promise<Running>
}

/** How long such a run may go on without a connection, and how often a new one is tried. */
export const keptPatienceSeconds = 15 * 60
const retryMs = { first: 500, longest: 15_000 }
/** How long the other side may take to answer that it has removed its folder. */
const forgetMs = 5000

/**
 * Starts a run that goes on when its connection is lost: a new one finds it again, and not a byte of it
 * is missing, since what it writes lies over there until all has arrived.
 */
export async function startKept(run: KeptRun, parts: KeptParts): Promise<Running> {
  const { client, follower, isFound } = parts
  const received = { stdout: 0, stderr: 0 }
  /** It has begun there, so that there is something to come back to. */
  let isThere = isFound
  if (isFound) follower.state.begun = true
  /** Why there is nothing to come back to. */
  let gone: string | null = null
  let hasEnded = false
  let isOver = false
  /** Ends the pause between two connections, and its timer, which would keep nacre alive. */
  const over = new AbortController()
  void follower.ended.then(() => (hasEnded = true))

  /** A connection, whose bytes are those of the files from its beginning on. */
  async function open(compose: (connection: string) => string) {
    const connection = randomBytes(16).toString('hex')
    const isFirst = !isThere
    const begun = { stdout: false, stderr: false }
    const hear = (stream: 'stdout' | 'stderr') => (frame: Frame) => {
      if (frame.refused !== undefined && isFirst) follower.tell(frame)
      else if (frame.refused !== undefined) gone = frame.refused
      if (!frame.begun) return
      begun[stream] = true
      isThere = true
    }
    const readers = {
      stdout: createFrameReader(connection, hear('stdout')),
      stderr: createFrameReader(connection, hear('stderr')),
    }
    const script = compose(connection)
    parts.check(script)
    const running = await parts.call(script, async (name, bytes) => {
      const stream = name === 'stderr' ? name : 'stdout'
      const own = readers[stream].read(bytes)
      // What a client says that never gets there is heard as of any run.
      if (!begun[stream]) return isFirst ? follower.write(stream, bytes) : undefined
      for (const part of own) {
        received[stream] += part.length
        await follower.write(stream, part)
      }
      if (follower.state.refused !== null) void stop()
      return undefined
    })
    return { running, begun }
  }

  const attach = (connection: string) => composeAttachScript(run.name, connection, received)
  let current = await open(isFound ? attach : (connection) => composeKeptScript(run, connection))

  async function followToEnd(): Promise<Exit> {
    let lostAtMs = 0
    let pauseMs = retryMs.first
    for (;;) {
      const exit = await current.running.exited
      if (hasEnded || isOver) {
        await forget()
        return exit
      }
      if (!isThere) {
        if (follower.state.refused === null) await endUnheard()
        return exit
      }
      if (gone !== null) return { ...exit, notices: [gone] }
      if (current.begun.stdout) {
        lostAtMs = nowMs()
        pauseMs = retryMs.first
        // Where no new connection comes about, this one is looked at again: it counts once.
        current.begun.stdout = false
      }
      if (nowMs() > lostAtMs + keptPatienceSeconds * 1000) return exit
      await pause(pauseMs, over.signal)
      pauseMs = Math.min(retryMs.longest, pauseMs * 2)
      if (!isOver) await tryAgain()
    }
  }

  async function tryAgain(): Promise<void> {
    try {
      await client.connect(over.signal)
      current = await open(attach)
      // A stop that came meanwhile has ended the connection before this one.
      if (isOver) await stop()
    } catch (error) {
      if (!(error instanceof StartError)) throw error
    }
  }

  let forgetting: Promise<unknown> | null = null

  /** Has the folder over there removed by a call of its own: the connection may be cut at any moment. */
  async function forget(): Promise<void> {
    forgetting ??= callProgram(client.compose(composeForgetScript(run.name), false), {
      mostMs: forgetMs,
    })
    await forgetting
  }

  /** It may have begun there although the connection was cut before that could be told. */
  async function endUnheard(): Promise<void> {
    const assignment = runMark(run.mark)
    const left = await endThere({ client, assignment, pid: null, stop: allowCarrying(run.stop) })
    if (left !== null) await forget()
  }

  /** Has the folder over there removed, and ends the client. */
  async function stop(): Promise<StopReport> {
    isOver = true
    over.abort()
    await forget()
    return current.running.stop('kill')
  }

  return changeRunning(() => current.running, { exited: followToEnd(), stop })
}
