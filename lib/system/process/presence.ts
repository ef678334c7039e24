import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findOwnGroup } from './own-process.ts'
import { lookIntoFile, lookIntoFolder } from '../look.ts'
import { makePrivateFolder } from '../private-files.ts'
import { isAlive, nameProcess, readPidNamespace } from './process-table.ts'

/**
 * A file that tells of a process with runs. It is there before the first of them starts and goes with
 * the last, so that one whose process is gone tells of a kill: at whatever moment that came, the next
 * nacre sees it.
 */
export interface Presence {
  enter(): void
  /** After `enter`, the names (`<pid>:<start time>`) of the processes that were killed. */
  findKilled(): string[]
  leave(): void
}

/** The folder of these files, in that of the state. */
export function presenceFolder(stateDir: string): string {
  return join(stateDir, 'present')
}

/**
 * `folder` holds nothing but these files. Where it cannot be written, a kill of this process goes unnoticed.
 */
export function createPresence(folder: string): Presence {
  const own = join(folder, nameFile(nameProcess(process.pid)))
  let entered = false
  return {
    enter() {
      try {
        makePrivateFolder(folder)
        writeFileSync(own, findOwnGroup() ?? '', { mode: 0o600 })
        entered = true
      } catch {
        // A full or read-only disk costs this, not the run.
      }
    },
    // Where nothing can be written, nothing can be seen to for good either.
    findKilled: () => (entered ? findKilled(folder) : []),
    leave: () => remove(own),
  }
}

/** The names (`<pid>:<start time>`) of the processes that were killed. */
export function findKilled(folder: string): string[] {
  return lookIntoFolder(folder).flatMap((name) => {
    const owner = ownerOf(name)
    return owner === null || isAlive(owner) ? [] : [`${owner.pid}:${owner.startTime}`]
  })
}

/** The control group in which a killed process has made those of its runs; null where none is known. */
export function readGroupOf(folder: string, owner: string): string | null {
  return lookIntoFile(join(folder, nameFile(owner))) || null
}

/** Processes of other namespaces cannot be seen from here: their files go when they are so old. */
const foreignMs = 14 * 24 * 3600 * 1000

/** Removes the file of a killed process: its runs have been ended. */
export function forget(folder: string, owner: string): void {
  remove(join(folder, nameFile(owner)))
  for (const name of lookIntoFolder(folder)) {
    const path = join(folder, name)
    const stat = ownerOf(name) === null ? statSync(path, { throwIfNoEntry: false }) : undefined
    if (stat && Date.now() - stat.mtimeMs > foreignMs) remove(path)
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true })
  } catch {
    // Where it could not be written, it cannot be removed.
  }
}

/** Of a file that tells of that process: its number means something in its own pid namespace only (pid_namespaces(7)). */
export function nameFile(owner: string): string {
  return `${readPidNamespace()}-${owner.replace(':', '-')}`
}

/** Null for a process of another pid namespace. */
export function ownerOf(file: string): { pid: number; startTime: string } | null {
  const [namespace, pid, ...startTime] = file.split('-')
  if (namespace !== readPidNamespace() || !Number.isInteger(Number(pid))) return null
  return { pid: Number(pid), startTime: startTime.join('-') }
}
