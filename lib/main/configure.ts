import { assemble, type Configuration } from '../config/configuration.ts'
import { logicalDirectory } from '../config/paths.ts'
import { readConfiguration } from '../config/read-configuration.ts'
import type { CommandConfiguration } from '../doors/command.ts'

/** Reads the configuration once; of the flags, those that say where it lies. */
export function configure(options: Readonly<Record<string, unknown>>): Promise<Configuration> {
  return readConfiguration({
    environment: process.env,
    cwd: logicalDirectory(process.env),
    runCwd: options['cwd'] as string | undefined,
    workspace: options['workspace'] as string | undefined,
  })
}

/** The configuration of a nacre for which nothing is configured. */
export function configureNothing(): Configuration {
  return assemble({ files: [], candidates: [], neverTerminals: false })
}

/** What a subcommand may know of the configuration. */
export async function describeConfiguration(
  options: Readonly<Record<string, unknown>>,
): Promise<CommandConfiguration> {
  const configuration = await configure(options)
  const { configurationSchema, findReports, reportKeys } = await import('../config/report.ts')
  const { files, notices, model, entries, values, candidates } = configuration
  const keys = reportKeys(entries, values)
  return {
    files,
    notices,
    model,
    keys,
    findKeys: (name) => findReports(keys, name),
    places: candidates.map((path) => ({ path, isThere: files.includes(path) })),
    schema: configurationSchema,
  }
}
