import { readFileSync, statSync } from 'node:fs'

/**
 * The sockets that have a name in the file system (unix(7)). Whoever may write to one can talk to its
 * program, also from a read-only mount and from another network namespace.
 */
export function listNamedSockets(): string[] {
  const lines = readFileSync('/proc/net/unix', 'utf8').split('\n').slice(1)
  const paths = lines.flatMap((line) => /^(?:\S+ +){7}(\/.*)$/.exec(line)?.[1] ?? [])
  return [...new Set(paths)].filter(isSocket)
}

/** The name may be gone, or belong to another view of the file system. */
function isSocket(path: string): boolean {
  try {
    return statSync(path).isSocket()
  } catch {
    return false
  }
}
