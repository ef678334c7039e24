import { hasProgram, ordinaryWork } from '../helpers/ordinary-work.ts'
import { openPlaces } from '../helpers/sandbox-places.ts'
import { compareMedians, median } from './measure.ts'
import { formatMs, formatRatio, printTable } from './table.ts'

/** What it costs ordinary work, job by job, beside the same without a sandbox. */
export async function benchWork(): Promise<void> {
  const rows: string[][] = []
  let [plainMs, insideMs] = [0, 0]
  for (const [name, command, , program] of ordinaryWork) {
    if (program !== undefined && !hasProgram(program)) continue
    const time = async (sandbox: 'off' | 'workspace'): Promise<number> => {
      const times: number[] = []
      for (let round = 0; round < 3; round++) {
        const places = await openPlaces({ changes: { sandbox } })
        const started = performance.now()
        await places.run(command)
        times.push(performance.now() - started)
        await places.remove()
      }
      return median(times)
    }
    const [plain, inside] = [await time('off'), await time('workspace')]
    plainMs += plain
    insideMs += inside
    rows.push([name, formatMs(plain), formatMs(inside), formatMs(inside - plain)])
  }
  rows.push(['all of it', formatMs(plainMs), formatMs(insideMs), formatRatio(insideMs / plainMs)])
  printTable('Ordinary work, median of 3', [['work', 'plain', 'sandbox', 'more'], ...rows])
}

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
      ['a turn of a session', await run({ session: 'plain' })],
      ['workspace, a turn of a session', await run({ sandbox: 'workspace', session: 's' })],
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
