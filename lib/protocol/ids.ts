import { closeSync, openSync, readSync } from 'node:fs'

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

/** A name nobody can guess: the prefix, `_`, and 20 characters of base 32 (100 random bits). */
export function createId(prefix: string): string {
  let id = `${prefix}_`
  for (const byte of takeRandomBytes()) id += alphabet[byte & 31]
  return id
}

/** What `createId` makes, for checking ids that come from outside. */
export const idPattern = /^[a-z]+_[a-z2-7]{20}$/

const idBytes = 20
/** Read ahead, for as many ids as one read surely gives (256 bytes at most). */
const pool = new Uint8Array(12 * idBytes)
let used = pool.length

/** From the system's own source (random(4)), since loading `node:crypto` costs every start 2 ms. */
function takeRandomBytes(): Uint8Array {
  if (used === pool.length) {
    const fd = openSync('/dev/urandom', 'r')
    try {
      readSync(fd, pool)
    } finally {
      closeSync(fd)
    }
    used = 0
  }
  return pool.subarray(used, (used += idBytes))
}
