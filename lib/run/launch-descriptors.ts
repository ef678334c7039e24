import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import type { Launch, LaunchDescriptor } from './launch.ts'

/** A launch's further descriptors, open for one start. */
export interface OpenDescriptors {
  /** The `stdio` of the start: what was given, then these. */
  stdio<Entry>(standard: readonly Entry[]): (Entry | number | 'ignore')[]
  /** Once the process has them. */
  release(): void
}

export function openDescriptors({ descriptors = [] }: Launch): OpenDescriptors {
  const opened: { fd: number; target: number }[] = []
  const release = () => {
    for (const { fd } of opened.splice(0)) closeSync(fd)
  }
  try {
    for (const { fd: target, path, access } of descriptors) {
      opened.push({ fd: openSync(path, access === 'read' ? 'r' : 'w', 0o600), target })
    }
  } catch (error) {
    release()
    throw error
  }
  return {
    stdio<Entry>(standard: readonly Entry[]) {
      const all: (Entry | number | 'ignore')[] = [...standard]
      for (const { fd, target } of opened) {
        // `ignore` above 2 leaves a number as it is.
        while (all.length < target) all.push('ignore')
        all[target] = fd
      }
      return all
    },
    release,
  }
}

const closeOnExec = 0o2000000

/**
 * Descriptors that nacre was started with and every process that it starts would inherit, as
 * `/dev/null`. Node's own are close-on-exec (proc(5) on fdinfo; Linux only).
 */
export function coverInherited(): LaunchDescriptor[] {
  const numbers = readdirSync('/proc/self/fd').map(Number)
  return numbers
    .filter((fd) => fd > 2 && isInherited(fd))
    .map((fd) => ({ fd, path: '/dev/null', access: 'read' as const }))
}

function isInherited(fd: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1]
    return (Number.parseInt(flags ?? '0', 8) & closeOnExec) === 0
  } catch {
    // Closed since: the descriptor of the listing itself.
    return false
  }
}
