import { randomBytes } from 'node:crypto'
import { spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { nowMs } from '../../system/clock.ts'
import { limits } from '../../protocol/limits.ts'
import type { OutputSink, Runner, Running, StopReport } from '../../protocol/ports.ts'
import { StartError } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { StopReason, Survivor } from '../../protocol/result/result.ts'
import { buildEnvironment } from '../environment.ts'
import type { Launch, PrepareLaunch } from '../launch.ts'
import { changeRunning } from '../running.ts'
import { markVariable, ownerVariable } from '../stop.ts'
import { parseHostAddress } from './address.ts'
import { createHostClient, type HostClient } from './clients.ts'
import { describeEnd, followFrames, type FollowerState } from './follower.ts'
import { composeRunScript, composeStopScript, markThere, type RemoteCommand } from './script.ts'

export interface HostOptions {
  /** The environment of nacre, which the clients get. */
  environment: Readonly<Record<string, string | undefined>>
  /** Addresses by the names that the configuration gives them. */
  named: Readonly<Record<string, string>>
  /** The runner of this machine that starts the client, from how a request is made into a launch. */
  attach: (prepare: PrepareLaunch) => Promise<{ pipe: Runner; terminal: Runner }>
}

/** Starts runs on other machines. */
export interface Hosts {
  /** For requests whose `host` is set. */
  runner: Runner
  close(): Promise<void>
}

/** A longer script does not fit into one word of a program (execve(2): 128 KiB), encoded. */
const longestScript = 90 * 1024
/** A client that has not ended so long after its command is held by what the command left running. */
const clientGraceMs = 100
/** How long a stop may take over there beside its grace. */
const stopMarginMs = 5000

export function createHosts(options: HostOptions): Hosts {
  const clients = new Map<string, HostClient>()

  function findClient(host: string): HostClient {
    const address = options.named[host] ?? host
    const known = clients.get(address)
    if (known) return known
    const client = createHostClient(parseHostAddress(address), options.environment)
    clients.set(address, client)
    return client
  }

  return {
    async runner(request, sink) {
      const host = request.host ?? ''
      refuseWhatIsMissing(request)
      const client = findClient(host)
      await client.connect()
      return startOnHost({ request, sink, client, host, options })
    },
    async close() {
      await Promise.all([...clients.values()].map((client) => client.close()))
    },
  }
}

/** What a run on another machine cannot have is said before anything travels. */
function refuseWhatIsMissing(request: Request): void {
  const refuse = (code: string, message: string) => new StartError({ code, message, exitCode: 125 })
  if (request.sandbox !== 'off') {
    throw refuse(
      'sandbox_unavailable',
      `The sandbox of this machine does not reach to the host ${request.host}; run without one`,
    )
  }
  if (request.session !== null) {
    throw refuse('host_session', `Sessions on the host ${request.host} are not supported`)
  }
}

interface HostStart {
  request: Request
  sink: OutputSink
  client: HostClient
  host: string
  options: HostOptions
}

async function startOnHost(start: HostStart): Promise<Running> {
  const { request, client, host, options } = start
  const name = randomBytes(16).toString('hex')
  const script = composeRunScript(describeCommand(request, name))
  if (script.length > longestScript) {
    const message = `The command is too long for another machine: ${script.length} bytes with its environment, and at most ${longestScript} are given on`
    throw new StartError({ code: 'too_long', message, exitCode: 125 })
  }
  const follower = followFrames(request, name, start.sink)
  const runners = await options.attach(async () => composeLaunch(request, client, script, options))
  const local = toLocalRequest(request)
  const runner = request.pty ? runners.terminal : runners.pipe
  const running = await runner(local, { write: follower.write })
  let stopping: Promise<StopReport> | null = null

  void follower.ended.then(async () => {
    await delay(clientGraceMs)
    await running.stop('kill')
  })

  async function stop(reason: StopReason): Promise<StopReport> {
    stopping ??= stopOnHost(start, follower.state, () => running.stop(reason))
    return stopping
  }

  return changeRunning(() => running, {
    exited: running.exited.then((exit) => describeEnd(exit, follower, host, request)),
    stop,
  })
}

function describeCommand(request: Request, name: string): RemoteCommand {
  const { stdin } = request
  const environment = buildEnvironment(request, {
    base: {},
    falsePath: '/bin/false',
    toTerminal: false,
    owner: '',
  })
  for (const own of ['PWD', markVariable, ownerVariable]) delete environment[own]
  if (request.pty) delete environment['TERM']
  return {
    name,
    mark: markThere(request.id),
    command: request.command,
    cwd: request.cwdGiven ? request.cwd : null,
    shell: request.shell,
    login: request.login,
    env: { ...environment, ...request.env },
    merged: request.streams === 'merged',
    input: request.pty
      ? { kind: 'terminal' }
      : stdin.kind === 'text'
        ? { kind: 'lifeline', text: stdin.text }
        : stdin.kind === 'none' || stdin.kind === 'closed'
          ? { kind: 'lifeline', text: null }
          : { kind: 'client' },
    graceSeconds: limits.stopGraceMs / 1000,
  }
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
  { environment }: HostOptions,
): Launch {
  const { file, args } = client.compose(script, request.pty !== null)
  const env: Record<string, string> = { [markVariable]: request.id }
  for (const [key, value] of Object.entries(environment))
    if (value !== undefined) env[key] ??= value
  const argv0 = file.slice(file.lastIndexOf('/') + 1)
  return { file, argv0, args, env, cwd: '/', mark: request.id }
}

/**
 * Ends the run over there by a second call of the client, then the client. Where that call fails, the
 * end of the first client's input ends the run, if its host still hears of it.
 */
async function stopOnHost(
  { request, client, host }: HostStart,
  state: FollowerState,
  stopClient: () => Promise<StopReport>,
): Promise<StopReport> {
  const { pid } = state
  if (pid === null || state.code !== null) return stopClient()
  const left = await endThere(client, request, pid)
  if (left !== null) await waitForCode(state, stopMarginMs)
  await stopClient()
  if (left !== null) return { survivors: left }
  const command = `${request.command.slice(0, 80)} (on ${host}, which did not answer)`
  return { survivors: [{ pid, command }] }
}

async function waitForCode(state: FollowerState, timeoutMs: number): Promise<void> {
  const deadline = nowMs() + timeoutMs
  while (state.code === null && nowMs() < deadline) await delay(10)
}

/** What is left there; null where nobody could say. */
async function endThere(
  client: HostClient,
  request: Request,
  pid: number,
): Promise<Survivor[] | null> {
  const graceMs = limits.stopGraceMs
  const script = composeStopScript(markThere(request.id), pid, graceMs / 1000)
  const { file, args } = client.compose(`${script}\necho done`, false)
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'ignore'], detached: true })
  let said = ''
  child.stdout.on('data', (bytes: Buffer) => {
    said += bytes.toString('utf8')
  })
  const over = setTimeout(() => child.kill('SIGKILL'), graceMs + limits.killGraceMs + stopMarginMs)
  await new Promise<void>((resolve) => {
    child.once('error', () => resolve())
    child.once('close', () => resolve())
  })
  clearTimeout(over)
  const lines = said.trimEnd().split('\n')
  if (lines.at(-1) !== 'done') return null
  return lines.slice(0, -1).flatMap((line): Survivor[] => {
    const [, number, command = '?'] = /^(\d+) (.*)$/.exec(line) ?? []
    return number === undefined ? [] : [{ pid: Number(number), command }]
  })
}
