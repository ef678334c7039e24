import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { nowMs } from '../../system/clock.ts'
import { ifSeen } from '../../system/look.ts'
import { makePrivateFolder } from '../../system/private-files.ts'
import {
  describeProcess,
  isRunning,
  listProcesses,
  sendSignal,
} from '../../system/process/process-table.ts'
import {
  makeTemporaryFolder,
  removeLeftIn,
  removeTemporaryFolder,
  sandboxesFolder,
} from '../../system/temporary-folder.ts'

/** What one executor's sandboxes keep outside of themselves. No sandbox sees it. */
export interface SandboxFolder {
  /** Canonical. */
  readonly path: string
  /**
   * What the runs of an owner find as their temporary folder, one after another. `inside`: the folders, relative
   * to it, that every run with this list mounts something on. No run could put a link in their place.
   */
  tmpOf(owner: string | null, inside: readonly string[]): string
  /** Further names for the artifacts of an owner. */
  artifactsOf(owner: string | null): string
  /** The seccomp program. */
  readonly filter: string
  /** Where bwrap writes how one run went; there as long as the run, or the shell of its session, may live. */
  statusFile(runId: string): string
  remove(): void
}

/**
 * Makes the folder below the state folder, else, if that is full, read-only or missing, at the first
 * of the temporary places that takes it.
 */
export function openSandboxFolder(stateDir: string | null, filter: Uint8Array): SandboxFolder {
  const fill = (folder: string) => {
    writeFileSync(join(folder, 'filter'), filter, { mode: 0o600 })
  }
  const path = realpathSync(makeBelow(stateDir, fill) ?? makeTemporaryFolder('sandbox', fill))
  const folders = new Map<string, string>()
  function openOnce(key: readonly (string | null)[], fill: (made: string) => void): string {
    const name = key.join('\0')
    const made = folders.get(name) ?? mkdtempSync(join(path, `${key[0]}-`))
    if (!folders.has(name)) fill(made)
    folders.set(name, made)
    return made
  }
  return {
    path,
    tmpOf: (owner, inside) =>
      openOnce(['tmp', owner, ...inside], (tmp) => {
        chmodSync(tmp, 0o1777)
        for (const folder of inside) mkdirSync(join(tmp, folder), { recursive: true })
      }),
    artifactsOf: (owner) => openOnce(['artifacts', owner], () => undefined),
    filter: join(path, 'filter'),
    statusFile: (runId) => join(path, `status-${runId}`),
    remove: () => removeTemporaryFolder(path),
  }
}

/** Gives null if it cannot be made there. */
function makeBelow(stateDir: string | null, fill: (folder: string) => void): string | null {
  if (stateDir === null) return null
  const parent = sandboxesFolder(stateDir)
  try {
    makePrivateFolder(parent)
    removeLeftIn(parent)
    return makeTemporaryFolder('sandbox', fill, parent)
  } catch {
    // If the cause is not this place, the other one reports it.
    return null
  }
}

/**
 * What bwrap has written about a run (`--json-status-fd`): the first process inside, as it is numbered outside, and
 * the exit code, which it writes only for a command that was really started. Null if the file is gone: whoever
 * clears the state folder may remove it while the run goes on.
 */
export function readStatus(
  file: string,
): { initPid: number | null; exitCode: number | null } | null {
  if (!existsSync(file)) return null
  const text = readFileSync(file, 'utf8')
  const find = (name: string) => {
    const value = new RegExp(`"${name}": (\\d+)`).exec(text)?.[1]
    return value === undefined ? null : Number(value)
  }
  return { initPid: find('child-pid'), exitCode: find('exit-code') }
}

/** Whether a shell that has no process of its own is all that the namespace has (proc_pid_task(5), `children`). */
export function hasOnlyShell(file: string): boolean {
  const childrenOf = (pid: number | string) =>
    ifSeen(() => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'))?.match(/\d+/g) ?? []
  const [shell, ...others] = childrenOf(readStatus(file)?.initPid ?? '')
  return shell !== undefined && others.length === 0 && childrenOf(shell).length === 0
}

/** The kernel ends a whole pid namespace within this time, or something hangs in it. */
const endMs = 2000

/** So many looks, a few milliseconds, are left to what ends with its command (`tee` at its pipe). */
const looksForEnd = 10

/**
 * Settles when the pid namespace of a run is empty. bwrap exits with the command; the first process of the
 * namespace goes on until the others in there have ended, and they are killed with it. Gives a notice if
 * there were any.
 */
export async function emptyNamespace(file: string): Promise<string[]> {
  const initPid = readStatus(file)?.initPid ?? null
  if (initPid === null) return []
  const ended: string[] = []
  const deadline = nowMs() + endMs
  for (let looks = 0; isRunning(initPid) && nowMs() < deadline; looks++) {
    if (looks === looksForEnd) {
      const left = listProcesses().filter(({ parent, zombie }) => parent === initPid && !zombie)
      ended.push(...left.map(({ pid }) => describeProcess(pid).slice(0, 200)))
      sendSignal(initPid, 'SIGKILL')
    }
    await (looks < 5 ? nextTurn() : delay(1))
  }
  if (ended.length === 0) return []
  return [
    `Still running in the background, so it ended with the sandbox of this run: ${ended.join(', ')}. To keep a process running, start it as a job or in a session`,
  ]
}
