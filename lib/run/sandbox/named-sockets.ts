import { readFileSync, statSync } from 'node:fs'

/** A younger socket may be gone before anything is mounted on it: those of tests, of single commands. */
const settledMs = 10_000

/**
 * The sockets that have a name in the file system (unix(7)), the young ones only where they are
 * wanted. Whoever may write to one can talk to its program, also from a read-only mount and from
 * another network namespace.
 */
export function listNamedSockets(young: boolean): string[] {
  const lines = readFileSync('/proc/net/unix', 'utf8').split('\n').slice(1)
  const paths = lines.flatMap((line) => /^(?:\S+ +){7}(\/.*)$/.exec(line)?.[1] ?? [])
  return [...new Set(paths)].filter((path) => isSocket(path, young))
}

/** The name may be gone, or belong to another view of the file system. */
function isSocket(path: string, young: boolean): boolean {
  try {
    const stat = statSync(path)
    return stat.isSocket() && (young || Date.now() - stat.mtimeMs > settledMs)
  } catch {
    return false
  }
}
