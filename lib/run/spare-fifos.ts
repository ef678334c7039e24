import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../protocol/errors.ts'
import { createId } from '../protocol/ids.ts'

/** FIFOs made ahead of need, so that a short run need not wait for the process that makes them. */
export interface SpareFifos {
  /** The path of a FIFO that is now nobody else's, or null when none is left. Unlink it once open. */
  take(): string | null
  /** Has more made, without waiting, when few are left. */
  refill(): void
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

  function list(): string[] {
    try {
      return readdirSync(directory)
    } catch {
      return []
    }
  }

  return {
    take() {
      names ??= list().filter((name) => name.startsWith('spare_'))
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
    refill() {
      const present = list()
      const left = present.filter((name) => name.startsWith('spare_')).length
      if (left >= few) return
      removeStale(directory, present)
      const paths = Array.from({ length: wanted }, () => join(directory, createId('spare')))
      try {
        mkdirSync(directory, { recursive: true, mode: 0o700 })
      } catch {
        return
      }
      const options = { stdio: 'ignore', detached: true, cwd: '/' } as const
      const child = spawn('mkfifo', ['-m', '600', ...paths], options)
      child.on('error', () => undefined)
      child.unref()
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
