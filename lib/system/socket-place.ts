import { rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createId } from '../protocol/wire.ts'
import { makeFilledFolder } from './temporary-folder.ts'

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
  const pathIn = (folder: string) => join(folder, 's')
  const folder = makeFilledFolder('socket', (made) => {
    if (!fits(pathIn(made))) throw Object.assign(new Error('too long'), { code: 'ENAMETOOLONG' })
    // Where a file can be made, a socket can.
    writeFileSync(pathIn(made), '')
    rmSync(pathIn(made))
  })
  const path = pathIn(folder)
  return {
    path,
    remove() {
      rmSync(path, { force: true })
      rmdirSync(dirname(path))
    },
  }
}

function fits(path: string): boolean {
  return Buffer.byteLength(path) <= pathMaxBytes
}

/** The process that made a socket of this name; null where it is no socket of a nacre. */
export function ownerOfSocket(name: string): number | null {
  const pid = /^(\d+)-[a-z2-7]+\.sock$/.exec(name)?.[1]
  return pid === undefined ? null : Number(pid)
}
