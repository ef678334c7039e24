import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type * as library from '../../lib/index.ts'
import { readCpuMs } from '../../lib/system/process/process-table.ts'
import { formatMs, formatRatio, printTable } from './table.ts'

/** In blocks by turns, so that all ways see the same machine. */
const blocks = 20
const turnsPerBlock = 100

/** A way to have a shell that stays run `true`. */
interface Way {
  name: string
  turn: () => Promise<unknown>
  shellPid: number
  ownMs: number
  shellMs: number
}

/** The processor time of a turn: what the calling process takes for it, and what its shell does. */
export async function benchTurns(): Promise<void> {
  const built = join(import.meta.dirname, '../../dist/index.js')
  const { createExecutor } = (await import(built)) as typeof library
  const stateDir = mkdtempSync(join(tmpdir(), 'nacre-bench-'))
  const executor = createExecutor({ stateDir })
  const bare = startBareShell()
  const openSession = async (name: string, sandbox: 'off' | 'workspace'): Promise<Way | null> => {
    const fields = { command: 'true', origin: 'agent', session: name, sandbox } as const
    const turn = () => executor.run(fields)
    const { exitCode } = await turn()
    const shellPid = executor.sessions.list().find((session) => session.name === name)?.pid
    return exitCode === 0 && shellPid ? { name, turn, shellPid, ownMs: 0, shellMs: 0 } : null
  }
  try {
    const sessions = [
      await openSession('a session', 'off'),
      await openSession('a session of the sandbox', 'workspace'),
    ]
    const ways = [bare.way, ...sessions.flatMap((way) => way ?? [])]
    for (const way of ways) await measureBlock(way)
    for (const way of ways) way.ownMs = way.shellMs = 0
    for (let block = 0; block < blocks; block++) for (const way of ways) await measureBlock(way)
    const perTurn = (ms: number) => ms / (blocks * turnsPerBlock)
    const base = bare.way.ownMs + bare.way.shellMs
    printTable(`Processor time of one turn (\`true\`), mean of ${blocks * turnsPerBlock}`, [
      ['way', 'own', 'the shell', 'both, of bare'],
      ...ways.map(({ name, ownMs, shellMs }) => [
        name,
        formatMs(perTurn(ownMs)),
        formatMs(perTurn(shellMs)),
        formatRatio((ownMs + shellMs) / base),
      ]),
    ])
  } finally {
    bare.end()
    await executor.close()
    rmSync(stateDir, { recursive: true, force: true })
  }
}

async function measureBlock(way: Way): Promise<void> {
  const own = process.cpuUsage()
  const shellMs = readCpuMs(way.shellPid)
  for (let turn = 0; turn < turnsPerBlock; turn++) await way.turn()
  const { user, system } = process.cpuUsage(own)
  way.ownMs += (user + system) / 1000
  way.shellMs += readCpuMs(way.shellPid) - shellMs
}

/** The least that a turn can be: a line to a bash that reads lines, and one back. */
function startBareShell(): { way: Way; end(): void } {
  const loop = 'while IFS= read -r line; do eval "$line"; echo "$?"; done'
  const child = spawn('bash', ['--norc', '-c', loop], { stdio: ['pipe', 'pipe', 'ignore'] })
  let answered = () => {}
  child.stdout.on('data', () => answered())
  const turn = () =>
    new Promise<void>((resolve) => {
      answered = resolve
      child.stdin.write('true\n')
    })
  const way = { name: 'bash that reads lines', turn, shellPid: child.pid ?? 0 }
  return { way: { ...way, ownMs: 0, shellMs: 0 }, end: () => child.stdin.end() }
}
