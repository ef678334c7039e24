import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { messageOf, MisuseError } from '../../protocol/errors.ts'
import { createId, fromWire, toWire } from '../../protocol/wire.ts'
import type { RequestInput } from '../../protocol/request/request.ts'
import type { Result } from '../../protocol/result/result.ts'
import type { Verdict } from '../../protocol/rules.ts'
import type { AllMethods } from '../../protocol/rpc/methods.ts'
import { copyOutsideRun } from '../../system/process/own-process.ts'
import { type PipedProcess, startPiped } from '../../system/process/spawn.ts'
import { makeSocketPlace } from '../../system/temporary-folder.ts'
import { settleWithin } from '../../system/clock.ts'
import {
  type AnyNotification,
  type Caller,
  createCaller,
  RpcError,
  toOriginal,
} from '../../wire/client.ts'
import { decodeEvent } from '../../wire/messages.ts'
import type { HolderStart, RunOptions } from '../options.ts'
import { guardListener, type GuardedListener } from '../run-events.ts'

export type Holder = ReturnType<typeof createHolder>

interface Connection {
  caller: Caller<AllMethods>
  /** The runs that are heard of, by their ids. `isClosed`: nobody reads what they write any more. */
  heard: Map<string, { listener: GuardedListener; options: RunOptions; isClosed: boolean }>
  /** The holder has said something. */
  isAnswering: () => boolean
  /** Its last words, once it has ended. */
  ended: Promise<string>
  close(): void
}

/**
 * The holder of one executor: a nacre of its own (`nacre supervise`) that is started with the first run that
 * needs it, and stays until this process is gone and its last run has ended.
 */
export function createHolder(parts: HolderStart) {
  let connected: Promise<Connection> | null = null

  async function open(input: RequestInput | null): Promise<Connection> {
    const opening = (connected ??= connect(parts, input, () => (connected = null)))
    try {
      return await opening
    } catch (error) {
      connected = null
      throw error
    }
  }

  return {
    /** The same as `Executor.run`, but that the run may outlive this process. */
    async run(input: RequestInput, options: RunOptions): Promise<Result> {
      const { signal, leaving, onEvent, approve, atMost, cwd, workspace } = options
      const connection = await open(input)
      const { caller, heard } = connection
      const id = createId('run')
      const failing = new AbortController()
      const listener = guardListener(onEvent, () => failing.abort())
      heard.set(id, { listener, options, isClosed: false })
      const request = { ...parts.fields, ...input, env: { ...parts.fields?.env, ...input.env } }
      const asked = { id, request, supportsApproval: approve !== undefined, atMost, cwd, workspace }
      // One that has ended meanwhile is not found.
      const leave = () => void caller.request('supervise.detach', { id }).catch(() => undefined)
      leaving?.addEventListener('abort', leave, { once: true })
      try {
        const result = await caller.request(
          'supervise',
          toWire(asked) as AllMethods['supervise']['params'],
          { signal: AbortSignal.any([failing.signal, ...(signal ? [signal] : [])]) },
        )
        listener.rethrow()
        // What a job does later is heard of until its end.
        if (result.status !== 'running') heard.delete(id)
        return fromWire(result) as Result
      } catch (error) {
        heard.delete(id)
        throw await describeError(error, connection)
      }
    },
    /** Leaves the holder to itself. */
    close(): void {
      void connected?.then(
        (connection) => connection.close(),
        () => undefined,
      )
    },
  }
}

/** Has a holder of its own take up a job of a killed nacre, so long at most. Rejects where it does not. */
export async function takeUpInHolder(
  parts: HolderStart | null,
  id: string,
  withinMs?: number,
): Promise<void> {
  if (parts === null) throw new MisuseError('not_available', 'no nacre can be started here')
  const connection = await connect(parts, null, () => undefined)
  const taken = connection.caller.request('supervise.take_up', { id })
  // Whoever is late goes on by itself.
  taken.catch(() => undefined)
  try {
    const answer = await (withinMs === undefined ? taken : settleWithin(withinMs, taken))
    if (answer === undefined) throw new Error('its machine has not answered yet')
  } catch (error) {
    throw await describeError(error, connection)
  } finally {
    // An open connection would keep this process alive for as long as the holder takes.
    connection.close()
  }
}

async function describeError(error: unknown, { ended, isAnswering }: Connection): Promise<unknown> {
  if (!(error instanceof RpcError)) return error
  if (error.code !== 0) return toOriginal(error)
  if (!isAnswering()) return describeFailure(await ended)
  const message =
    'The process that held the command was killed; `nacre job list` tells what is left'
  return new MisuseError('supervisor_lost', message)
}

/** Starts a holder, and speaks with it. */
async function connect(
  parts: HolderStart,
  input: RequestInput | null,
  onGone: () => void,
): Promise<Connection> {
  const { holder, socket, ended } = await callHolder(parts, input)
  const heard: Connection['heard'] = new Map()
  let isAnswering = false
  const caller = createCaller<AllMethods, AnyNotification>(
    { input: socket, output: socket },
    {
      onApproval({ verdict, ...shown }) {
        isAnswering = true
        const { approve, signal } = heard.get(shown.id)?.options ?? {}
        return approve?.(shown, fromWire(verdict) as Verdict, signal) ?? false
      },
      async onNotification(told) {
        isAnswering = true
        if (told.method !== 'run.event') return
        const event = decodeEvent(told.params)
        const { id } = event
        const run = heard.get(id)
        const answer = await run?.listener.emit(event)
        if (event.type === 'exited') heard.delete(id)
        if (answer !== 'closed' || !run || run.isClosed) return
        run.isClosed = true
        // Its answer comes after this notification has been taken; without it the connection is over.
        caller.request('supervise.close', { id }).catch(() => undefined)
      },
    },
    () => {
      socket.destroy()
      onGone()
    },
  )
  socket.once('error', (error) => caller.fail(error.message))
  socket.once('close', () => caller.fail('The holder has ended'))
  return {
    caller,
    heard,
    ended,
    isAnswering: () => isAnswering,
    close() {
      socket.destroy()
      holder.stderr?.destroy()
      holder.unref()
    },
  }
}

/** How long a holder may take to call back, on a machine however busy. */
const patienceMs = 15_000

interface Called {
  holder: PipedProcess
  socket: Socket
  /** Its last words, once it has ended. */
  ended: Promise<string>
}

/** Starts a holder and waits until it has called back. Rejects with `MisuseError` where it does not. */
async function callHolder(parts: HolderStart, input: RequestInput | null): Promise<Called> {
  const place = makeSocketPlace()
  const server = createServer()
  try {
    await once(server.listen(place.path), 'listening')
    const holder = await start(parts, place.path, input)
    const called = once(server, 'connection') as Promise<[Socket]>
    const ended = hearLastWords(holder)
    const answer = await settleWithin(patienceMs, Promise.race([called, ended]))
    if (Array.isArray(answer)) return { holder, socket: answer[0], ended }
    holder.kill('SIGKILL')
    throw new Error(answer ?? `it said nothing within ${patienceMs / 1000} s`)
  } catch (error) {
    throw describeFailure(messageOf(error))
  } finally {
    server.close()
    place.remove()
  }
}

function hearLastWords(holder: PipedProcess): Promise<string> {
  let said = ''
  const { stderr } = holder
  stderr?.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-10_000)))
  return new Promise((resolve) => holder.once('close', () => resolve(firstLine(said))))
}

/** The runtime's own words for a missing thread are a native stack. */
function firstLine(said: string): string {
  if (said.includes('thread_create')) return 'the system gave it no thread'
  const line = said.split('\n').find((text) => /\w/.test(text))
  return line?.trim() ?? 'it ended at once'
}

/** A limit is the usual cause: a runtime needs a dozen threads, of which each counts as a process. */
function describeFailure(why: string): MisuseError {
  const message =
    `The process that is to hold the command could not start (${why}): raise the limits ` +
    '(`ulimit -u`, `ulimit -n`), end other processes, or run the command without --background'
  return new MisuseError('supervisor_failed', message)
}

function start(
  { words, environment }: HolderStart,
  socketPath: string,
  input: RequestInput | null,
): Promise<PipedProcess> {
  const [file = '', ...args] = words()
  const given = input?.stdin?.kind === 'descriptor' && input.openStdin !== true
  return startPiped({
    file,
    args: [...args, socketPath],
    detached: true,
    env: copyOutsideRun(environment),
    stdio: [given ? 'inherit' : 'ignore', 'ignore', 'pipe'],
  })
}
