import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createGuard } from '../../lib/guard/guard.ts'
import { median } from './measure.ts'
import { formatMs, printTable } from './table.ts'

const table = join(import.meta.dirname, '../../fixtures/guard/ordinary.jsonl')

/** What the guard costs a command: the first one, which loads the grammar, and those after it. */
export async function benchGuard(): Promise<void> {
  const commands = readFileSync(table, 'utf8')
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { command: string }).command)
  const guard = createGuard({ home: '/home/someone' })
  const judge = async (command: string): Promise<number> => {
    const started = performance.now()
    await guard({ command, origin: 'agent', cwd: '/home/someone/project', env: {}, guard: true })
    return performance.now() - started
  }
  const first = await judge('echo "$HOME" | wc -c')
  const times: number[] = []
  for (let round = 0; round < 5; round++) {
    for (const command of commands) times.push(await judge(command))
  }
  const warm = times.slice(commands.length).sort((a, b) => a - b)
  printTable(`Guard, ${commands.length} ordinary commands`, [
    ['first command', 'median', '99 of 100 below', 'mean'],
    [
      formatMs(first),
      formatMs(median(warm)),
      formatMs(warm[Math.floor(warm.length * 0.99)] ?? 0),
      formatMs(warm.reduce((sum, ms) => sum + ms, 0) / warm.length),
    ],
  ])
}
