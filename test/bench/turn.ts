import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCaller } from '../../lib/wire/client.ts'
import { type CountOptions, type Counts, count, countsInstructions } from './instructions.ts'
import { median } from './measure.ts'
import { formatMs, formatRatio, printTable } from './table.ts'

const root = join(import.meta.dirname, '../..')
const bun = join(root, '.tools/bun/node_modules/@oven/bun-linux-x64/bin/bun')
const loop = join(import.meta.dirname, 'turns/loop.mjs')
/** Each way is counted so often, in turns with the others; what is told is the median. */
const rounds = 3

/** A way to have a process that is there already run `true`, or do the least that this can be compared with. */
interface Way {
  name: string
  /** A program that goes this way so often; where there are calls, a server that answers them. */
  words(turns: number): string[]
  /** The parameters of `shell.exec`. */
  call?: { command: string; session?: string; login?: boolean }
  /** Two numbers of turns: the difference between what they take leaves the start and the end out. */
  turns: readonly [few: number, many: number]
  /** What is compared with it: the sum of these ways. */
  bare: readonly string[]
}

const inSession = { turns: [500, 1500], bare: ['bare turn'] } as const
const inFreshShell = { turns: [50, 150], bare: ['bare spawn'] } as const

/**
 * What one more turn takes, in instructions, which hardly change with what else the machine does. With
 * `NACRE_BENCH_BESIDE=<folder>` another tree of nacre, which is built, is counted in turns with this one.
 */
export async function benchTurns(): Promise<void> {
  const byPerf = countsInstructions()
  if (!byPerf) console.log('\nperf(1) cannot count instructions here: processor time alone is told')
  const state = mkdtempSync(join(tmpdir(), 'nacre-bench-'))
  const env = { ...process.env, XDG_STATE_HOME: state, NODE_EXTRA_CA_CERTS: undefined }
  const beside = process.env['NACRE_BENCH_BESIDE']
  try {
    for (const [name, program, cli] of [
      ['Node', process.execPath, ['bin/nacre.js']],
      ['Bun', bun, ['dist/nacre']],
    ] as const) {
      if (!existsSync(program)) continue
      const words = (tree: string) => [...(name === 'Node' ? [program] : []), join(tree, ...cli)]
      const ways = [
        ...bareWays(program),
        ...waysOf(program, root, words(root), ''),
        ...(beside ? waysOf(program, beside, words(beside), ', beside') : []),
      ]
      const taken = await countWays(ways, byPerf, env)
      printTable(`One turn on ${name}: thousands of instructions, processor time, time`, [
        ['way', 'own', 'in kernel', 'time', 'with shell', 'time', 'of bare', 'passes', 'of bare'],
        ...ways.map((way) => describe(way, taken, byPerf)),
      ])
    }
  } finally {
    rmSync(state, { recursive: true, force: true })
  }
}

/** The least that each could be. */
function bareWays(program: string): Way[] {
  const way = (name: string) => ({
    name,
    words: (turns: number) => [program, loop, name, `${turns}`, root],
  })
  return [
    { ...way('bare turn'), ...inSession, bare: [] },
    { ...way('bare call'), ...inSession, bare: [], call: { command: 'true' } },
    { ...way('bare spawn'), ...inFreshShell, bare: [] },
  ]
}

/** What a tree of nacre does, as a library and, where its command line is built, over RPC. */
function waysOf(program: string, tree: string, cli: readonly string[], suffix: string): Way[] {
  const way = (name: string) => ({
    name: name + suffix,
    words: (turns: number) => [program, loop, name, `${turns}`, tree],
  })
  const ways: Way[] = [
    { ...way('session'), ...inSession },
    { ...way('sandbox'), ...inSession },
    { ...way('fresh'), ...inFreshShell },
  ]
  if (!existsSync(cli.at(-1) ?? '')) return ways
  const server = (name: string) => ({ name: name + suffix, words: () => [...cli, '--rpc'] })
  ways.push(
    {
      ...server('session by RPC'),
      turns: inSession.turns,
      call: { command: 'true', session: 'bench' },
      bare: ['bare call', 'bare turn'],
    },
    {
      ...server('fresh by RPC'),
      turns: inFreshShell.turns,
      call: { command: 'true', login: false },
      bare: ['bare call', 'bare spawn'],
    },
  )
  return ways
}

/** What one more turn of a way takes: its process, and with the shell. */
interface Taken {
  own: Counts
  all: Counts
}

async function countWays(
  ways: readonly Way[],
  byPerf: boolean,
  env: NodeJS.ProcessEnv,
): Promise<Map<string, Taken>> {
  const counted = ways.map(({ name }) => ({ name, own: [] as Counts[], all: [] as Counts[] }))
  for (let round = 0; round < rounds; round++) {
    for (const [index, way] of ways.entries()) {
      counted[index]?.own.push(await countTurn(way, byPerf, { alone: true, env }))
      counted[index]?.all.push(await countTurn(way, byPerf, { alone: false, env }))
    }
  }
  return new Map(
    counted.map(({ name, own, all }) => [name, { own: medians(own), all: medians(all) }]),
  )
}

async function countTurn(way: Way, byPerf: boolean, options: CountOptions): Promise<Counts> {
  const countTurns = (turns: number) =>
    count(way.words(turns), byPerf, { ...options, talk: talkFor(way, turns) })
  const [few, many] = way.turns
  const less = await countTurns(few)
  const more = await countTurns(many)
  return mapCounts((field) => (more[field] - less[field]) / (many - few))
}

function talkFor({ call }: Way, turns: number): CountOptions['talk'] {
  if (!call) return undefined
  return async (output, input) => {
    const caller = createCaller({ input, output }, {}, () => undefined)
    for (let count = 0; count < turns; count++) await caller.request('shell.exec', call)
    caller.fail('All was asked')
  }
}

function describe(
  { name, bare }: Way,
  taken: ReadonlyMap<string, Taken>,
  byPerf: boolean,
): string[] {
  const { own, all } = taken.get(name) ?? { own: sum([]), all: sum([]) }
  const least = sum(bare.flatMap((name) => taken.get(name)?.all ?? []))
  const thousands = (instructions: number) => (byPerf ? `${Math.round(instructions / 1000)}` : '')
  const ratio = (value: number, base: number) => (bare.length > 0 ? formatRatio(value / base) : '')
  const work = ({ user, kernel, cpuMs }: Counts) => (byPerf ? user + kernel : cpuMs)
  return [
    name,
    thousands(own.user),
    thousands(own.kernel),
    byPerf ? formatMs(own.cpuMs) : '',
    thousands(all.user + all.kernel),
    formatMs(all.cpuMs),
    ratio(work(all), work(least)),
    formatMs(all.ms),
    ratio(all.ms, least.ms),
  ]
}

const medians = (counts: readonly Counts[]): Counts =>
  mapCounts((field) => median(counts.map((it) => it[field])))

const sum = (counts: readonly Counts[]): Counts =>
  mapCounts((field) => counts.reduce((total, it) => total + it[field], 0))

function mapCounts(map: (field: keyof Counts) => number): Counts {
  return { user: map('user'), kernel: map('kernel'), cpuMs: map('cpuMs'), ms: map('ms') }
}
