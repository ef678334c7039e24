import { compareMedians, median } from './measure.ts'
import { formatMs, formatRatio, printTable } from './table.ts'

/** What a sandbox costs a run, from inside a process that is already there. */
export async function benchSandbox(): Promise<void> {
  const { createExecutor } = await import('../../lib/index.ts')
  const executor = createExecutor({ stateDir: null })
  const run = async (fields: object): Promise<number> => {
    const times: number[] = []
    for (let round = 0; round < 30; round++) {
      const started = performance.now()
      const result = await executor.run({ command: 'true', origin: 'agent', ...fields })
      if (result.status !== 'exited') throw new Error(result.error?.message ?? result.status)
      times.push(performance.now() - started)
    }
    return median(times)
  }
  try {
    const { plain } = await compareMedians({ plain: ['bash', '-c', 'true'] }, 30)
    const rows: [string, number][] = [
      ['sandbox off', await run({})],
      ['workspace', await run({ sandbox: 'workspace' })],
      ['workspace, network off', await run({ sandbox: 'workspace', network: 'off' })],
      ['workspace, in a session', await run({ sandbox: 'workspace', session: 's' })],
    ]
    printTable('Sandbox, one run of `true`, median of 30', [
      ['way', 'time', 'of bash -c true'],
      ['bash -c true', formatMs(plain), ''],
      ...rows.map(([name, ms]) => [name, formatMs(ms), formatRatio(ms / plain)]),
    ])
  } finally {
    await executor.close()
  }
}
