import { randomBytes } from 'node:crypto'

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

/** A name nobody can guess: the prefix, `_`, and 20 characters of base 32 (100 random bits). */
export function createId(prefix: string): string {
  let id = `${prefix}_`
  for (const byte of randomBytes(20)) id += alphabet[byte & 31]
  return id
}

/** What `createId` makes, for checking ids that come from outside. */
export const idPattern = /^[a-z]+_[a-z2-7]{20}$/
