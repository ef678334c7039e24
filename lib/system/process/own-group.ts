import { accessSync, constants, existsSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { lookIntoFile } from '../look.ts'

/** Where version 2 is mounted: alone, or beside version 1 as systemd does it. */
const mounts = ['/sys/fs/cgroup', '/sys/fs/cgroup/unified']

/** The path of the group of this process, where groups can be made in it; else null. */
export function findOwnGroup(): string | null {
  const own = /^0::(\/.*)$/m.exec(readGroupFile('/proc/self/cgroup'))?.[1]
  // Above the root of our namespace (cgroup_namespaces(7)) there is no path.
  if (own === undefined || own.startsWith('/..')) return null
  for (const mount of mounts) {
    const group = join(mount, own)
    try {
      if (!existsSync(join(group, 'cgroup.controllers'))) continue
      // Deno answers by the bits of the mode, which do not hold for root: root finds out by trying.
      if (process.geteuid?.() === 0) return group
      accessSync(group, constants.W_OK)
      accessSync(join(group, 'cgroup.procs'), constants.W_OK)
      return group
    } catch {
      // It is not ours to write.
      return null
    }
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
