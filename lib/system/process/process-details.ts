import { execFileSync } from 'node:child_process'
import { readlinkSync, statSync } from 'node:fs'
import { listProcesses, type ProcessEntry, readProc } from './process-table.ts'

/** Whether the environment with which a process was started holds `name=value`. */
export function hasEnvironment(pid: number, assignment: string): boolean {
  const environment = readProc(pid, 'environ')
  return environment !== null && `\0${environment}`.includes(`\0${assignment}\0`)
}

/** The value of a variable of a process's environment as it was started; null: none, or unreadable. */
export function readVariable(pid: number, name: string): string | null {
  const assignments = readProc(pid, 'environ')?.split('\0')
  return assignments?.find((text) => text.startsWith(`${name}=`))?.slice(name.length + 1) ?? null
}

/** What identifies an open pipe or terminal. */
export interface FileIdentity {
  dev: number
  ino: number
}

/** Whether one of the process's first three descriptors is the given pipe or terminal. */
export function holdsFile(pid: number, file: FileIdentity): boolean {
  for (const fd of [0, 1, 2]) {
    try {
      const stat = statSync(`/proc/${pid}/fd/${fd}`)
      const isOne = stat.isFIFO() || stat.isCharacterDevice()
      if (isOne && stat.ino === file.ino && stat.dev === file.dev) return true
    } catch {
      // Closed, gone, or another user's.
    }
  }
  return false
}

/**
 * The pipes of nacre to which a process writes: FIFOs whose name is gone. Empty where `/proc` does not
 * tell.
 */
export function listRunPipes(pid: number): FileIdentity[] {
  return [1, 2].flatMap((fd) => {
    const path = `/proc/${pid}/fd/${fd}`
    try {
      const isNamed = !readlinkSync(path).endsWith(' (deleted)')
      const stat = statSync(path)
      return isNamed || !stat.isFIFO() ? [] : [stat]
    } catch {
      // Closed, gone, or another user's.
      return []
    }
  })
}

/** Whether it is the first process of a pid namespace inside of ours (pid_namespaces(7)). */
export function isNamespaceInit(pid: number): boolean {
  const numbers = /^NSpid:\t(.+)$/m.exec(readProc(pid, 'status') ?? '')?.[1]?.split('\t') ?? []
  return numbers.length > 1 && numbers.at(-1) === '1'
}

/**
 * The program that runs in the pid namespace which `pid` has made, as it is numbered here; `pid`
 * itself where there is none (any more).
 */
export function findConfined(pid: number): number {
  const all = listProcesses()
  const init = all.find((entry) => entry.parent === pid && isNamespaceInit(entry.pid))
  const inside = all.filter((entry) => entry.parent === init?.pid)
  inside.sort(
    (one, other) => Number(one.startTime) - Number(other.startTime) || one.pid - other.pid,
  )
  return inside[0]?.pid ?? pid
}

/** What a person would call the process: its words, or its name. */
export function describeProcess(pid: number): string {
  if (process.platform !== 'linux') {
    try {
      return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim()
    } catch {
      return ''
    }
  }
  const words = readProc(pid, 'cmdline')?.split('\0').join(' ').trim()
  return words || (readProc(pid, 'comm')?.trim() ?? '')
}

/** Whether whoever started a process is gone, so that the system's first process has taken it over. */
export function isOrphan({ parent }: ProcessEntry): boolean {
  return (
    parent === 1 ||
    /(?:^|\/)(?:systemd|init|tini|dumb-init|catatonit)\b/.test(describeProcess(parent))
  )
}
