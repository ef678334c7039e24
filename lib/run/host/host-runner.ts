import { randomBytes } from 'node:crypto'
import { basename } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { limits } from '../../protocol/limits.ts'
import {
  type Exit,
  type KeptPlace,
  type OutputSink,
  type Runner,
  type Running,
  StartError,
  type StopOptions,
  type StopReport,
} from '../../protocol/ports.ts'
import { parseHostAddress } from '../../protocol/request/host-address.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { StopReason } from '../../protocol/result/result.ts'
import { startOf } from '../../protocol/words.ts'
import { copyWithout, markVariable } from '../../system/process/own-process.ts'
import { waitUntil } from '../../system/clock.ts'
import type { Launch, PrepareLaunch } from '../launch.ts'
import type { Secrets } from '../secrets.ts'
import { createSession, type Session } from '../session/session.ts'
import type { SessionRunner } from '../session/sessions.ts'
import { createShelf } from '../session/shelf.ts'
import { startWithin } from '../start-failure.ts'
import type { HostClient } from './client.ts'
import { createHostClient } from './clients.ts'
import { describeEnd, followFrames } from './follower.ts'
import type { Heard } from './frames.ts'
import { startKept } from './kept.ts'
import { composeRunScript, markThere } from './script.ts'
import { startHostShell } from './session.ts'
import { allowCarrying, describeStop, endThere, runMark } from './stop.ts'

export interface HostOptions {
  /** The environment of nacre, which the clients get. */
  environment: Readonly<Record<string, string | undefined>>
  /** Which of its variables a client does not forward to a command of a model. */
  secrets: Secrets
  /** Where a run of a scheduler begins, whose machines see the same files. */
  cwd: string
  /** Addresses by the names that the configuration gives them. */
  named: Readonly<Record<string, string>>
  /** Aborts when nacre ends. */
  ending: AbortSignal
  /** The runner of this machine that starts the client, from how a request is made into a launch. */
  attach: (prepare: PrepareLaunch) => Promise<{ pipe: Runner; terminal: Runner }>
}

/** Starts runs on other machines: requests whose `host` is set. A session is closed on every host. */
export interface Hosts extends SessionRunner {
  /** Finds a job there again that goes on without the nacre which began it. */
  resume(place: KeptPlace): Runner
}

/** A client that has not ended so long after its command is held by what the command left running. */
const clientGraceMs = 100
/** How long a stop may take over there beside its grace. */
const stopMarginMs = 5000

export function createHosts(options: HostOptions): Hosts {
  const clients = new Map<string, HostClient>()
  const sessions = createShelf<Session>({ where: ' on hosts' })

  const address = (host: string) => options.named[host] ?? host

  function findClient(host: string): HostClient {
    const known = clients.get(address(host))
    if (known) return known
    const client = createHostClient(parseHostAddress(address(host)), options.environment)
    clients.set(address(host), client)
    return client
  }

  function openSession(name: string, request: Request, client: HostClient): Session {
    const host = request.host ?? ''
    const key = `${host} ${name}`
    const parts = {
      host,
      client,
      environment: environmentOf(request, client, options),
      connect: (asked: Request, signal: AbortSignal) => connect(client, asked, [signal]),
    }
    const create = () =>
      createSession(name, {
        startShell: (beginning) => startHostShell(parts, beginning),
        shellName: request.shell ?? 'a shell of the host',
        size: null,
        detaches: false,
        opener: request.origin,
        cwd: '~',
        notices: [],
        idleMs: limits.sessionIdleMinutes * 60_000,
        ending: options.ending,
        onIdle: () => sessions.drop(key),
      })
    return sessions.get(key) ?? sessions.add(key, create)
  }

  const connect = (
    client: HostClient,
    request: Request,
    signals: readonly (AbortSignal | undefined)[],
  ) =>
    startWithin(request, 'connecting', [...signals, options.ending], (limit) =>
      client.connect(limit),
    )

  return {
    async runner(request, sink, signal) {
      const host = request.host ?? ''
      const client = findClient(host)
      refuseWhatIsMissing(request, client)
      if (request.session !== null)
        return openSession(request.session, request, client).run(request, sink, signal)
      await connect(client, request, [signal])
      return startOnHost({ request, sink, client, address: address(host), options, found: null })
    },
    resume: (found) => async (request, sink, signal) => {
      const client = findClient(found.address)
      // What goes on there is taken up also when its time is over.
      await connect(client, { ...request, timeoutMs: null }, [signal])
      return startOnHost({ request, sink, client, address: found.address, options, found })
    },
    list: () => sessions.list(),
    close: (name) => sessions.close(name),
    async closeAll() {
      await sessions.closeAll()
      await Promise.all([...clients.values()].map((client) => client.close()))
    },
  }
}

/** Throws `StartError` for what a run on another machine cannot have, before anything travels. */
function refuseWhatIsMissing(request: Request, { scheduler }: HostClient): void {
  const { session, pty, stdin, host, cores, memory, sbatch, sandbox, sandboxMayFallBack } = request
  const refuse = (code: string, message: string) => new StartError(code, message)
  if (session !== null && (scheduler || pty !== null || stdin.kind !== 'none')) {
    const what = scheduler ? 'is kept by no scheduler' : pty ? 'has no terminal' : 'reads no input'
    throw refuse('host_session', `A session on the host ${host} ${what}; run without one`)
  }
  const field =
    cores !== null ? 'cores' : memory !== null ? 'memory' : sbatch.length > 0 && 'sbatch'
  if (!scheduler && field) {
    const message = `\`${field}\` is for a scheduler, and the host ${host} is none; leave it out, or name slurm://[partition]`
    throw refuse('no_scheduler', message)
  }
  if (sandbox !== 'off' && !sandboxMayFallBack && (scheduler || session !== null)) {
    const why = scheduler ? 'a scheduler has none' : 'a session there has none'
    throw refuse('sandbox_unavailable', `The host ${host} has no sandbox for this run: ${why}`)
  }
}

interface HostStart {
  request: Request
  sink: OutputSink
  client: HostClient
  address: string
  options: HostOptions
  /** It runs there already. */
  found: KeptPlace | null
}

async function startOnHost(start: HostStart): Promise<Running> {
  const { request, client, address, options, found } = start
  const host = request.host ?? ''
  const name = found?.name ?? randomBytes(16).toString('hex')
  const startsIn = client.scheduler === null ? null : options.cwd
  const follower = followFrames(request, name, start.sink)

  async function call(script: string, write: OutputSink['write']): Promise<Running> {
    const prepare = async () => composeLaunch(request, client, script, options)
    const { terminal, pipe } = await options.attach(prepare)
    return (request.pty ? terminal : pipe)(toLocalRequest(request), { write })
  }

  async function open(): Promise<Running> {
    if (!outlivesConnection(start)) {
      return call(composeRunScript(request, { name, startsIn }), follower.write)
    }
    const script = composeRunScript(request, { name, startsIn, isAlone: true })
    const run = { name, script, mark: markThere(request.id), stop: describeStop(request) }
    return startKept(run, { isFound: found !== null, client, follower, call })
  }

  const running = await open()
  let stopping: Promise<StopReport> | null = null

  /** Its end has been told; a child of it may hold the connection for as long as it lives. */
  const released = follower.ended.then(async () => {
    await delay(clientGraceMs)
    await running.stop('kill')
    return running.exited
  })

  async function stop(reason: StopReason, how?: StopOptions): Promise<StopReport> {
    follower.state.isStopped = true
    stopping ??= stopOnHost(start, follower.state, running, [reason, how])
    return stopping
  }

  async function end(): Promise<Exit> {
    const exit = await Promise.race([running.exited, released])
    const known = await client.scheduler?.describeEnd(request.id, follower.state)
    return describeEnd(exit, follower, host, request, known)
  }

  return {
    ...running,
    exited: end(),
    stop,
    kept: outlivesConnection(start) ? { address, name } : null,
    // A scheduler may let it wait for hours.
    ...(client.scheduler && {
      begun: Promise.race([follower.begun, running.exited.then(() => {})]),
    }),
  }
}

/** A background job over there is found again by a new connection. */
function outlivesConnection({ request, client }: HostStart): boolean {
  const readsNothingMore = ['none', 'text'].includes(request.stdin.kind)
  return (
    request.mode === 'background' &&
    client.scheduler === null &&
    request.pty === null &&
    readsNothingMore
  )
}

/** The client on this machine reads what the command reads, or its lifeline, and writes to two pipes. */
function toLocalRequest(request: Request): Request {
  const { stdin } = request
  const relays = stdin.kind === 'descriptor' || stdin.kind === 'open'
  return {
    ...request,
    streams: request.pty ? 'merged' : 'separate',
    stdin: relays ? stdin : { kind: 'open' },
  }
}

function composeLaunch(
  request: Request,
  client: HostClient,
  script: string,
  options: HostOptions,
): Launch {
  const { file, args } = client.compose(script, request.pty !== null, request)
  const env = { ...environmentOf(request, client, options), [markVariable]: request.id }
  return { file, argv0: basename(file), args, env, cwd: '/', mark: request.id }
}

function environmentOf(
  { origin }: Request,
  { sendsVariables }: HostClient,
  { environment, secrets }: HostOptions,
): Record<string, string> {
  return copyWithout(sendsVariables ? secrets.withheldFrom(origin) : () => false, environment)
}

/**
 * Ends the run over there by a second call of the client, then the client. Where that call fails, the
 * end of the first client's input ends the run, if its host still hears of it. The run may be under way
 * there before anything is heard of it here.
 */
async function stopOnHost(
  start: HostStart,
  state: Heard,
  running: Running,
  [reason, how]: [StopReason, StopOptions | undefined],
): Promise<StopReport> {
  const { request, client } = start
  const stopClient = () => running.stop(reason)
  const { pid } = state
  if (client.scheduler !== null) {
    // The end of its input ends the run by its marks, also what the scheduler has lost sight of.
    if (request.pty === null && request.stdin.kind !== 'descriptor') running.endInput()
    const report = await client.scheduler.cancel(request.id, request.killAfterMs)
    await stopClient()
    return report
  }
  if (state.code !== undefined || state.refused) return stopClient()
  const stop = describeStop(request, how?.interrupt)
  const allowed = state.carried ? allowCarrying(stop) : stop
  const left = await endThere({
    client,
    assignment: runMark(markThere(request.id)),
    pid,
    stop: allowed,
  })
  if (left !== null) {
    // What has not told its beginning by now may never have begun.
    const isTold = () => state.code !== undefined || !state.begun
    await waitUntil(isTold, { everyMs: 10, mostMs: stopMarginMs })
  }
  await stopClient()
  if (left !== null) return { survivors: left }
  const command = `${startOf(request.command, 80)} (on ${request.host}, which did not answer)`
  return { survivors: pid === undefined ? [] : [{ pid, command }] }
}
