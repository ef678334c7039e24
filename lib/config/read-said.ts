import type { Said } from './configuration.ts'
import type { Document } from './document.ts'
import type { Entry } from './entry.ts'
import { keys } from './keys.ts'
import { readConfigFile } from './read-file.ts'
import { readVariables } from './read-variables.ts'
import { isTrusted, restrict } from './workspace.ts'

/** Where something is said; null: there is no such file. */
export interface Places {
  user: Document | null
  userFile: string
  own: Document | null
  /** The variables `NACRE_*` that are set, with their texts. */
  variables: readonly (readonly [name: string, text: string])[]
  cwd: string
  home: string
  workspace: string
  /** What was said of the files before. */
  notices: readonly string[]
}

/**
 * What the file of the user says, then that of the workspace as far as it may, then the variables; what comes
 * later wins. Throws `MisuseError`: the place, then what is wrong with it. It is loaded where something is said.
 */
export function readSaid({ cwd, home, workspace, userFile, ...places }: Places): Said {
  const user = places.user ? readConfigFile(places.user, { base: home, home }) : []
  const notices = [...places.notices]
  const own = places.own ? readConfigFile(places.own, { base: workspace, home }, notices) : []
  const variables = readVariables(places.variables, { base: cwd, home })
  const trustedFolders = [...user, ...variables]
    .filter(({ name }) => name === 'trusted_folders')
    .flatMap(({ value }) => value as string[])
  const permitted = restrict(own, user, {
    trusted: places.own !== null && isTrusted(workspace, trustedFolders),
    userFile,
    workspace,
  })
  const entries = [...user, ...permitted.entries, ...variables]
  return { entries, values: mergeEntries(entries), notices: [...notices, ...permitted.notices] }
}

/** The last one wins, or adds to those before it where the key adds up. */
function mergeEntries(entries: readonly Entry[]): Said['values'] {
  const values = new Map<string, unknown>()
  for (const { name, value } of entries) {
    const former = values.get(name)
    if (former === undefined || !keys.get(name)?.addsUp) values.set(name, value)
    else if (Array.isArray(former))
      values.set(name, [...(former as unknown[]), ...(value as unknown[])])
    else values.set(name, { ...(former as object), ...(value as object) })
  }
  return values
}
