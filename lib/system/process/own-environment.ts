import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

/**
 * Takes the values of these variables out of `/proc/<pid>/environ` of this process (proc(5)), where every
 * process of its user could read them. That file shows the memory in which the process was given its
 * environment, and its own memory a process may write. `environment` is what this process reads them
 * from: it keeps the values, which then stand elsewhere. Where the system does not let it (no Linux, no
 * `/proc`), nothing changes.
 */
export function hideVariables(
  names: Iterable<string>,
  environment: Record<string, string | undefined>,
): void {
  const given = [...names].flatMap((name) => {
    const value = environment[name]
    return value === undefined || value === '' ? [] : [{ name, value }]
  })
  if (given.length === 0 || process.platform !== 'linux') return
  try {
    const shown = readFileSync('/proc/self/environ')
    const begin = findEnvironment()
    const memory = openSync('/proc/self/mem', 'r+')
    try {
      for (const { name, value } of given) {
        for (const { from, to } of findValues(shown, name)) {
          writeSync(memory, Buffer.alloc(to - from, '*'), 0, to - from, begin + from)
        }
        environment[name] = value
      }
    } finally {
      closeSync(memory)
    }
  } catch {
    // The kernel may forbid it (CONFIG_PROC_MEM_ALWAYS_FORCE, a container's profile).
  }
}

/** Where the environment of this process begins in its memory: `env_start` of proc(5). */
function findEnvironment(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  // The name, in brackets, may hold anything: the fields are counted after its end.
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[47])
}

/** Finds every place where a variable is given, since an environment may hold it more than once. */
function findValues(shown: Buffer, name: string): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = []
  const begin = Buffer.from(`${name}=`)
  for (let at = 0; at < shown.length;) {
    const end = shown.indexOf(0, at)
    const to = end < 0 ? shown.length : end
    if (shown.subarray(at, at + begin.length).equals(begin)) {
      found.push({ from: at + begin.length, to })
    }
    at = to + 1
  }
  return found
}
