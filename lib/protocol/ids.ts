const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

/**
 * A name that nothing else has: the prefix, `_`, and 20 characters of base 32. It is no secret, and
 * needs neither a descriptor nor `node:crypto`, which would cost every start 2 ms: the engine seeds
 * `Math.random` from the system's entropy in each process.
 */
export function createId(prefix: string): string {
  let id = `${prefix}_`
  for (let count = 0; count < 20; count++) id += alphabet[Math.floor(Math.random() * 32)]
  return id
}

/** What `createId` makes, for checking ids that come from outside. */
export const idPattern = /^[a-z]+_[a-z2-7]{20}$/
