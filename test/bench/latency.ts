import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type * as library from '../../lib/index.ts'
import type { Executor } from '../../lib/executor/executor.ts'
import { measure, median } from './measure.ts'
import { formatMb, formatMs, formatRatio, printTable } from './table.ts'

const root = join(import.meta.dirname, '../..')
const peers = join(root, '.tools/peers')
const rounds = 200

/** Milliseconds. */
interface Times {
  builtin: number
  program: number
}

/** What one run costs inside a process that is already there. */
export async function benchLatency(): Promise<void> {
  await withExecutor(async (executor) => {
    const run = (command: string, session?: string) => async () => {
      const where = session === undefined ? {} : { session }
      await executor.run({ command, origin: 'agent', sandbox: 'off', ...where })
    }
    const timeBoth = async (way: (command: string) => () => Promise<void>, apartMs = 0) => ({
      builtin: await time(way('true'), apartMs),
      program: await time(way('/bin/true'), apartMs),
    })
    const plain = (command: string) => () => spawnPlain(command)
    const inSession = (command: string) => run(command, 's')
    const natives = await timeNatives()
    for (const [name, apartMs] of [
      ['back to back', 0],
      ['20 ms apart', 20],
    ] as const) {
      const base = await timeBoth(plain, apartMs)
      const rows: [way: string, Times][] = [
        ['in a session', await timeBoth(inSession, apartMs)],
        ['fresh', await timeBoth((command) => run(command), apartMs)],
      ]
      if (natives && apartMs === 0) rows.push(['pi-natives, shell kept open', natives])
      printTable(`One run, ${name}, median of ${rounds} (of: plain spawn of bash -c)`, [
        ['way', 'true', 'of', '/bin/true', 'of'],
        ['plain spawn of bash -c', formatMs(base.builtin), '', formatMs(base.program), ''],
        ...rows.map(([way, { builtin, program }]) => [
          way,
          formatMs(builtin),
          formatRatio(builtin / base.builtin),
          formatMs(program),
          formatRatio(program / base.program),
        ]),
      ])
    }
  })
}

/** Nothing may be left: descriptors, processes, memory. */
export async function benchEndurance(): Promise<void> {
  await withExecutor(async (executor) => {
    const run = (command: string) => executor.run({ command, origin: 'agent', guard: false })
    await run('true')
    const before = { fds: countDescriptors(), bytes: process.memoryUsage().rss }
    const oneByOne = performance.now()
    for (let round = 0; round < 1000; round++) await run('echo x')
    const oneByOneMs = performance.now() - oneByOne
    const together = performance.now()
    await Promise.all(Array.from({ length: 64 }, () => run('sleep 0.1; seq 1 1000')))
    const togetherMs = performance.now() - together
    printTable('Endurance', [
      ['1,000 runs one by one', '64 at once', 'descriptors left', 'memory growth'],
      [
        formatMs(oneByOneMs),
        formatMs(togetherMs),
        String(countDescriptors() - before.fds),
        formatMb(process.memoryUsage().rss - before.bytes),
      ],
    ])
  })
}

async function withExecutor(use: (executor: Executor) => Promise<void>): Promise<void> {
  // As it is shipped: `npm run bench` is run after a build.
  const { createExecutor } = (await import(join(root, 'dist/index.js'))) as typeof library
  const stateDir = mkdtempSync(join(tmpdir(), 'nacre-bench-'))
  const executor = createExecutor({ stateDir })
  try {
    await use(executor)
  } finally {
    await executor.close()
    rmSync(stateDir, { recursive: true, force: true })
  }
}

async function time(run: () => Promise<void>, apartMs = 0): Promise<number> {
  await run()
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    if (apartMs > 0) await delay(apartMs)
    const started = performance.now()
    await run()
    times.push(performance.now() - started)
  }
  return median(times)
}

function spawnPlain(command: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.resume()
    child.stderr.resume()
    child.on('error', reject).on('close', () => resolve())
  })
}

/** The in-process shell needs Bun; null where either is not installed. */
async function timeNatives(): Promise<Times | null> {
  const bun = join(peers, 'node_modules/@oven/bun-linux-x64/bin/bun')
  if (!existsSync(bun)) return null
  const script = join(import.meta.dirname, 'peers/natives.mjs')
  const env = { NACRE_BENCH_PEERS: peers }
  const { finished, stdout } = await measure([bun, script, String(rounds)], { env })
  return finished ? (JSON.parse(stdout) as Times) : null
}

function countDescriptors(): number {
  return readdirSync('/proc/self/fd').length
}
