import { reap } from '../executor/jobs/killed.ts'
import { wrongUsage } from '../protocol/errors.ts'
import type { Command } from '../doors/command.ts'

/** What the watchdog of a nacre becomes when that nacre was killed. */
export const command: Command = {
  name: 'reap',
  usage: 'nacre reap <pid>:<start time>',
  description:
    'End the runs of a nacre that was killed, but for its jobs (nacre starts this by itself)',
  flags: [],
  examples: ['nacre reap 4711:8223372'],
  hidden: true,
  async run({ positionals: [owner], stateDir }) {
    if (owner === undefined) throw wrongUsage('Name the nacre that was killed')
    return (await reap(owner, stateDir)).length === 0 ? 0 : 1
  },
}
