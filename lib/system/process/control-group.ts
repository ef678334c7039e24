import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmdirSync,
  write,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { codeOf } from '../../protocol/errors.ts'
import { nowMs } from '../clock.ts'
import { startsInGroups } from '../runtime.ts'
import { ifSeen, lookIntoFolder } from '../look.ts'
import { findOwnGroup, readGroupFile } from './own-process.ts'
import { isAlive, nameProcess } from './process-table.ts'

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

/** Where the usage of a control group is read. */
export interface UsageSource {
  /** What the processes of the group, ended ones too, have used so far; null where it cannot be read. */
  readUsage(): GroupUsage | null
}

/** The usage for a caller that asks again and again: its files stay open until it is closed. */
export interface OpenUsage extends UsageSource {
  close(): void
}

/**
 * A control group of the kernel (cgroups(7), version 2): whatever a process in it starts is in it too,
 * also where it moves to another session, loses its parents and empties its environment.
 */
export interface ControlGroup extends UsageSource {
  readonly path: string
  /** The numbers of all processes in the group, and in the groups that these have made. */
  list(): number[]
  /** Whether a process of it lives. */
  isPopulated(): boolean
  /** Sends KILL to all at once, so that none can start another meanwhile. */
  kill(): void
  /** Freezes all processes of the group, so that none can start another, or lets them go on. */
  freeze(frozen: boolean): void
  openUsage(): OpenUsage
  /** Removes the group where nothing lives in it. False: something does. */
  remove(): boolean
}

/** What has a number once it is started. */
interface Startable {
  readonly pid?: number | undefined
}

/** Makes control groups for what one process starts. */
export interface ControlGroups {
  /** A start will come in a moment: what the kernel makes it wait for begins now. */
  expectStart(): void
  /**
   * A group in which the process is that `start` starts, before its first instruction; null where there can
   * be none, and then `start` is called all the same. Where `group` is given, `start` is to start it in there;
   * else whatever it starts is in the group of this process. What `start` throws is what this rejects with.
   */
  enclose<Started extends Startable>(
    start: (group?: string) => Started,
  ): Promise<{ started: Started; group: ControlGroup | null }>
  /** Removes the groups in which nothing lives any more. */
  close(): Promise<void>
}

/** The number that stands in `cgroup.procs` for the process that writes there. */
const self = '0'

/** The group that this process is in, where groups can be made in it. */
interface Home {
  path: string
  /** The beginning of the paths of the groups that this process makes. */
  prefix: string
  /** The descriptor of its `cgroup.procs`: the way back must not fail because none is left. */
  procsFd: number
}

/**
 * Groups below that of this process, as the system allows: to root, and to a user in a subtree that was
 * delegated to that user, as systemd does for what its user manager starts. Nothing is asked of the
 * system before the first process.
 *
 * Bun has the kernel make the process in its group (clone3(2)). Elsewhere this process enters the group for
 * the moment of a start and leaves it again: one that was moved in after its start could have left a daemon
 * outside by then, and the kernel moves one that starts at this moment far more slowly.
 */
export function createControlGroups(): ControlGroups {
  const kept = new Set<ControlGroup>()
  /** Undefined until it was found; null where the system lets this process make no groups. */
  let home: Home | null | undefined
  const lock = new MoveLock()

  function expectStart(): void {
    if (startsInGroups) return
    const path = home === undefined ? findOwnGroup() : home?.path
    if (path) lock.take(path)
  }

  function findHome(): Home | null | undefined {
    const path = findOwnGroup()
    if (path === null) return null
    try {
      const procsFd = openSync(join(path, 'cgroup.procs'), 'w')
      removeLeftGroups(path)
      return { path, prefix: join(path, groupPrefix(nameProcess(process.pid))), procsFd }
    } catch {
      // The rights only looked like it, or no descriptor is left: the next start tries again.
      return undefined
    }
  }

  /** Makes a group and, but in Bun, moves this process into it. Null where this start gets no group. */
  function enter(prefix: string): ControlGroup | null {
    // No two executors of this process give the same number.
    const group = openControlGroup(`${prefix}${process.hrtime.bigint()}`)
    try {
      mkdirSync(group.path)
      // Linux before 5.14 has no way to end a group at once.
      if (!existsSync(join(group.path, 'cgroup.kill'))) throw new Error('It cannot be killed')
      if (!startsInGroups) writeFileSync(join(group.path, 'cgroup.procs'), self)
      kept.add(group)
      return group
    } catch {
      group.remove()
      return null
    }
  }

  /**
   * False: the kernel does not take this process back, as where the group has got controllers of its own
   * meanwhile. It stays among those of the run then, whose group must not be killed, and makes no more groups.
   */
  function moveBack({ procsFd }: Home): boolean {
    try {
      writeSync(procsFd, self)
      lock.noteMove()
      return true
    } catch {
      leaveHome()
      return false
    }
  }

  function leaveHome(): void {
    if (home) closeSync(home.procsFd)
    home = null
  }

  return {
    expectStart,
    async enclose(start) {
      expectStart()
      await lock.wait()
      home ??= home === null ? null : findHome()
      for (const group of kept) if (group.remove()) kept.delete(group)
      const place = home
      const group = place ? enter(place.prefix) : null
      if (!place || !group) return { started: start(), group: null }
      if (startsInGroups) return startIn(group, start)
      let isBack = false
      let started
      try {
        started = start()
      } finally {
        isBack = moveBack(place)
      }
      return { started, group: isBack ? group : null }
    },
    async close() {
      await lock.wait()
      for (const group of kept) group.remove()
      kept.clear()
      leaveHome()
    },
  }
}

/** Starts it in the group; without one where the system refuses that, or the process. */
function startIn<Started extends Startable>(
  group: ControlGroup,
  start: (group?: string) => Started,
): { started: Started; group: ControlGroup | null } {
  try {
    const started = start(group.path)
    if (started.pid !== undefined) return { started, group }
  } catch {
    // It is told below, should it be the process that is refused.
  }
  group.remove()
  return { started: start(), group: null }
}

/**
 * The group at a path, whoever has made it. Once it is gone, it answers every question as an empty group
 * would.
 */
export function openControlGroup(path: string): ControlGroup {
  // Another executor of this process may have made a group of the same path since.
  let removed = false
  const control = (file: string, value: string) => {
    if (!removed) writeControl(join(path, file), value)
  }
  return {
    path,
    list: () =>
      (removed ? [] : listGroups(path)).flatMap((group) =>
        readGroupFile(join(group, 'cgroup.procs')).split('\n').filter(Boolean).map(Number),
      ),
    isPopulated: () =>
      !removed && /^populated 1$/m.test(readGroupFile(join(path, 'cgroup.events'))),
    kill: () => control('cgroup.kill', '1'),
    freeze: (frozen) => control('cgroup.freeze', frozen ? '1' : '0'),
    readUsage() {
      const usage = openUsage(path)
      try {
        return usage.readUsage()
      } finally {
        usage.close()
      }
    },
    openUsage: () => openUsage(path),
    remove() {
      // A program of the run may have made groups below.
      removed ||= removeEmpty(path) || listGroups(path).every(removeEmpty)
      return removed
    },
  }
}

/** The kernel refuses it where a process lives in the group, or another group is in it. */
function removeEmpty(group: string): boolean {
  try {
    rmdirSync(group)
    return true
  } catch (error) {
    return codeOf(error) === 'ENOENT'
  }
}

/** A group and those below it, the innermost first. */
function listGroups(path: string): string[] {
  // None: it is gone.
  const entries = ifSeen(() => readdirSync(path, { withFileTypes: true })) ?? []
  const inner = entries.filter((entry) => entry.isDirectory())
  return [...inner.flatMap((entry) => listGroups(join(path, entry.name))), path]
}

/** Writes a file of a group. Where the group is gone nothing is written, since no process is in it. */
function writeControl(file: string, value: string): void {
  try {
    writeFileSync(file, value)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENODEV') throw error
  }
}

const usageMaxBytes = 512

/** On a kernel without the controller for memory there is no `memory.peak`. */
function openUsage(path: string): OpenUsage {
  const buffer = Buffer.alloc(usageMaxBytes)
  const cpuFd = openToRead(join(path, 'cpu.stat'))
  const peakFd = openToRead(join(path, 'memory.peak'))

  /** Empty where there is no such file, or the group is gone. */
  function read(fd: number | null): string {
    const length = fd === null ? 0 : ifSeen(() => readSync(fd, buffer, 0, usageMaxBytes, 0))
    return buffer.toString('latin1', 0, length ?? 0)
  }

  return {
    readUsage() {
      // In microseconds, at the beginning of the file.
      const [, user, system] = /^user_usec (\d+)\nsystem_usec (\d+)$/m.exec(read(cpuFd)) ?? []
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

function openToRead(path: string): number | null {
  // Null: the group is gone, or there are no more descriptors, and its usage is not known. To throw and catch an
  // error takes far longer than the first look.
  return existsSync(path) ? ifSeen(() => openSync(path, 'r')) : null
}

/** How the names of the groups begin that the process of this name (`<pid>:<start time>`) makes. */
const groupPrefix = (owner: string) => `nacre-${owner.replace(':', '-')}-`
const groupName = /^nacre-(\d+)-(\d+)-\d+$/

/** The groups that the process of this name has made in `parent`. */
export function listGroupsOf(owner: string, parent: string | null): ControlGroup[] {
  return listGroupsIn(parent, (name) => name.startsWith(groupPrefix(owner)))
}

/** Removes the empty groups in `parent` of processes that were killed before they could do it. */
export function removeLeftGroups(parent = findOwnGroup()): void {
  const isLeft = (name: string) => {
    const [, pid, startTime = ''] = groupName.exec(name) ?? []
    return pid !== undefined && !isAlive({ pid: Number(pid), startTime })
  }
  for (const group of listGroupsIn(parent, isLeft)) group.remove()
}

function listGroupsIn(parent: string | null, isWanted: (name: string) => boolean): ControlGroup[] {
  if (parent === null) return []
  const names = lookIntoFolder(parent).filter(isWanted)
  return names.map((name) => openControlGroup(join(parent, name)))
}

/** A move is quick for so long after the lock was taken. */
const quickMs = 10
/** A move goes on without the lock after so long: the threads may be held by a slow disk. */
const patienceMs = 50

/**
 * The lock of the kernel that every move of a process into a control group takes, and that all forks of
 * the machine share. Who takes it waits for every processor to pass by (percpu_down_write(), RCU), 5 to
 * 20 ms, unless it was taken a moment ago: so it is taken in another thread before a move has need of it.
 */
class MoveLock {
  #takenAtMs = Number.NEGATIVE_INFINITY
  #underWay: Promise<void> | null = null

  /** Begins to take it by what moves nothing, unless a move would be quick already. `group`: that of this process. */
  take(group: string): void {
    if (this.#underWay !== null || nowMs() - this.#takenAtMs < quickMs) return
    const fd = ifSeen(() => openSync(join(group, 'cgroup.threads'), 'w'))
    // It is not this process's to write, or no descriptor is left.
    if (fd === null) return
    this.#underWay = new Promise((resolve) => {
      // The kernel refuses it should this process be in another group just then; it has taken the lock all the same.
      write(fd, String(process.pid), () => {
        closeSync(fd)
        this.#underWay = null
        this.noteMove()
        resolve()
      })
    })
  }

  /** Waits until it is taken, where that is under way. */
  async wait(): Promise<void> {
    if (this.#underWay)
      await Promise.race([this.#underWay, delay(patienceMs, undefined, { ref: false })])
  }

  /** This process has moved, and taken it by that. */
  noteMove(): void {
    this.#takenAtMs = nowMs()
  }
}
