import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startClient } from '../../lib/client.ts'
import { writeEnd } from '../../lib/executor/jobs/record.ts'
import { createId } from '../../lib/protocol/wire.ts'
import { createLineReader } from '../../lib/wire/json-lines.ts'
import type { Result } from '../../lib/protocol/result/result.ts'
import { identifySelf } from '../../lib/system/process/process-table.ts'
import { formatMb, formatMs, formatRatio, printTable } from './table.ts'

const program = join(import.meta.dirname, '../../bin/nacre.js')
/** A little more than a MB of text. */
const megabyte = 'seq 150000'
const calls = 200

/** What ended runs cost those that come after them. */
export async function benchKept(): Promise<void> {
  await inOwnState(async (state) =>
    printTable('Memory after runs of 1 MB', await memoryRows(state)),
  )
  await inOwnState(async (state) =>
    printTable('Own CPU of an MCP call of `true`', await callRows(state)),
  )
}

/** Of `nacre --rpc`: runs that were waited for, then as many jobs. */
async function memoryRows(state: string): Promise<string[][]> {
  const env = { ...process.env, XDG_STATE_HOME: state }
  const client = await startClient({ command: [process.execPath, program, '--rpc'], env })
  const table = [['resident memory', 'after 10', 'after 1000', 'more']]
  try {
    const request = { command: megabyte, login: false }
    const ways = {
      runs: () => client.request('shell.exec', request),
      async jobs() {
        const { id } = await client.request('shell.start', request)
        await client.request('shell.wait', { id })
      },
    }
    for (const [name, run] of Object.entries(ways)) {
      for (let count = 0; count < 10; count++) await run()
      const before = readResidentBytes(client.pid)
      for (let count = 10; count < 1000; count++) await run()
      const after = readResidentBytes(client.pid)
      table.push([name, formatMb(before), formatMb(after), formatMb(after - before)])
    }
    return table
  } finally {
    await client.close()
  }
}

async function callRows(state: string): Promise<string[][]> {
  const none = await measureCalls(state)
  keepJobs(join(state, 'nacre', 'jobs'), 500)
  const many = await measureCalls(state)
  return [
    ['kept jobs', 'CPU of a call', 'ratio'],
    ['none', formatMs(none), ''],
    ['500', formatMs(many), formatRatio(many / none)],
  ]
}

/** The median of several servers, in milliseconds for one call. */
async function measureCalls(state: string): Promise<number> {
  const env = { ...process.env, XDG_STATE_HOME: state }
  const server = spawn(process.execPath, [program, 'mcp'], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ask = createAsker(server)
  await ask('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  })
  const call = () => ask('tools/call', { name: 'bash', arguments: { command: 'true' } })
  for (let warm = 0; warm < calls; warm++) await call()
  const before = readCpuMs(server.pid ?? 0)
  for (let count = 0; count < calls; count++) await call()
  const after = readCpuMs(server.pid ?? 0)
  const ended = new Promise((resolve) => server.once('close', resolve))
  server.stdin.end()
  await ended
  return (after - before) / calls
}

type Server = ChildProcess & {
  stdin: NonNullable<ChildProcess['stdin']>
  stdout: NonNullable<ChildProcess['stdout']>
}

/** One question at a time. */
function createAsker(server: Server) {
  let answered = (_line: string) => {}
  const reader = createLineReader({
    maxBytes: 1 << 24,
    onLine: (line) => answered(Buffer.from(line).toString()),
    onTooLong: () => answered('{"error": "too long"}'),
  })
  server.stdout.on('data', (chunk: Buffer) => reader.write(chunk))
  let id = 0
  return async (method: string, params: object): Promise<void> => {
    const line = await new Promise<string>((resolve) => {
      answered = resolve
      server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })}\n`)
    })
    if ('error' in (JSON.parse(line) as object)) throw new Error(`${method}: ${line}`)
  }
}

/** Jobs as another nacre leaves them at their end. */
function keepJobs(dir: string, count: number): void {
  const now = new Date().toISOString()
  const text = Buffer.alloc(64 * 1024, 'kept\n')
  for (let made = 0; made < count; made++) {
    const record = {
      id: createId('run'),
      command: 'true',
      cwd: '/',
      origin: 'mcp' as const,
      pty: null,
      process: null,
      owner: { ...identifySelf(), startTime: '1' },
      socket: null,
      startedAt: now,
      endedAt: now,
      artifact: null,
      stderrArtifact: null,
      kept: null,
      result: { status: 'exited', exitCode: 0, output: 'kept\n'.repeat(1000) } as Result,
    }
    writeEnd(dir, record, { output: { text, start: 0 } })
  }
}

async function inOwnState(work: (state: string) => Promise<void>): Promise<void> {
  const state = mkdtempSync(join(tmpdir(), 'nacre-bench-'))
  try {
    await work(state)
  } finally {
    rmSync(state, { recursive: true, force: true })
  }
}

function readResidentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024
}

/** utime and stime of proc(5), in clock ticks of 10 ms; what it has started is not in them. */
function readCpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}
