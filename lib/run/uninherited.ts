import { closeSync, openSync } from 'node:fs'

/**
 * Descriptors that no child may have although they are not close-on-exec: the masters of terminals.
 * A child that holds one keeps the program on that terminal from noticing that nacre is gone.
 */
export interface Uninherited {
  add(fd: number): void
  delete(fd: number): void
  /** `stdio` of a spawn, with `/dev/null` put on the number of each such descriptor. */
  cover<Entry>(stdio: readonly Entry[]): (Entry | number | 'ignore')[]
}

/** Shared by everything in one executor that starts processes. Holds `/dev/null` open while in use. */
export function createUninherited(): Uninherited {
  const descriptors = new Set<number>()
  let nullFd: number | null = null

  return {
    add(fd) {
      nullFd ??= openSync('/dev/null', 'r+')
      descriptors.add(fd)
    },
    delete(fd) {
      descriptors.delete(fd)
      if (descriptors.size > 0 || nullFd === null) return
      closeSync(nullFd)
      nullFd = null
    },
    cover<Entry>(stdio: readonly Entry[]) {
      const covered: (Entry | number | 'ignore')[] = [...stdio]
      for (const fd of descriptors) {
        // `ignore` above 2 leaves a number as it is.
        while (covered.length < fd) covered.push('ignore')
        if (nullFd !== null && fd >= stdio.length) covered[fd] = nullFd
      }
      return covered
    },
  }
}
