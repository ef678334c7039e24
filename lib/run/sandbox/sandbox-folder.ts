import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRunning } from '../../system/process-table.ts'
import { makePrivateFolder } from '../../system/private-files.ts'

/** What one executor's sandboxes keep outside of themselves. No sandbox sees it. */
export interface SandboxFolder {
  /** Canonical. */
  readonly path: string
  /** What its runs find as their temporary folder, one after another. */
  readonly tmp: string
  /** The seccomp program. */
  readonly filter: string
  /** Where bwrap tells how one run went. */
  statusFile(runId: string): string
  remove(): void
}

/** Makes the folder below the state folder, or among the system's temporary files. */
export function openSandboxFolder(stateDir: string | null, filter: Uint8Array): SandboxFolder {
  const parent = stateDir === null ? tmpdir() : join(stateDir, 'sandbox')
  if (stateDir !== null) {
    makePrivateFolder(parent)
    removeAbandoned(parent)
  }
  const prefix = stateDir === null ? 'nacre-sandbox-' : `${ownName(process.pid)}-`
  const path = realpathSync(mkdtempSync(join(parent, prefix)))
  const folder = { path, tmp: join(path, 'tmp'), filter: join(path, 'filter') }
  mkdirSync(folder.tmp)
  chmodSync(folder.tmp, 0o1777)
  writeFileSync(folder.filter, filter, { mode: 0o600 })
  return {
    ...folder,
    statusFile: (runId) => join(path, `status-${runId}`),
    remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }),
  }
}

/** A process id means something in its own pid namespace only (pid_namespaces(7)). */
function ownName(pid: number): string {
  const namespace = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0'
  return `${namespace}-${pid}`
}

/** What nacres left that were killed. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    const pid = Number(name.split('-')[1])
    if (!Number.isInteger(pid) || !name.startsWith(`${ownName(pid)}-`) || isRunning(pid)) continue
    rmSync(join(parent, name), { recursive: true, force: true })
  }
}
