import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { assemble, type Configuration } from './configuration.ts'
import { readDocument } from './document.ts'
import { findWorkspace } from '../system/git.ts'
import { userConfigFile } from './paths.ts'
import { MisuseError } from '../protocol/errors.ts'

/** The variables of nacre that are no keys, and what each says. */
export const otherVariables: Readonly<Record<string, string>> = {
  NACRE_NO_PTY: 'Set it to 1, and no run gets a terminal, whatever asks for one',
  NACRE: 'Nacre sets it to 1 in every run, so that a script can tell',
  NACRE_RUN: 'Nacre sets it in every run, to find its processes again',
  NACRE_SESSION: 'Nacre sets it in the shell of a session, to find its processes again',
  NACRE_OWNER: 'Nacre sets it in every run: which nacre has started it',
}

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
 * comes later wins. Throws `MisuseError`: the place, then what is wrong with it. What is wrong in the
 * file of a workspace is a notice, since whoever works there may not have written it.
 */
export async function readConfiguration(source: ConfigurationSource): Promise<Configuration> {
  const { environment, cwd } = source
  const home = environment['HOME'] || homedir()
  const userFile = userConfigFile(environment)
  const workspace = source.workspace
    ? resolve(cwd, source.workspace)
    : findWorkspace(resolve(cwd, source.runCwd ?? '.'))
  const ownFile = join(workspace, '.nacre', 'config.json')

  const user = await readDocument(userFile)
  const notices: string[] = []
  const own =
    ownFile === userFile
      ? null
      : await readDocument(ownFile, workspace).catch((error: unknown) => {
          if (!(error instanceof MisuseError)) throw error
          notices.push(`${error.message}; the file is ignored`)
          return null
        })
  const variables = listVariables(environment)
  const places = {
    files: [user && userFile, own && ownFile].filter((file) => file !== null),
    candidates: ownFile === userFile ? [userFile] : [userFile, ownFile],
    neverTerminals: !['', '0', 'false'].includes(environment['NACRE_NO_PTY'] ?? ''),
  }
  if (user === null && own === null && variables.length === 0) {
    return assemble(places, { entries: [], values: new Map(), notices })
  }
  const { readSaid } = await import('./read-said.ts')
  const said = { user, userFile, own, variables, cwd, home, workspace, notices }
  return assemble(places, readSaid(said))
}

/** The variables that may be keys. One that is set to nothing counts as not set. */
function listVariables(environment: ConfigurationSource['environment']): [string, string][] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('NACRE_') && !Object.hasOwn(otherVariables, name))
    .map((name): [string, string] => [name, environment[name] ?? ''])
    .filter(([, text]) => text !== '')
}
