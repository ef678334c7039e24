import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRunning } from './process-table.ts'

/** A folder of this process alone (mode 0700), for as long as it takes to open what is in it. */
export function makeTemporaryFolder(purpose: 'pipes' | 'stdin'): string {
  return mkdtempSync(join(tmpdir(), `nacre-${purpose}-${process.pid}-`))
}

/** Removes those of nacres that were killed before they could. */
export function removeLeftFolders(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = /^nacre-(?:pipes|stdin)-(\d+)-/.exec(name)?.[1]
    if (pid === undefined || isRunning(Number(pid))) continue
    try {
      rmSync(join(tmpdir(), name), { recursive: true, force: true })
    } catch {
      // Another user's.
    }
  }
}
