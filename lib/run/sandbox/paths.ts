import { statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Whether what runs in the sandbox might get as far as `path`, which is canonical and existed a moment ago. Root
 * gives up its power over the files of others there (capabilities(7), CAP_DAC_OVERRIDE), bwrap as
 * well: in a private folder of another user there is nothing to hide, and no mount can be made.
 * Where an access list lets somebody in, the mode tells it as that of the group (acl(5)).
 */
export function isReachable(path: string): boolean {
  if (process.geteuid?.() !== 0) return true
  for (let folder = dirname(path); folder !== '/'; folder = dirname(folder)) {
    const stat = statSync(folder, { throwIfNoEntry: false })
    if (stat === undefined) return false
    const mayEnter = stat.uid === 0 ? 0o111 : 0o011
    if ((stat.mode & mayEnter) === 0) return false
  }
  return true
}

/** Whether `path` is `folder` or lies in it. Both are canonical. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`)
}
