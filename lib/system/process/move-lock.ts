import { closeSync, openSync, write } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createDeferred } from '../../protocol/deferred.ts'
import { nowMs } from '../clock.ts'

/** A move is quick for so long after the lock was taken. */
const quickMs = 10
/** A move goes on without the lock after so long: the threads may be held by a slow disk. */
const patienceMs = 50

/**
 * The lock of the kernel that every move of a process into a control group takes, and that all forks of
 * the machine share. Who takes it waits for every processor to pass by (percpu_down_write(), RCU), 5 to
 * 20 ms, unless it was taken a moment ago: so it is taken in another thread before a move has need of it.
 */
export class MoveLock {
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
