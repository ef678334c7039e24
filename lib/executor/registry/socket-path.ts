import { rmdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeTemporaryFolder } from '../../system/temporary-folder.ts'
import { createId } from '../../protocol/ids.ts'

/** `sun_path` of unix(7) holds 108 bytes on Linux and 104 on macOS, its NUL included. */
const pathMaxBytes = 103

/** A place for a socket, in the folder of the jobs where its name is short enough. */
export interface SocketPlace {
  path: string
  remove(): void
}

/** `name` tells whose socket it is, so that another nacre can clear it away. */
export function findSocketPlace(dir: string): SocketPlace {
  const name = `${process.pid}-${createId('s').slice(2, 10)}.sock`
  const path = join(dir, name)
  if (Buffer.byteLength(path) <= pathMaxBytes) {
    return { path, remove: () => rmSync(path, { force: true }) }
  }
  // A folder of ours alone (mode 0700).
  const short = join(makeTemporaryFolder('job'), 's')
  return {
    path: short,
    remove() {
      rmSync(short, { force: true })
      rmdirSync(dirname(short))
    },
  }
}

/** The process that made a socket of this name; null where it is no socket of a nacre. */
export function ownerOfSocket(name: string): number | null {
  const pid = /^(\d+)-[a-z2-7]+\.sock$/.exec(name)?.[1]
  return pid === undefined ? null : Number(pid)
}
