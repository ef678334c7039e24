/**
 * `npm run soak [-- count]`: how one nacre lives for long. 100,000 runs (or `count`) over one `--rpc`, fresh and in
 * sessions, short and with output that is kept, in a heap of 256 MB, on a state folder that is old and full: 5,000
 * artifacts that have expired and 9,000 that have not. Every answer is looked at; memory, descriptors and files at
 * the end are compared with those of the 1,000th run.
 *
 * Exit status 1 if an answer was wrong or if something grew.
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, startClient } from '../../lib/client.ts'
import { cliCommand } from '../helpers/cli.ts'

const total = Number(process.argv[2] ?? 100_000)
/** After so many runs everything that is loaded on first use is there. */
const warm = Math.min(1000, Math.floor(total / 2))
const atOnce = 4
const heapMb = 256
const stored = { expired: 5000, young: 9000 }
const dayMs = 24 * 3600 * 1000
/** Pipes that wait to be used again. */
const idlePipes = 16
/** What a collector that has not run yet, and fragments, may take. */
const growthMb = 40

interface Sizes {
  rssMb: number
  descriptors: number
  /** Below the state folder, but for artifacts. */
  files: number
}

/** Artifacts as an earlier nacre has left them. */
function fillStore(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  for (let index = 0; index < stored.expired + stored.young; index++) {
    // The digits of an id are letters.
    const digits = [...String(index).padStart(17, '0')]
    const id = `art_old${digits.map((digit) => 'abcdefghij'[Number(digit)]).join('')}`
    const changed = new Date(Date.now() - (index < stored.expired ? 30 : 1) * dayMs)
    const record = {
      ...{ id, runId: `run_old${index}`, command: 'seq 10', stream: 'output', belongsTo: null },
      ...{ createdAt: changed.toISOString(), endedAt: changed.toISOString() },
      ...{ bytes: 21, complete: true, writer: { pid: 1, startedAt: '0' } },
    }
    for (const [name, text] of [
      [`${id}.log`, '1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n'],
      [`${id}.json`, `${JSON.stringify(record)}\n`],
    ] as const) {
      writeFileSync(join(dir, name), text, { mode: 0o600 })
      utimesSync(join(dir, name), changed, changed)
    }
  }
}

function measure(pid: number, state: string): Sizes {
  const rss = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0'
  const files = readdirSync(state, { recursive: true, encoding: 'utf8' })
  return {
    rssMb: Number(rss) / 1024,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    files: files.filter((name) => !name.includes('artifacts')).length,
  }
}

/** One run of each kind in turn; gives what is wrong with its answer. */
async function runOnce(client: Client, index: number): Promise<string | null> {
  const session = index % 2 === 0 ? { session: `s${index % atOnce}` } : {}
  const lines = index % 500 === 1 ? 30_000 : 1
  const code = index % 7 === 3 ? 3 : 0
  // In a session `exit` would end the shell.
  const command = `seq ${index} ${index + lines - 1}; (exit ${code})`
  // What is over its bounds is kept as an artifact.
  const bounds = lines > 1 ? { max_lines: 10 } : {}
  const request = { command, shell: 'bash', ...session, ...bounds }
  const answer = await client.request('shell.exec', request)
  const last = answer.stdout.trimEnd().split('\n').at(-1)
  if (answer.exit_code === code && last === String(index + lines - 1)) return null
  return `run ${index}: exit code ${answer.exit_code}, expected ${code}; last line ${last}`
}

const home = mkdtempSync(join(tmpdir(), 'nacre-soak-'))
const state = join(home, 'state')
const wrong: string[] = []
try {
  fillStore(join(state, 'nacre', 'artifacts'))
  const env = {
    ...process.env,
    ...{ HOME: home, XDG_STATE_HOME: state, SHELL: '/bin/bash' },
    NODE_OPTIONS: `--max-old-space-size=${heapMb}`,
  }
  const [program = '', ...words] = cliCommand()
  const client = await startClient({ command: [program, ...words, '--rpc'], env })
  let next = 0
  let before: Sizes | null = null
  const startedMs = performance.now()
  const work = async () => {
    for (let index = next++; index < total; index = next++) {
      const fault = await runOnce(client, index)
      if (fault !== null) wrong.push(fault)
      if (index === warm) before = measure(client.pid, state)
      if (index > 0 && index % 10_000 === 0) {
        const { rssMb, descriptors, files } = measure(client.pid, state)
        const rate = (index / (performance.now() - startedMs)) * 1000
        console.log(
          `${index} runs, ${rate.toFixed(0)} a second, ${rssMb.toFixed(0)} MB, ${descriptors} descriptors, ${files} files`,
        )
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  const seconds = (performance.now() - startedMs) / 1000
  const first = before ?? measure(client.pid, state)
  const after = measure(client.pid, state)
  console.log(`${total} runs in ${seconds.toFixed(0)} s, ${(total / seconds).toFixed(0)} a second`)
  console.table({ [`run ${warm}`]: first, [`run ${total}`]: after })
  if (after.rssMb - first.rssMb > growthMb) wrong.push('its memory grew')
  if (after.descriptors > first.descriptors + idlePipes) wrong.push('its descriptors grew')
  if (after.files > first.files + atOnce) wrong.push('its files grew')
  const status = await client.close()
  if (status !== 0) wrong.push(`it ended with ${status}`)
  const ids = readdirSync(join(state, 'nacre', 'artifacts')).filter((name) =>
    name.startsWith('art_old'),
  )
  console.log(`${ids.length / 2} of the ${stored.expired + stored.young} old artifacts are left`)
  if (ids.length > 2 * stored.young) wrong.push('what had expired is still there')
} finally {
  rmSync(home, { recursive: true, force: true })
}
for (const fault of wrong.slice(0, 20)) console.error(fault)
process.exitCode = wrong.length > 0 ? 1 : 0
