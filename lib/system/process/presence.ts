import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findOwnGroup } from './own-process.ts'
import { lookIntoFile, lookIntoFolder } from '../look.ts'
import { makePrivateFolder } from '../private-files.ts'
import { isAlive, nameProcess, readPidNamespace } from './process-table.ts'

/*
 * A file tells of a process with runs. It is there before the first of them starts and goes with the last, so
 * that one whose process is gone tells of a kill: at whatever moment that came, the next nacre sees it.
 */

/** The folder of these files, and of nothing else, in that of the state. */
export function presenceFolder(stateDir: string): string {
  return join(stateDir, 'present')
}

/** Makes the file of this process. False: the folder cannot be written, and a kill goes unnoticed. */
export function enter(folder: string): boolean {
  try {
    makePrivateFolder(folder)
    const own = join(folder, nameFile(nameProcess(process.pid)))
    writeFileSync(own, findOwnGroup() ?? '', { mode: 0o600 })
    return true
  } catch {
    // A full or read-only disk costs this, not the run.
    return false
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

/** Removes the file of a process, killed or not, whose runs have ended. */
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
