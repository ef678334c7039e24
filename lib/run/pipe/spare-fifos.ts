import { execFile } from 'node:child_process'
import { renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { codeOf } from '../../protocol/errors.ts'
import { createId } from '../../protocol/ids.ts'
import { lookIntoFolder } from '../../system/look.ts'
import { makePrivateFolder } from '../../system/private-files.ts'

/** FIFOs made ahead of need, so that a short run need not wait for the process that makes them. */
export interface SpareFifos {
  /** The path of a FIFO that is now nobody else's, or null when none is left. Unlink it once open. */
  take(): string | null
  /** Has more made when few are left. Settles when that is done; never rejects. */
  refill(): Promise<void>
}

const wanted = 32
const few = 8
/** Taken by a nacre that died before it had opened it. */
const staleMs = 60_000

/**
 * Spares in a folder that several nacres share. Taking one is a rename, which only one of them can
 * do. Whatever fails gives none: the pool then makes its own.
 */
export function createSpareFifos(directory: string): SpareFifos {
  let names: string[] | null = null

  return {
    take() {
      names ??= lookIntoFolder(directory).filter((name) => name.startsWith('spare_'))
      for (let name = names.pop(); name !== undefined; name = names.pop()) {
        const mine = join(directory, createId('taken'))
        try {
          renameSync(join(directory, name), mine)
          return mine
        } catch (error) {
          if (codeOf(error) !== 'ENOENT') return null
        }
      }
      return null
    },
    async refill() {
      const present = lookIntoFolder(directory)
      const left = present.filter((name) => name.startsWith('spare_')).length
      if (left >= few) return
      removeStale(directory, present)
      const paths = Array.from({ length: wanted }, () => join(directory, createId('spare')))
      try {
        makePrivateFolder(directory)
        await promisify(execFile)('mkfifo', ['-m', '600', ...paths])
      } catch {
        // A folder that cannot be written gives no spares.
      }
    },
  }
}

function removeStale(directory: string, names: string[]): void {
  for (const name of names.filter((name) => name.startsWith('taken_'))) {
    const path = join(directory, name)
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat && Date.now() - stat.ctimeMs > staleMs) rmSync(path, { force: true })
  }
}
