import { join } from 'node:path'
import { endRunsOf } from '../../executor/jobs/orphans.ts'
import { forget, presenceFolder, readGroupOf } from '../../system/process/presence.ts'
import { removeLeftGroups } from '../../system/process/control-group.ts'
import { findOwnGroup } from '../../system/process/own-process.ts'
import { removeLeftFolders } from '../../system/temporary-folder.ts'
import { wrongUsage } from '../../protocol/errors.ts'
import type { Command } from '../../doors/command.ts'

/** What the watchdog of a nacre becomes when that nacre was killed. */
export const command: Command = {
  name: 'reap',
  usage: 'nacre reap <pid>:<start time>',
  description:
    'End the runs of a nacre that was killed, but for its jobs (nacre starts this by itself)',
  flags: [],
  examples: ['nacre reap 4711:8223372'],
  hidden: true,
  async run({ positionals, stateDir }) {
    const [owner] = positionals
    if (owner === undefined) throw wrongUsage('Name the nacre that was killed')
    const presences = presenceFolder(stateDir)
    const groupParent = readGroupOf(presences, owner) ?? findOwnGroup()
    const survivors = await endRunsOf(owner, join(stateDir, 'jobs'), groupParent)
    removeLeftFolders(stateDir)
    removeLeftGroups(groupParent)
    forget(presences, owner)
    return survivors.length === 0 ? 0 : 1
  },
}
