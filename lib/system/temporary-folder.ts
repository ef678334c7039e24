import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRunning } from './process-table.ts'

/**
 * Makes a folder of this process alone (mode 0700). Its name says whose it is, so that
 * `removeLeftFolders` finds it after a kill: `nacre-<purpose>-<pid namespace>-<pid>-…`.
 * `parent`: by default the system's folder for temporary files.
 */
export function makeTemporaryFolder(purpose: string, parent = tmpdir()): string {
  return mkdtempSync(join(parent, `nacre-${purpose}-${nameOwner(process.pid)}-`))
}

/** Removes the folders of nacres that were killed before they could do it. */
export function removeLeftFolders(parent = tmpdir()): void {
  for (const name of readdirSync(parent)) {
    const [, owner, pid] = /^nacre-[a-z]+-(\d+-(\d+))-/.exec(name) ?? []
    if (owner === undefined || owner !== nameOwner(Number(pid)) || isRunning(Number(pid))) continue
    try {
      rmSync(join(parent, name), { recursive: true, force: true })
    } catch {
      // It is another user's.
    }
  }
}

/** The number of a process means something in its own pid namespace only (pid_namespaces(7)). */
function nameOwner(pid: number): string {
  return `${readNamespace()}-${pid}`
}

function readNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0'
  } catch {
    // There are no namespaces here.
    return '0'
  }
}
