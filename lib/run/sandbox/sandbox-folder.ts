import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { lookIntoFolder } from '../../system/look.ts'
import { makePrivateFolder } from '../../system/private-files.ts'
import {
  makeFilledFolder,
  removeLeftIn,
  removeTemporaryFolder,
  sandboxesFolder,
} from '../../system/temporary-folder.ts'

/** What one executor's sandboxes keep outside of themselves. No sandbox sees it. */
export interface SandboxFolder {
  /** Canonical. */
  readonly path: string
  /**
   * What its runs find as their temporary folder, one after another. `inside`: the folders, relative to
   * it, that every run with this list mounts something on. No run could put a link in their place.
   */
  tmpWith(inside: readonly string[]): string
  /** Further names for the artifacts of its runs. */
  readonly artifacts: string
  /** The seccomp program. */
  readonly filter: string
  /** Whether a run in a sandbox of any nacre with this state folder may be alive. */
  hasRuns(): boolean
  /** Where bwrap tells how one run went; there as long as the run, or the shell of its session, may live. */
  statusFile(runId: string): string
  remove(): void
}

/**
 * Makes the folder below the state folder, else, where that is full, read-only or missing, at the first
 * of the temporary places that takes it.
 */
export function openSandboxFolder(stateDir: string | null, filter: Uint8Array): SandboxFolder {
  const fill = (folder: string) => {
    mkdirSync(join(folder, 'artifacts'))
    writeFileSync(join(folder, 'filter'), filter, { mode: 0o600 })
    // What bwrap tells of a run.
    writeFileSync(join(folder, 'room'), Buffer.alloc(roomBytes), { mode: 0o600 })
    rmSync(join(folder, 'room'))
  }
  const path = realpathSync(makeBelow(stateDir, fill) ?? makeFilledFolder('sandbox', fill))
  const tmps = new Map<string, string>()
  return {
    path,
    tmpWith(inside) {
      const key = inside.join('\0')
      const tmp = tmps.get(key) ?? mkdtempSync(join(path, 'tmp-'))
      if (tmps.has(key)) return tmp
      chmodSync(tmp, 0o1777)
      for (const folder of inside) mkdirSync(join(tmp, folder), { recursive: true })
      tmps.set(key, tmp)
      return tmp
    },
    artifacts: join(path, 'artifacts'),
    filter: join(path, 'filter'),
    hasRuns: () =>
      lookIntoFolder(dirname(path))
        .filter((name) => name.startsWith('nacre-sandbox-'))
        .flatMap((name) => lookIntoFolder(join(dirname(path), name)))
        .some((name) => name.startsWith('status-')),
    statusFile: (runId) => join(path, `status-${runId}`),
    remove: () => removeTemporaryFolder(path),
  }
}

const roomBytes = 4096

/** Gives null where it cannot be made there. */
function makeBelow(stateDir: string | null, fill: (folder: string) => void): string | null {
  if (stateDir === null) return null
  const parent = sandboxesFolder(stateDir)
  try {
    makePrivateFolder(parent)
    removeLeftIn(parent)
    return makeFilledFolder('sandbox', fill, parent)
  } catch {
    // The other place says what speaks against it, where that is no matter of this one.
    return null
  }
}
