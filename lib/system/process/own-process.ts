import {
  closeSync,
  constants as modes,
  existsSync,
  openSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { constants } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { isAccessible, lookIntoFile } from '../look.ts'

/** Where version 2 is mounted: alone, or beside version 1 as systemd does it. */
const mounts = ['/sys/fs/cgroup', '/sys/fs/cgroup/unified']

/** The path of the group of this process, where groups can be made in it; else null. */
export function findOwnGroup(): string | null {
  const own = /^0::(\/.*)$/m.exec(readGroupFile('/proc/self/cgroup'))?.[1]
  // Above the root of our namespace (cgroup_namespaces(7)) there is no path.
  if (own === undefined || own.startsWith('/..')) return null
  for (const mount of mounts) {
    const group = join(mount, own)
    if (!existsSync(join(group, 'cgroup.controllers'))) continue
    // Deno answers by the bits of the mode, which do not hold for root: root finds out by trying.
    if (process.geteuid?.() === 0) return group
    const written = [group, join(group, 'cgroup.procs')]
    return written.every((path) => isAccessible(path, modes.W_OK)) ? group : null
  }
  return null
}

/**
 * Moves this process to where the nacre is whose run it was started in, and so out of the reach of that
 * run's end. In no run, or where the system does not let it, it stays where it is.
 */
export function leaveGroupOfRun(): void {
  const own = findOwnGroup()
  let outer = own
  while (outer !== null && /^nacre-\d+-\d+-\d+$/.test(basename(outer))) outer = dirname(outer)
  if (outer === null || outer === own) return
  try {
    // 0 is the process that writes.
    writeFileSync(join(outer, 'cgroup.procs'), '0')
  } catch {
    // A sandbox keeps it inside, as it should.
  }
}

/** The text of a file of a group; empty where there is none, or no longer. */
export function readGroupFile(path: string): string {
  return lookIntoFile(path, 'latin1') ?? ''
}

/**
 * SIGPIPE (13) and SIGXFSZ (25), as a mask of Linux: the runtimes ignore them by themselves, so that nobody
 * knows whether the caller does.
 */
const ownSignals = (1n << 12n) | (1n << 24n)

/**
 * The signals that a process ignores, this one since its start, as `nohup`, `trap ''` and a shell's `&` ask for
 * it. Without `/proc` none is known, and none of its own under Node, which takes every signal back at its start.
 */
export function listIgnored(pid: number | 'self' = 'self'): NodeJS.Signals[] {
  const status = lookIntoFile(`/proc/${pid}/status`) ?? ''
  const mask = BigInt(`0x${/^SigIgn:\s*([\da-f]+)$/m.exec(status)?.[1] ?? '0'}`) & ~ownSignals
  // Most callers ignore none, and a start then does without the names of all signals.
  if (mask === 0n) return []
  return (Object.keys(constants.signals) as NodeJS.Signals[]).filter(
    (name) => ((mask >> BigInt(constants.signals[name] - 1)) & 1n) === 1n,
  )
}

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
    const shown = `\0${readFileSync('/proc/self/environ', 'latin1')}`
    const stat = readFileSync('/proc/self/stat', 'latin1')
    // `env_start` of proc(5). The name, in brackets, may hold anything: the fields are counted after its end.
    const start = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[47])
    const memory = openSync('/proc/self/mem', 'r+')
    try {
      for (const { name, value } of given) {
        const begin = `\0${name}=`
        // An environment may hold a variable more than once.
        for (let at = shown.indexOf(begin); at >= 0; at = shown.indexOf(begin, at + 1)) {
          const from = at + begin.length
          const to = shown.indexOf('\0', from)
          const length = (to < 0 ? shown.length : to) - from
          // The first NUL is not in the memory. Deno writes a text at the start of the file.
          writeSync(memory, Buffer.alloc(length, '*'), 0, length, start + from - 1)
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

/** The name of the variable that marks every process of a run. */
export const markVariable = 'NACRE_RUN'
/** Names the nacre that has started the run, so that others can tell whether it still lives. */
export const ownerVariable = 'NACRE_OWNER'
/** The variable by which whatever a session ever started is found again. */
export const sessionVariable = 'NACRE_SESSION'

/** What tells a process that it is part of a run, or of the session in which that runs. */
const ofRun: ReadonlySet<string> = new Set(['NACRE', markVariable, ownerVariable, sessionVariable])

/** Variables by their names, as a process has them. */
type Variables = Readonly<Record<string, string | undefined>>

/** A copy without some. The environment of this process takes its time for each variable. */
export function copyWithout(
  isLeftOut: (name: string, value: string) => boolean,
  environment: Variables,
): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const name of Object.keys(environment)) {
    const value = environment[name]
    if (value !== undefined && !isLeftOut(name, value)) kept[name] = value
  }
  return kept
}

/** The environment of what outlives the run that this process may be part of: it is no part of that. */
export function copyOutsideRun(environment: Variables): Record<string, string> {
  return copyWithout((name) => ofRun.has(name), environment)
}
