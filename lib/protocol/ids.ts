import { closeSync, openSync, readSync } from 'node:fs'

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

/** A name nobody can guess: the prefix, `_`, and 20 characters of base 32 (100 random bits). */
export function createId(prefix: string): string {
  let id = `${prefix}_`
  for (const byte of randomBytes(20)) id += alphabet[byte & 31]
  return id
}

/** What `createId` makes, for checking ids that come from outside. */
export const idPattern = /^[a-z]+_[a-z2-7]{20}$/

/**
 * Asks the system's own source (random(4)), since loading `node:crypto` costs every start 2 ms; and
 * `node:crypto`, which needs no descriptor, where no more files can be opened.
 */
function randomBytes(count: number): Uint8Array {
  const bytes = new Uint8Array(count)
  let fd: number
  try {
    fd = openSync('/dev/urandom', 'r')
  } catch {
    return process.getBuiltinModule('node:crypto').randomFillSync(bytes)
  }
  try {
    readSync(fd, bytes)
  } finally {
    closeSync(fd)
  }
  return bytes
}
