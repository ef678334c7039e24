import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import type { RpcMethods } from './protocol/rpc/methods.ts'
import { type Caller, type CallerOptions, createCaller } from './wire/client.ts'

export type {
  ClientMethods,
  JobSummary,
  MethodName,
  RequestId,
  RpcErrorObject,
  RpcMethods,
  RpcNotifications,
  ShellExecResult,
} from './protocol/rpc/methods.ts'
export { RpcError, type RpcNotification } from './wire/client.ts'

/** What every client says of itself and hears. */
export interface GreetingOptions extends CallerOptions {
  /** Sent with `initialize`. */
  client?: { name: string; version?: string }
  toolNames?: string[]
}

export interface ClientOptions extends GreetingOptions {
  /** Any command line that speaks the protocol: `['nacre', '--rpc']`, `['ssh', 'host', 'nacre', '--rpc']`. */
  command: readonly [program: string, ...words: string[]]
  cwd?: string
  /** The whole environment of that program. Default: that of this process. */
  env?: Readonly<Record<string, string | undefined>>
}

export interface Connected {
  readonly server: RpcMethods['initialize']['result']
  readonly request: Caller['request']
}

export interface Client extends Connected {
  /** Of the program on the other side. */
  readonly pid: number
  /** Ends the program's input, which stops all its work. Gives its exit status, null after a signal. */
  close(): Promise<number | null>
}

/** Starts the program and greets it. Rejects with `RpcError` where it cannot be started. */
export async function startClient(options: ClientOptions): Promise<Client> {
  const { command, cwd, env } = options
  const [program, ...words] = command
  const child = spawn(program, words, { cwd, env: env ?? process.env, stdio: piped })
  const streams = { input: child.stdout, output: child.stdin }
  const caller = createCaller(streams, options, () => child.kill())
  const ended = new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      caller.fail(`${program} could not be started: ${error.message}`)
      resolve(null)
    })
    child.once('close', (status, signal) => {
      caller.fail(`${program} has ended (${signal ?? status})`)
      resolve(status)
    })
  })
  // Writing fails because the program has ended, which `close` above tells every caller.
  child.stdin.on('error', () => undefined)
  const server = await greet(caller, options).catch(async (error: unknown) => {
    // The caller gets no client by which it could end the program, so it is ended here.
    caller.fail(`${program} was not greeted`)
    await ended
    throw error
  })
  return {
    server,
    pid: child.pid ?? 0,
    request: caller.request,
    close() {
      child.stdin.end()
      return ended
    },
  }
}

/**
 * Reaches a nacre that holds jobs by its socket (`socket` of a job's record) and greets it; of its
 * methods those of jobs are there. Rejects with `RpcError` where nobody answers.
 */
export async function connectClient(
  path: string,
  options: GreetingOptions = {},
): Promise<Connected & { close(): void }> {
  const socket = connect(path)
  const streams = { input: socket, output: socket }
  const caller = createCaller(streams, options, () => socket.destroy())
  socket.once('error', (error) => caller.fail(`${path} cannot be reached: ${error.message}`))
  socket.once('close', () => caller.fail(`${path} was closed by the other side`))
  const server = await greet(caller, options)
  return { server, request: caller.request, close: () => void socket.end() }
}

function greet(
  { request }: Caller,
  { client, toolNames, onApproval }: GreetingOptions,
): Promise<RpcMethods['initialize']['result']> {
  return request('initialize', {
    ...(client && { client }),
    ...(toolNames && { tool_names: toolNames }),
    capabilities: { supports_approval: onApproval !== undefined },
  })
}

const piped: ['pipe', 'pipe', 'inherit'] = ['pipe', 'pipe', 'inherit']
