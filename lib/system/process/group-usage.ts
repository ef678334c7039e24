import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'

/** Where the usage of a control group is read. */
export interface UsageSource {
  /** What the processes of the group, ended ones too, have used so far; null where it cannot be read. */
  readUsage(): GroupUsage | null
}

/** The usage for a caller that asks again and again: its files stay open until it is closed. */
export interface OpenUsage extends UsageSource {
  close(): void
}

/** What all processes of a group took together. */
export interface GroupUsage {
  userMs: number
  systemMs: number
  /**
   * The most memory that all its processes held at once; null where the kernel does not count memory for
   * groups.
   */
  peakBytes: number | null
}

/**
 * Opens the usage of the control group at `path` (cgroups(7), version 2). On a kernel without the controller
 * for memory there is no `memory.peak`.
 */
export function openUsage(path: string): OpenUsage {
  const buffer = Buffer.alloc(usageMaxBytes)
  const cpuFd = openToRead(join(path, 'cpu.stat'))
  const peakFd = openToRead(join(path, 'memory.peak'))

  /** Empty where there is no such file, or the group is gone. */
  function read(fd: number | null): string {
    if (fd === null) return ''
    try {
      return buffer.toString('latin1', 0, readSync(fd, buffer, 0, buffer.length, 0))
    } catch {
      return ''
    }
  }

  return {
    readUsage() {
      const [, user, system] = cpuTimes.exec(read(cpuFd)) ?? []
      if (user === undefined) return null
      const peak = Number.parseInt(read(peakFd), 10)
      return {
        userMs: Number(user) / 1000,
        systemMs: Number(system) / 1000,
        peakBytes: Number.isNaN(peak) ? null : peak,
      }
    },
    close() {
      for (const fd of [cpuFd, peakFd]) if (fd !== null) closeSync(fd)
    },
  }
}

/** The times, in microseconds, which stand at the beginning of the file. */
const cpuTimes = /^user_usec (\d+)\nsystem_usec (\d+)$/m
const usageMaxBytes = 512

function openToRead(path: string): number | null {
  // To throw and catch an error takes far longer than this look.
  if (!existsSync(path)) return null
  try {
    return openSync(path, 'r')
  } catch {
    // The group is gone, or there are no more descriptors: then its usage is not known.
    return null
  }
}

/** The same source, whose usage counts from `before`. */
export function subtractUsage<Source extends UsageSource & { openUsage(): OpenUsage }>(
  source: Source,
  before: GroupUsage | null,
): Source {
  if (before === null) return source
  const subtract = (usage: GroupUsage | null) =>
    usage && {
      userMs: usage.userMs - before.userMs,
      systemMs: usage.systemMs - before.systemMs,
      peakBytes: usage.peakBytes,
    }
  return {
    ...source,
    readUsage: () => subtract(source.readUsage()),
    openUsage() {
      const usage = source.openUsage()
      return { ...usage, readUsage: () => subtract(usage.readUsage()) }
    },
  }
}
