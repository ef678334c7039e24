import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { assemble, type Configuration } from './configuration.ts'
import { userConfigFile } from './paths.ts'
import { readConfigFile } from './read-file.ts'
import { readVariables } from './read-variables.ts'
import { findWorkspace, isTrusted, restrict } from './workspace.ts'

export interface ConfigurationSource {
  environment: Readonly<Record<string, string | undefined>>
  /** The directory of nacre, absolute. */
  cwd: string
  /** The directory of the run, where the command line names one. */
  runCwd?: string | undefined
  /** The workspace, where the command line names one. */
  workspace?: string | undefined
}

/**
 * Reads the file of the user, then that of the workspace as far as it may, then the variables; what
 * comes later wins. Throws `MisuseError`: the place, then what is wrong with it.
 */
export async function readConfiguration(source: ConfigurationSource): Promise<Configuration> {
  const { environment, cwd } = source
  const home = environment['HOME'] || homedir()
  const userFile = userConfigFile(environment)
  const workspace = source.workspace
    ? resolve(cwd, source.workspace)
    : findWorkspace(resolve(cwd, source.runCwd ?? '.'))
  const ownFile = join(workspace, '.nacre', 'config.json')

  const user = await readConfigFile(userFile, { base: home, home })
  const own = ownFile === userFile ? null : await readConfigFile(ownFile, { base: workspace, home })
  const variables = readVariables(environment, { base: cwd, home })

  const trustedFolders = [...(user ?? []), ...variables]
    .filter(({ name }) => name === 'trusted_folders')
    .flatMap(({ value }) => value as string[])
  const permitted = restrict(own ?? [], user ?? [], {
    trusted: own !== null && isTrusted(workspace, trustedFolders),
    userFile,
    workspace,
  })
  return assemble([...(user ?? []), ...permitted.entries, ...variables], {
    files: [user && userFile, own && ownFile].filter((file) => file !== null),
    candidates: ownFile === userFile ? [userFile] : [userFile, ownFile],
    notices: permitted.notices,
    neverTerminals: !['', '0', 'false'].includes(environment['NACRE_NO_PTY'] ?? ''),
  })
}
