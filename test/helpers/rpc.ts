import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, type ClientOptions, startClient } from '../../lib/client.ts'
import { cliCommand } from './cli.ts'
import { endJobs } from './jobs.ts'

/** So that a test that waits in vain fails, and tells what came instead. */
const patienceMs = 30_000

export type Message = Record<string, unknown>

/** A server spoken to line by line, so that a test can say what no client would. */
export interface RpcProcess {
  readonly child: ChildProcess
  /** Every message so far, each once. */
  readonly received: readonly Message[]
  send(message: unknown): void
  sendRaw(bytes: string | Uint8Array): void
  /** The first message not taken yet that matches; waits for it. Rejects when the server ends before. */
  next(matches: (message: Message) => boolean): Promise<Message>
  /** The response with this id. */
  response(id: unknown): Promise<Message>
  /** Sends a request and takes its response. */
  call(method: string, params?: unknown): Promise<Message>
  /** Ends the input; gives the exit status. */
  end(): Promise<number | null>
  readonly ended: Promise<number | null>
}

/** A folder for the state of one test's nacre, removed by `remove`. */
export function createState(): { env: NodeJS.ProcessEnv; dir: string; remove(): void } {
  const dir = mkdtempSync(join(tmpdir(), 'nacre-rpc-test-'))
  return {
    dir,
    env: { ...process.env, XDG_STATE_HOME: dir, SHELL: '/bin/bash', HOME: dir },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}

/** Runs `use` with a server and sees that it ends with status 0. */
export async function withRpc(
  use: (rpc: RpcProcess) => Promise<void>,
  words: string[] = ['--rpc'],
): Promise<void> {
  const state = createState()
  const rpc = startRpc(words, state.env)
  try {
    await use(rpc)
    const status = await rpc.end()
    if (status !== 0) throw new Error(`nacre ended with ${status}`)
  } finally {
    rpc.child.kill('SIGKILL')
    await rpc.ended
    await endJobs(state.dir)
    state.remove()
  }
}

/** The same through the typed client. */
export async function withClient(
  use: (client: Client) => Promise<void>,
  options: Omit<ClientOptions, 'command'> = {},
): Promise<void> {
  const state = createState()
  const [program = '', ...words] = cliCommand()
  const client = await startClient({
    env: state.env,
    ...options,
    command: [program, ...words, '--rpc'],
  })
  let status: number | null = null
  try {
    await use(client)
  } finally {
    status = await client.close()
    await endJobs(state.dir)
    state.remove()
  }
  if (status !== 0) throw new Error(`nacre ended with ${status}`)
}

export function startRpc(words: string[], env: NodeJS.ProcessEnv): RpcProcess {
  const [program = '', ...first] = cliCommand()
  const child = spawn(program, [...first, ...words], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  const received: Message[] = []
  const taken = new Set<Message>()
  const waiting: { matches(message: Message): boolean; resolve(message: Message): void }[] = []
  const refused: ((error: Error) => void)[] = []
  let rest = ''
  let count = 1000

  function take(message: Message): void {
    received.push(message)
    const index = waiting.findIndex((wait) => wait.matches(message))
    if (index < 0) return
    taken.add(message)
    waiting.splice(index, 1)[0]?.resolve(message)
  }

  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (text: string) => {
    rest += text
    // A long line comes in many pieces.
    if (!text.includes('\n')) return
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const value = JSON.parse(line) as Message | Message[]
      for (const message of Array.isArray(value) ? value : [value]) take(message)
    }
  })
  child.stdin.on('error', () => undefined)
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (status) => {
      for (const refuse of refused) refuse(new Error(`nacre ended with ${status}`))
      resolve(status)
    })
  })
  const rpc: RpcProcess = {
    child,
    received,
    ended,
    sendRaw: (bytes) => void child.stdin.write(bytes),
    send: (message) => rpc.sendRaw(`${JSON.stringify(message)}\n`),
    next(matches) {
      const found = received.find((message) => !taken.has(message) && matches(message))
      if (found) {
        taken.add(found)
        return Promise.resolve(found)
      }
      return new Promise((resolve, reject) => {
        const deadline = setTimeout(() => {
          const said = received.map((message) => JSON.stringify(message).slice(0, 600)).join('\n')
          reject(new Error(`no such message came:\n${said}`))
        }, patienceMs)
        const settle = (message: Message) => {
          clearTimeout(deadline)
          resolve(message)
        }
        waiting.push({ matches, resolve: settle })
        refused.push((error) => {
          clearTimeout(deadline)
          reject(error)
        })
      })
    },
    response: (id) => rpc.next((message) => message['id'] === id && !('method' in message)),
    call(method, params) {
      const id = ++count
      rpc.send({ jsonrpc: '2.0', id, method, params })
      return rpc.response(id)
    },
    end() {
      child.stdin.end()
      return ended
    },
  }
  return rpc
}
