import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmdirSync,
  rmSync,
  writeFileSync,
  unlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codeOf, messageOf } from '../protocol/errors.ts'
import { StartError } from '../protocol/ports.ts'
import { createId } from '../protocol/wire.ts'
import { lookIntoFolder } from './look.ts'
import { isRunning, readPidNamespace } from './process/process-table.ts'

/**
 * Where temporary files may lie, the best place first: the system's folder for them, the user's own
 * for sockets and the like, shared memory, and what every system has. A full or read-only disk makes
 * some of them useless.
 */
function listTemporaryPlaces(): string[] {
  const runtime = `/run/user/${process.getuid?.() ?? 'none'}`
  return [...new Set([tmpdir(), runtime, '/dev/shm', '/tmp', '/var/tmp'])]
}

/**
 * Makes a folder of this process alone (mode 0700). Its name says whose it is, so that
 * `removeLeftFolders` finds it after a kill: `nacre-<purpose>-<pid namespace>-<pid>-…`. `fill` puts there what
 * it needs (an empty folder may still fit on a disk on which nothing else does). Where the system refuses one of the
 * two, the folder is made at the next of the temporary places; what failed is removed. `parent`: there and nowhere
 * else. Throws `StartError` if none of the places will do.
 */
export function makeTemporaryFolder(
  purpose: string,
  fill: (folder: string) => void = () => undefined,
  parent?: string,
): string {
  const make = (place: string) => {
    const folder = mkdtempSync(join(place, `nacre-${purpose}-${nameOwner(process.pid)}-`))
    try {
      fill(folder)
      return folder
    } catch (error) {
      removeTemporaryFolder(folder)
      throw error
    }
  }
  if (parent !== undefined) return make(parent)
  const places = listTemporaryPlaces()
  const refusals: unknown[] = []
  for (const place of places) {
    try {
      return make(place)
    } catch (error) {
      if (!isRefusedByPlace(error)) throw error
      refusals.push(error)
    }
  }
  throw describeNoPlace(places, refusals[0])
}

/**
 * Removes a folder of this user, an empty one without a descriptor: there may be none left. What cannot be removed now
 * is when this process has ended (`removeLeftFolders`).
 */
export function removeTemporaryFolder(folder: string): void {
  try {
    rmdirSync(folder)
    return
  } catch {
    // Something is in it.
  }
  try {
    removeOwnFolder(Buffer.from(folder))
  } catch {
    // It stays for later, and what was being done goes on or fails for a reason of its own.
  }
}

/** Whether the system has refused a file for its place, so that another one may do. */
function isRefusedByPlace(error: unknown): boolean {
  return refusal.test(codeOf(error) ?? '')
}

const refusal =
  /^(?:ENOSPC|EDQUOT|EROFS|ENOENT|ENOTDIR|EACCES|EPERM|EIO|EFBIG|EEXIST|ENAMETOOLONG)$/

/** Says that no temporary place will do; `error` is what the first of them said. */
function describeNoPlace(places: readonly string[], error: unknown): StartError {
  const message =
    `Nothing can be written in any folder for temporary files (${places.join(', ')}): ` +
    `free some space or set TMPDIR to another folder. The first one said: ${messageOf(error)}`
  return new StartError('no_temporary_folder', message)
}

/**
 * Where the sandboxes of every nacre keep what they have outside of themselves: in the folder of the state,
 * which no sandboxed run sees.
 */
export function sandboxesFolder(stateDir: string): string {
  return join(stateDir, 'sandbox')
}

/** Removes the folders of nacres that were killed before they could do it. */
export function removeLeftFolders(stateDir: string): void {
  for (const place of [...listTemporaryPlaces(), sandboxesFolder(stateDir)]) removeLeftIn(place)
}

/** Removes the folders of killed nacres of this user in one folder. */
export function removeLeftIn(place: string): void {
  for (const name of lookIntoFolder(place)) {
    const [, owner, pid] = /^nacre-[a-z]+-(\d+-(\d+))-/.exec(name) ?? []
    if (owner === undefined || owner !== nameOwner(Number(pid)) || isRunning(Number(pid))) continue
    removeTemporaryFolder(join(place, name))
  }
}

/**
 * Removes a folder with what is in it, never through a link and no folder of another user: in a shared
 * place anybody can give a folder or a link any name, and exchange the two at any moment.
 */
function removeOwnFolder(path: Buffer): void {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    if (fstatSync(fd).uid !== process.geteuid?.()) return
    // Linux reaches what is in an open folder by its descriptor, whatever becomes of its path (proc_pid_fd(5)).
    const folder = process.platform === 'linux' ? Buffer.from(`/proc/self/fd/${fd}`) : path
    // A name need not be UTF-8.
    for (const name of readdirSync(folder, 'buffer')) {
      const inside = Buffer.concat([folder, Buffer.from('/'), name])
      if (lstatSync(inside).isDirectory()) removeOwnFolder(inside)
      else unlinkSync(inside)
    }
  } finally {
    closeSync(fd)
  }
  rmdirSync(path)
}

/** The number of a process means something in its own pid namespace only (pid_namespaces(7)). */
function nameOwner(pid: number): string {
  return `${readPidNamespace()}-${pid}`
}

/** `sun_path` of unix(7) holds 108 bytes on Linux and 104 on macOS, its NUL included. */
const pathMaxBytes = 103

/** Where a socket may be made that only this user reaches. */
export interface SocketPlace {
  path: string
  remove(): void
}

/**
 * A place in a private folder of this user, else, where its name would be too long, in a temporary one.
 * The name tells whose socket it is, so that another nacre can clear it away.
 */
export function findSocketPlace(dir: string): SocketPlace {
  const path = join(dir, `${process.pid}-${createId('s').slice(2, 10)}.sock`)
  return fits(path) ? { path, remove: () => rmSync(path, { force: true }) } : makeSocketPlace()
}

/** Makes a place for a socket in a temporary folder of its own. */
export function makeSocketPlace(): SocketPlace {
  const folder = makeTemporaryFolder('socket', (made) => {
    const path = join(made, 's')
    if (!fits(path)) throw Object.assign(new Error('too long'), { code: 'ENAMETOOLONG' })
    // Where a file can be made, a socket can: a disk may be without inodes.
    writeFileSync(path, '')
    rmSync(path)
  })
  return { path: join(folder, 's'), remove: () => removeTemporaryFolder(folder) }
}

function fits(path: string): boolean {
  return Buffer.byteLength(path) <= pathMaxBytes
}

/** The process that made a socket of this name; null where it is no socket of a nacre. */
export function ownerOfSocket(name: string): number | null {
  const pid = /^(\d+)-[a-z2-7]+\.sock$/.exec(name)?.[1]
  return pid === undefined ? null : Number(pid)
}
