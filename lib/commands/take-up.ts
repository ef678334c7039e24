import { wrongUsage } from '../protocol/errors.ts'
import { shutdown } from '../protocol/ports.ts'
import { leaveGroupOfRun } from '../system/process/own-process.ts'
import type { Command } from '../doors/command.ts'
import { holdToEnd } from './supervise/command.ts'

/** The process that holds a job whose nacre was killed, from then on. */
export const command: Command = {
  name: 'take-up',
  usage: 'nacre take-up <id>',
  description: 'Hold a job whose nacre was killed (nacre starts this by itself)',
  flags: [],
  examples: ['nacre take-up run_k5x2'],
  hidden: true,
  leavesRuns: true,
  run({ positionals: [id], useExecutor, streams }) {
    if (id === undefined) throw wrongUsage('Name the job')
    leaveGroupOfRun()
    return useExecutor(async (executor, signal) => {
      const run = await executor.takeUp(id)
      // Whoever has started this waits for it.
      await streams.stdout.write('\n')
      if (run === null) return 0
      signal.addEventListener('abort', () => void run.stop(shutdown), { once: true })
      await holdToEnd(run)
      return 0
    })
  },
}
