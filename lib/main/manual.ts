import { writeManual } from '../cli/manual.ts'
import { otherVariables } from '../config/read-configuration.ts'
import { reportKeys } from '../config/report.ts'
import { listCommands } from '../commands/commands.ts'
import { version } from '../protocol/version.ts'

/** The manual page of this nacre, whatever is configured here. */
export async function makeManual(): Promise<string> {
  return writeManual({
    version,
    date: new Date(),
    commands: await listCommands(),
    keys: reportKeys([], new Map()),
    variables: otherVariables,
  })
}
