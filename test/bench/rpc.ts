import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, startClient } from '../../lib/client.ts'
import { createLineReader } from '../../lib/wire/json-lines.ts'

const root = join(import.meta.dirname, '../..')
const pi = join(root, '.tools/pi/node_modules/@mariozechner/pi-coding-agent/dist/cli.js')

/** How many of each way: enough for a second or so of the quickest. */
const sessionCalls = 5000
const freshCalls = 300
const together = 32

/** Calls a second of `true` over one connection, as rows of a table; the first is the head. */
export async function rows(): Promise<string[][]> {
  const state = mkdtempSync(join(tmpdir(), 'nacre-bench-'))
  const env = { ...process.env, XDG_STATE_HOME: state, SHELL: 'bash' }
  const client = await startClient({
    command: [process.execPath, join(root, 'bin/nacre.js'), '--rpc'],
    env,
  })
  try {
    const table = [['RPC, `true` over one connection', 'one by one', `${together} at once`]]
    const session = exec(client, { session: 'bench' })
    table.push(['shell.exec in a session', ...(await rates(session, sessionCalls))])
    table.push([
      'shell.exec, fresh shell',
      ...(await rates(exec(client, { login: false }), freshCalls)),
    ])
    const dialects: [string, string[]][] = [
      ['nacre, bash of the second dialect', [join(root, 'bin/nacre.js'), '--mode', 'rpc']],
    ]
    if (existsSync(pi)) dialects.push(['pi, bash', [pi, '--mode', 'rpc', '--no-session']])
    for (const [name, words] of dialects) {
      const peer = startPi(words, { ...env, PI_OFFLINE: '1', HOME: state })
      try {
        table.push([name, ...(await rates(peer.bash, freshCalls))])
      } finally {
        await peer.close()
      }
    }
    return table
  } finally {
    await client.close()
    rmSync(state, { recursive: true, force: true })
  }
}

function exec(client: Client, options: { session?: string; login?: boolean }) {
  return async () => void (await client.request('shell.exec', { command: 'true', ...options }))
}

/** Calls a second, one after another and `together` at once. */
async function rates(call: () => Promise<void>, calls: number): Promise<string[]> {
  for (let warm = 0; warm < 20; warm++) await call()
  const told: string[] = []
  for (const width of [1, together]) {
    const startedMs = performance.now()
    const work = async () => {
      for (let count = 0; count < calls / width; count++) await call()
    }
    await Promise.all(Array.from({ length: width }, work))
    const seconds = (performance.now() - startedMs) / 1000
    told.push(`${Math.round((Math.ceil(calls / width) * width) / seconds)} /s`)
  }
  return told
}

/** As much of a client of pi's dialect as `bash` needs, the same for both. */
function startPi(words: string[], env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, words, { env, stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const waiting = new Map<string, () => void>()
  let count = 0
  const reader = createLineReader({
    maxBytes: Infinity,
    onLine(line) {
      const { type, id } = JSON.parse(Buffer.from(line).toString()) as Record<string, string>
      if (type === 'response') waiting.get(id ?? '')?.()
    },
    onTooLong: () => undefined,
  })
  child.stdout.on('data', (chunk: Buffer) => reader.write(chunk))
  return {
    bash: () =>
      new Promise<void>((resolve) => {
        const id = `${++count}`
        waiting.set(id, resolve)
        child.stdin.write(`${JSON.stringify({ type: 'bash', command: 'true', id })}\n`)
      }),
    async close() {
      child.stdin.end()
      await ended
    },
  }
}
