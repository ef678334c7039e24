import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmdirSync,
  write,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createDeferred } from '../../protocol/deferred.ts'
import { codeOf } from '../../protocol/errors.ts'
import { nowMs } from '../clock.ts'
import { startsInGroups } from '../runtime.ts'
import { type OpenUsage, openUsage, subtractUsage, type UsageSource } from './group-usage.ts'
import { lookIntoFolder } from '../look.ts'
import { findOwnGroup, readGroupFile } from './own-process.ts'
import { isAlive, nameProcess } from './process-table.ts'

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
  /** Reads the usage for a caller that asks again and again: the file stays open until it is closed. */
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
  /** Undefined until it has been looked for; null where the system lets this process make no groups. */
  let home: Home | null | undefined
  let made = 0
  const lock = new MoveLock()

  function expectStart(): void {
    if (startsInGroups) return
    const path = home === undefined ? findOwnGroup() : home?.path
    if (path) lock.take(path)
  }

  /** Makes a group and, but in Bun, moves this process into it. Null where this start gets no group. */
  function enter({ path: own, prefix }: Home): ControlGroup | null {
    let group: ControlGroup | null = null
    try {
      group = openControlGroup(makeFree(join(own, prefix)))
      // Linux before 5.14 has no way to end a group at once.
      if (!existsSync(join(group.path, 'cgroup.kill'))) throw new Error('It cannot be killed')
      if (!startsInGroups) writeFileSync(join(group.path, 'cgroup.procs'), self)
      kept.add(group)
      return group
    } catch (error) {
      group?.remove()
      // The rights only looked like it.
      if (!isExhausted(error)) leaveHome()
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

  /** Another executor of this process counts its groups too. */
  function makeFree(begin: string): string {
    for (;;) {
      const path = `${begin}${made++}`
      try {
        mkdirSync(path)
        return path
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error
      }
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
      if (home === undefined) home = findHome()
      for (const group of kept) if (group.remove()) kept.delete(group)
      const place = home
      const group = place && enter(place)
      if (!group) return { started: start(), group: null }
      if (startsInGroups) return startIn(group, start)
      let isBack = false
      let started
      try {
        started = start()
      } finally {
        isBack = moveBack(place)
      }
      // What the start itself took of this process is not the run's.
      return { started, group: isBack ? subtractUsage(group, group.readUsage()) : null }
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

/** The number that stands in `cgroup.procs` for the process that writes there. */
const self = '0'

/** The group that this process is in, where groups can be made in it. */
interface Home {
  path: string
  /** The beginning of the names of the groups that this process makes. */
  prefix: string
  /**
   * The descriptor of its `cgroup.procs`, which stays open: the way back must not fail because no descriptor
   * is left.
   */
  procsFd: number
}

function findHome(): Home | null | undefined {
  const path = findOwnGroup()
  if (path === null) return null
  try {
    const procsFd = openSync(join(path, 'cgroup.procs'), 'w')
    removeLeftGroups(path)
    return { path, prefix: `nacre-${nameProcess(process.pid).replace(':', '-')}-`, procsFd }
  } catch (error) {
    return isExhausted(error) ? undefined : null
  }
}

/** The system has no descriptors or no memory at this moment; the next start tries again. */
function isExhausted(error: unknown): boolean {
  return ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'].includes(codeOf(error) ?? '')
}

/**
 * The group at a path, whoever has made it. Once it is gone, it answers every question as an empty group
 * would.
 */
export function openControlGroup(path: string): ControlGroup {
  // Another executor of this process may have made a group of the same path since.
  let removed = false
  const groups = () => (removed ? [] : listGroups(path))
  return {
    path,
    list: () =>
      groups().flatMap((group) =>
        readGroupFile(join(group, 'cgroup.procs')).split('\n').filter(Boolean).map(Number),
      ),
    isPopulated: () =>
      !removed && /^populated 1$/m.test(readGroupFile(join(path, 'cgroup.events'))),
    kill() {
      if (!removed) writeControl(path, 'cgroup.kill', '1')
    },
    freeze(frozen) {
      if (!removed) writeControl(path, 'cgroup.freeze', frozen ? '1' : '0')
    },
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
      removed ||= removeEmpty(path) || removeWithInner(path)
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

/** A program of the run may have made groups below. */
function removeWithInner(path: string): boolean {
  const groups = listGroups(path)
  return groups.length > 1 && groups.every(removeEmpty)
}

/** A group and those below it, the innermost first. */
function listGroups(path: string): string[] {
  try {
    const inner = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    return [...inner.flatMap((entry) => listGroups(join(path, entry.name))), path]
  } catch {
    // It is gone.
    return [path]
  }
}

/** The groups that the process of this name (`<pid>:<start time>`) has made in `parent`. */
export function listGroupsOf(owner: string, parent: string | null): ControlGroup[] {
  const prefix = `nacre-${owner.replace(':', '-')}-`
  return listGroupsIn(parent, (name) => name.startsWith(prefix))
}

/** Removes the empty groups in `parent` of processes that were killed before they could do it. */
export function removeLeftGroups(parent = findOwnGroup()): void {
  const isLeft = (name: string) => {
    const [, pid, startTime = ''] = /^nacre-(\d+)-(\d+)-\d+$/.exec(name) ?? []
    return pid !== undefined && !isAlive({ pid: Number(pid), startTime })
  }
  for (const group of listGroupsIn(parent, isLeft)) group.remove()
}

function listGroupsIn(parent: string | null, isWanted: (name: string) => boolean): ControlGroup[] {
  if (parent === null) return []
  const names = lookIntoFolder(parent).filter(isWanted)
  return names.map((name) => openControlGroup(join(parent, name)))
}

/** Writes a file of a group. Where the group is gone nothing is written, since no process is in it. */
function writeControl(group: string, file: string, value: string): void {
  try {
    writeFileSync(join(group, file), value)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENODEV') throw error
  }
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
    const fd = openThreads(group)
    if (fd === null) return
    const { promise, resolve } = createDeferred()
    this.#underWay = promise
    // The kernel refuses it should this process be in another group just then; it has taken the lock all the same.
    write(fd, String(process.pid), () => {
      closeSync(fd)
      this.#underWay = null
      this.noteMove()
      resolve()
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

/** So many descriptors are left to what else this process does while the lock is taken. */
const leftDescriptors = 4

/**
 * Opens what takes one thread into a group; null where that is not this process's to write, or where it
 * would have one of the last descriptors.
 */
function openThreads(group: string): number | null {
  const opened: number[] = []
  try {
    const fd = openSync(join(group, 'cgroup.threads'), 'w')
    opened.push(fd)
    while (opened.length <= leftDescriptors) opened.push(openSync('/dev/null', 'r'))
    opened.shift()
    return fd
  } catch {
    return null
  } finally {
    for (const fd of opened) closeSync(fd)
  }
}
