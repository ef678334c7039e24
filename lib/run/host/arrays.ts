import { parseHostAddress } from './address.ts'
import { findClient } from './clients.ts'
import { describeCommand } from './remote-command.ts'
import { type ArrayScheduler, createSlurmArrays } from './slurm/array.ts'

/** How a scheduler is reached that runs an array. */
export interface SchedulerPlace {
  /** `slurm://[partition]`. */
  address: string
  /** Where its programs are, and what they find it by. */
  environment: Readonly<Record<string, string | undefined>>
  /** Where the tasks begin. */
  cwd: string
}

/** The scheduler that an address names; null where that is none. Throws `MisuseError`. */
export function openArrayScheduler({
  address,
  environment,
  cwd,
}: SchedulerPlace): ArrayScheduler | null {
  const parsed = parseHostAddress(address)
  if (parsed.kind !== 'slurm') return null
  const find = (name: string) => findClient(name, environment['PATH'] ?? '/usr/bin:/bin')
  return createSlurmArrays(parsed, { find, environment }, (request, name) =>
    describeCommand(request, name, cwd),
  )
}
