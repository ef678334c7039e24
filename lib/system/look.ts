import {
  accessSync,
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { delimiter, dirname, join, relative, resolve } from 'node:path'
import { codeOf } from '../protocol/errors.ts'

/*
 * What this process can see of the file system: of what is gone, was never there, or is not this user's to
 * read, there is nothing to see.
 */

/** The text of a file. Those of `/proc` are read as latin1, in which every byte is a character. */
export function lookIntoFile(path: string, encoding: 'utf8' | 'latin1' = 'utf8'): string | null {
  return ifSeen(() => readFileSync(path, encoding))
}

/** Far above what any file holds that a person writes for nacre. */
const maxBytes = 4 * 1024 * 1024

/**
 * The text of a file that anybody may have put there. It is opened without a wait, since a named pipe would
 * hold up every reader. `within`: the folder that links may not lead out of. Throws if there is no such file.
 */
export function readRegularFile(path: string, within: string | null = null): string {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw new Error('it is no regular file')
    if (stat.size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`)
    if (within !== null) {
      const real = realpathSync(path)
      // The link may have been replaced since it was opened.
      const isOpened = statSync(real).ino === stat.ino
      if (!isOpened || !isBelow(real, within)) throw new Error(`it is a link out of ${within}`)
    }
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}

/** Whether a folder or file is another one or below it. Links lead to what they name. */
export function isBelow(path: string, other: string): boolean {
  const way = relative(realPath(other), realPath(path))
  return way !== '..' && !way.startsWith('../')
}

/** Whether `path` is `folder` or lies in it. Both are canonical. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`)
}

/** A folder that is not there is nobody's: it stays as it is written. */
function realPath(path: string): string {
  return ifSeen(() => realpathSync(path)) ?? path
}

/** A folder as it was when it was named: whatever has its path later is it only if it is the same one. */
export interface FixedFolder {
  /** As it was named. */
  name: string
  /** Canonical. */
  path: string
  /** Its device and its number there (inode(7)). */
  identity: string
}

/** Null where there is no such folder. */
export function fixFolder(name: string): FixedFolder | null {
  const path = ifSeen(() => realpathSync.native(name)) ?? name
  const stat = ifSeen(() => statSync(path, { bigint: true }))
  return stat?.isDirectory() ? { name, path, identity: identify(stat) } : null
}

function identify({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`
}

/** It names a file and opens nothing of it (open(2), Linux); Node has no name for it. */
const O_PATH = 0o10000000
const itself = O_PATH | constants.O_NOFOLLOW

/** Opens the folder, if it is still there: null where it is gone, or another one. */
export function openFixed({ path, identity }: FixedFolder): number | null {
  const fd = ifThere(() => openSync(path, itself))
  if (fd === null || identify(fstatSync(fd, { bigint: true })) === identity) return fd
  closeSync(fd)
  return null
}

/**
 * Opens what lies below an open folder, with O_PATH. A link on the way, and at its end, is not followed: then
 * it throws, as where nothing lies there.
 */
export function openBeneath(folder: number, path: string): number {
  let fd = folder
  for (const name of path.split('/')) {
    const above = fd
    try {
      fd = openSync(`/proc/self/fd/${above}/${name}`, itself)
    } finally {
      if (above !== folder) closeSync(above)
    }
  }
  if (!fstatSync(fd).isSymbolicLink()) return fd
  closeSync(fd)
  throw new Error(`It is a link: ${path}`)
}

/** The names in a folder. */
export function lookIntoFolder(path: string): string[] {
  return ifSeen(() => readdirSync(path)) ?? []
}

/** What a symbolic link says. */
export function lookAtLink(path: string): string | null {
  return ifSeen(() => readlinkSync(path))
}

/** What is there; null where nothing has that name. Throws every other error of the system. */
export function ifThere<Value>(look: () => Value): Value | null {
  try {
    return look()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/** What the system shows or gives; null where it refuses, for whatever reason. */
export function ifSeen<Value>(look: () => Value): Value | null {
  try {
    return look()
  } catch {
    return null
  }
}

/** Whether this user may do that with it (access(2)): a mode of `constants`. */
export function isAccessible(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}

/** Where a program of the system is looked for: nowhere that a request's environment could change. */
export const systemPath = '/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin'

/** The absolute path of an executable file, looked up as execvp(3) does; null where there is none. */
export function findProgram(name: string, path: string): string | null {
  const candidates = name.includes('/')
    ? [resolve(name)]
    : path.split(delimiter).map((directory) => join(directory || '.', name))
  // An exception for each directory that has none would take longer than everything else.
  const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile()
  const found = candidates.find(
    (path) => ifSeen(() => isFile(path)) && isAccessible(path, constants.X_OK),
  )
  return found === undefined ? null : resolve(found)
}

/** The git root above a directory, else the directory itself. */
export function findWorkspace(cwd: string): string {
  return findGitRoot(cwd) ?? cwd
}

/** The directory, or the one above it, that holds `.git`; null outside of every repository. */
function findGitRoot(directory: string): string | null {
  for (let folder = directory; ; folder = dirname(folder)) {
    // Below a file, or in a folder that may not be entered, nothing is.
    const entry = ifSeen(() => lstatSync(join(folder, '.git'), { throwIfNoEntry: false }))
    if (entry) return folder
    if (dirname(folder) === folder) return null
  }
}

/** The branch that a directory is on, or the beginning of its commit; null outside of git. */
export function readGitBranch(directory: string): string | null {
  const root = findGitRoot(directory)
  if (root === null) return null
  const path = join(root, '.git')
  try {
    // A worktree and a submodule have a file that names the folder (gitrepository-layout(5)).
    const named = statSync(path).isDirectory() ? path : readRegularFile(path)
    const folder = resolve(root, named.replace(/^gitdir:\s*/, '').trim())
    const head = readRegularFile(join(folder, 'HEAD')).trim()
    return /^ref: refs\/heads\/(.+)$/.exec(head)?.[1] ?? head.slice(0, 8)
  } catch {
    // It is no repository, or one that may not be read.
    return null
  }
}
