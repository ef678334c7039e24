import { writeManual } from '../cli/help.ts'
import { otherVariables } from '../config/configuration.ts'
import { reportKeys } from '../config/keys.ts'
import { listCommands } from '../commands/commands.ts'
import { version } from '../protocol/wire.ts'

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
