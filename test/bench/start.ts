import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { compareMedians } from './measure.ts'
import { formatMs, formatRatio, printTable } from './table.ts'

const root = join(import.meta.dirname, '../..')
const cli = join(root, 'bin/nacre.js')
const binary = join(root, 'dist/nacre')

/** How long a whole process takes, against the least that its runtime takes. */
export async function benchStart(): Promise<void> {
  const programs: Record<string, readonly string[]> = {
    'node -e 0': [process.execPath, '-e', '0'],
    'bash -c true': ['bash', '-c', 'true'],
    'nacre --version': [process.execPath, cli, '--version'],
    'nacre -c true': [process.execPath, cli, '-c', 'true'],
  }
  if (existsSync(binary)) {
    programs['single binary --version'] = [binary, '--version']
    programs['single binary -c true'] = [binary, '-c', 'true']
  }
  // A certificate file of its own costs Node 20 another 40 ms, with or without nacre.
  const medians = await compareMedians(programs, 21, { env: { NODE_EXTRA_CA_CERTS: undefined } })
  const base = medians['node -e 0'] ?? 1
  printTable('Start, median of 21', [
    ['program', 'time', 'of node -e 0'],
    ...Object.entries(medians).map(([name, ms]) => [name, formatMs(ms), formatRatio(ms / base)]),
  ])
}
