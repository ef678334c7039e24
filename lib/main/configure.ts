import { assemble, type Configuration } from '../config/configuration.ts'
import { logicalDirectory } from '../config/paths.ts'
import { readConfiguration } from '../config/read-configuration.ts'

/** Reads the configuration once; of the flags, those that say where it lies. */
export function configure(options: Readonly<Record<string, unknown>>): Promise<Configuration> {
  return readConfiguration({
    environment: process.env,
    cwd: logicalDirectory(process.env),
    runCwd: options['cwd'] as string | undefined,
    workspace: options['workspace'] as string | undefined,
  })
}

/** As if nothing were configured. */
export function configureNothing(): Configuration {
  return assemble([], { files: [], notices: [], neverTerminals: false })
}
