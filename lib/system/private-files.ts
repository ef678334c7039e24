import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { ifSeen } from './look.ts'

/**
 * Opens a file of nacre's own for reading: never through a link, and without a wait where a named pipe
 * stands in its place.
 */
export const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * A file of nacre's own; null where something else has its name. Throws the system's error, where that is a
 * link too (ELOOP).
 */
export function readRegularFile(path: string): Buffer | null {
  const fd = openSync(path, readFlags)
  try {
    return fstatSync(fd).isFile() ? readFileSync(fd) : null
  } finally {
    closeSync(fd)
  }
}

/**
 * Makes a folder and those above it, for this user only (0700), and takes everybody else's rights
 * away from one that is there already. A link that another user has put in its place is refused.
 * Throws the system's error of the first one that cannot be made.
 *
 * Node's recursive mkdir takes ENOENT for a missing parent and tries for ever where a file system
 * gives that answer for a parent that exists (/proc), and hides EROFS behind ENOENT.
 */
export function makePrivateFolder(path: string): void {
  if (isFolder(path)) narrow(path)
  else makeFolders(path, 0o700)
}

/**
 * Only the owner of a folder narrows its rights: what root does in a folder of another user is not hidden
 * from that user anyway.
 */
function narrow(path: string): void {
  const own = process.geteuid?.()
  const { mode, uid } = statSync(path)
  if (uid === own && (mode & 0o077) !== 0) chmodSync(path, 0o700)
  const name = lstatSync(path)
  if (name.isSymbolicLink() && name.uid !== own && name.uid !== 0) {
    throw new Error(`${path} is a link that belongs to another user; remove it`)
  }
}

/** Makes a folder for whoever may read there: one that a person names, such as for an upload. */
export function makeFolder(path: string): void {
  if (!isFolder(path)) makeFolders(path, 0o755)
}

function makeFolders(path: string, mode: number): void {
  const parent = dirname(path)
  if (!existsSync(parent)) makeFolders(parent, mode)
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    // Another process may have been first.
    if (!isFolder(path)) throw error
  }
}

function isFolder(path: string): boolean {
  // What is below no folder is none either: mkdir says so.
  return ifSeen(() => statSync(path).isDirectory()) ?? false
}

/**
 * Puts a file of this user only (0600) in the place of the one that is there: who reads meanwhile sees
 * the old or the new one, never half of it, also where two processes write. The draft beside it is
 * `<path>.<pid>.new`. Throws the system's error and leaves no draft.
 */
export function replaceFile(path: string, content: string | Uint8Array, mode = 0o600): void {
  const draft = `${path}.${process.pid}.new`
  rmSync(draft, { force: true })
  try {
    writeFileSync(draft, content, { mode, flag: 'wx' })
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}
