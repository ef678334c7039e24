import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../../lib/system/look.ts'
import { compareMedians } from './measure.ts'
import { formatMs, formatRatio, printTable } from './table.ts'

const root = join(import.meta.dirname, '../..')
const cli = join(root, 'bin/nacre.js')
const tools = join(root, '.tools')
const rounds = 21

/**
 * How long a whole process takes, against the least that its runtime takes.
 *
 * Of its 41 MB of memory 35 are pages of the file that the kernel maps around each one touched, 6.5 its own. Which
 * it maps depends on how the file came into the kernel's cache: copies of one executable differ by 3 MB, those of
 * an empty program by 4 (20 and 24 MB), so compare only files that were copied in the same moment.
 */
export async function benchStart(): Promise<void> {
  const programs: Record<string, readonly string[]> = {
    'node -e 0': [process.execPath, '-e', '0'],
    'bash -c true': ['bash', '-c', 'true'],
    ...whereInstalled('deno eval 0', 'deno/node_modules/@deno/linux-x64-glibc/deno', ['eval', '0']),
    ...whereInstalled('bun -e 0', 'bun/node_modules/@oven/bun-linux-x64/bin/bun', ['-e', '0']),
    ...bothUses('nacre', [process.execPath, cli]),
    ...bothUses('executable', [join(root, 'dist/nacre')]),
    ...bothUses('executable on Node', [join(root, 'dist/nacre-node')]),
    ...peersOnPath(),
  }
  // A certificate file of its own costs Node 20 another 40 ms, with or without nacre.
  const env = { NODE_EXTRA_CA_CERTS: undefined }
  const medians = await compareMedians(programs, rounds, { env })
  const base = medians['node -e 0'] ?? 1
  const processor = mapValues(programs, measureProcessor)
  const baseProcessor = processor['node -e 0'] ?? 1
  printTable(`Start, median of ${rounds}; processor time, mean of ${rounds}`, [
    ['program', 'time', 'of node -e 0', 'processor', 'of node -e 0'],
    ...Object.entries(medians).map(([name, ms]) => {
      const used = processor[name] ?? 0
      const ofTime = formatRatio(ms / base)
      return [name, formatMs(ms), ofTime, formatMs(used), formatRatio(used / baseProcessor)]
    }),
  ])
}

function whereInstalled(name: string, path: string, args: string[]): Record<string, string[]> {
  const program = join(tools, path)
  return existsSync(program) ? { [name]: [program, ...args] } : {}
}

/** Other agents' programs, where somebody has installed them. */
function peersOnPath(): Record<string, string[]> {
  const names = ['claude', 'codex', 'gemini', 'opencode', 'pi']
  const found = names.filter((name) => findProgram(name, process.env['PATH'] ?? '') !== null)
  return Object.fromEntries(found.map((name) => [`${name} --version`, [name, '--version']]))
}

function bothUses(name: string, command: string[]): Record<string, string[]> {
  if (!existsSync(command.at(-1) ?? '')) return {}
  return {
    [`${name} --version`]: [...command, '--version'],
    [`${name} -c true`]: [...command, '-c', 'true'],
  }
}

/**
 * The processor time in milliseconds that a run takes with all that it starts, as bash counts it
 * (`times`): other work on the machine changes it much less than the time that passes.
 */
function measureProcessor(command: readonly string[]): number {
  const line = 'n=$1; shift; for ((i = 0; i < n; i++)); do "$@" >/dev/null; done; times'
  const words = ['-c', line, '_', String(rounds), ...command]
  const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env
  const [, children = ''] = execFileSync('bash', words, { env, encoding: 'utf8' }).split('\n')
  const seconds = [...children.matchAll(/(\d+)m([\d.]+)s/g)].map(
    ([, minutes, rest]) => Number(minutes) * 60 + Number(rest),
  )
  return (seconds.reduce((sum, it) => sum + it, 0) / rounds) * 1000
}

function mapValues<Value, Result>(
  record: Record<string, Value>,
  map: (value: Value) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]))
}
