import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type * as library from '../../lib/index.ts'
import { createArtifactStore } from '../../lib/output/artifact/store.ts'
import { limits } from '../../lib/protocol/limits.ts'
import { measure, median } from './measure.ts'
import { formatMb, formatMs, printTable } from './table.ts'

const root = join(import.meta.dirname, '../..')
const artifactBytes = Number(process.env['NACRE_BENCH_READ_BYTES'] ?? 5e9)
const reads = 1000
/** Each is a process of its own, which looks the artifact over. */
const cliReads = 3
/** One of so many lines is longer than a reading gives at once. */
const longEvery = 50_021
const longChars = 200_000

/** Reads of single lines anywhere in a large artifact, long ones among them, each held against `sed -n`. */
export async function benchReads(): Promise<void> {
  const state = mkdtempSync(join(tmpdir(), 'nacre-bench-'))
  const dir = join(state, 'nacre/artifacts')
  try {
    const { id, path, lines } = await writeArtifact(dir)
    const wanted = Array.from({ length: reads }, (_, at) => {
      const line = 1 + Math.floor(Math.random() * lines)
      return at % 20 === 0 ? Math.max(line - (line % longEvery), longEvery) : line
    })
    const printed = printBySed(path, wanted)
    const check = (line: number, text: string) => {
      if (!isShown(printed.get(line), text)) throw new Error(`line ${line} is not what sed prints`)
    }
    // As it is shipped: what the loader of TypeScript adds to each import() is no reading.
    const { createExecutor } = (await import(join(root, 'dist/index.js'))) as typeof library
    const store = createExecutor({ stateDir: null, artifactDir: dir }).artifacts!
    const read = (line: number) => store.read(id, { offset: line - 1, limit: 1 })

    const indexMs = await timeOf(() => read(lines))
    const times: number[] = []
    const cpuTimes: number[] = []
    for (const line of wanted) {
      const before = process.cpuUsage()
      const started = performance.now()
      const { text } = await read(line)
      times.push(performance.now() - started)
      const { user, system } = process.cpuUsage(before)
      cpuTimes.push((user + system) / 1000)
      check(line, text)
    }
    const cliTimes: number[] = []
    for (const line of wanted.slice(0, cliReads)) {
      const words = ['artifact', 'show', id, '--offset', String(line), '--limit', '1', '-q']
      const shown = await measure([process.execPath, join(root, 'bin/nacre.js'), ...words], {
        env: { XDG_STATE_HOME: state },
      })
      cliTimes.push(shown.ms)
      check(line, shown.stdout)
    }
    printTable(`One line of ${formatMb(artifactBytes)} in ${lines} lines, ${reads} reads`, [
      ['index', 'median', '99 %', 'longest', 'most CPU', 'whole process, median'],
      [
        formatMs(indexMs),
        formatMs(median(times)),
        formatMs(times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!),
        formatMs(Math.max(...times)),
        formatMs(Math.max(...cpuTimes)),
        formatMs(median(cliTimes)),
      ],
    ])
  } finally {
    rmSync(state, { recursive: true, force: true })
  }
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

/** Lines of many lengths. Only the beginning goes the way of a run, since the rest is the same. */
async function writeArtifact(dir: string): Promise<{ id: string; path: string; lines: number }> {
  const store = createArtifactStore({ dir, artifactBytes: 2 * artifactBytes })
  const writer = store.create({ runId: 'run_bench', command: 'seq', stream: 'output' })
  await writer.write(Buffer.from('line 1\n'))
  const { artifact } = await writer.finish()
  const { id, path } = artifact!
  const file = openSync(path, 'a')
  let lines = 1
  let piece = ''
  for (let written = 0; written < artifactBytes;) {
    lines++
    piece += lineOf(lines)
    if (piece.length < 4_000_000) continue
    written += writeSync(file, piece)
    piece = ''
  }
  writeSync(file, piece)
  closeSync(file)
  return { id, path, lines }
}

/** What line `line` of the artifact holds. */
function lineOf(line: number): string {
  if (line === 1) return 'line 1\n'
  const length = line % longEvery === 0 ? longChars : (line * 7919) % 160
  return `line ${line} ${'x'.repeat(length)}\n`
}

/** What sed prints of these lines, in one pass. */
function printBySed(path: string, wanted: readonly number[]): Map<number, string> {
  const lines = [...new Set(wanted)].sort((a, b) => a - b)
  // Each line passes one address only: all that stand before it are over.
  const script = lines.map(
    (line) => `:${line}\n${line}{p;n;b next${line}}\nn;b${line}\n:next${line}`,
  )
  const printed = execFileSync('sed', ['-n', '-f', '-', path], {
    input: `${script.join('\n')}\nq\n`,
    encoding: 'utf8',
    maxBuffer: 1e9,
  })
  return new Map(printed.split(/(?<=\n)/).map((text, at) => [lines[at] ?? 0, text]))
}

/** A reading gives so much of a line. */
function isShown(line: string | undefined, text: string): boolean {
  return line !== undefined && text === line.slice(0, limits.maxBytes)
}
