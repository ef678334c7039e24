import { readFileSync, statSync } from 'node:fs'

/** A younger socket may be gone before it is looked at again: those of tests, of single commands. */
const settledMs = 10_000

/**
 * The sockets that have had a name in the file system for a while (unix(7)). Whoever may write to one
 * can talk to its program, also from a read-only mount and from another network namespace.
 */
export function listNamedSockets(): string[] {
  const lines = readFileSync('/proc/net/unix', 'utf8').split('\n').slice(1)
  const paths = lines.flatMap((line) => /^(?:\S+ +){7}(\/.*)$/.exec(line)?.[1] ?? [])
  return [...new Set(paths)].filter(isSettledSocket)
}

/** The name may be gone, or belong to another view of the file system. */
function isSettledSocket(path: string): boolean {
  try {
    const stat = statSync(path)
    return stat.isSocket() && Date.now() - stat.mtimeMs > settledMs
  } catch {
    return false
  }
}
