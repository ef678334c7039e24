import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'

/** One line of the system's process table. */
export interface ProcessEntry {
  pid: number
  parent: number
  group: number
  session: number
  /** With the pid a name that is never given twice, where the system tells it (Linux: clock ticks since boot). */
  startTime: string
  zombie: boolean
}

/** Every process of the machine, read from `/proc` (proc(5)), elsewhere from ps(1). */
export function listProcesses(): ProcessEntry[] {
  return process.platform === 'linux' ? listFromProc() : listFromPs()
}

function listFromProc(): ProcessEntry[] {
  const entries: ProcessEntry[] = []
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid)) continue
    const entry = readProcess(pid)
    if (entry) entries.push(entry)
  }
  return entries
}

/** One process, or null when it is gone. */
export function readProcess(pid: number): ProcessEntry | null {
  if (process.platform !== 'linux') return listFromPs().find((entry) => entry.pid === pid) ?? null
  const stat = readProc(pid, 'stat')
  if (stat === null) return null
  // The name, in brackets, may hold anything: the fields are counted after its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return {
    pid,
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    startTime: fields[19] ?? '',
    zombie: fields[0] === 'Z' || fields[0] === 'X',
  }
}

/** Whether a process of this number runs; one that has ended and was not waited for does not. */
export function isRunning(pid: number): boolean {
  const entry = readProcess(pid)
  return entry !== null && !entry.zombie
}

function listFromPs(): ProcessEntry[] {
  const text = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,pgid=,stat=,lstart='], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  return text
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields.length > 4)
    .map(([pid, parent, group, state, ...start]) => ({
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      // ps of macOS does not tell the session; the group of a session's leader stands for it.
      session: Number(group),
      startTime: start.join(' '),
      zombie: state?.startsWith('Z') ?? false,
    }))
}

/**
 * A name that no two processes of one start of the machine share: `<pid>:<start time>`. Empty for a
 * process that is gone.
 */
export function nameProcess(pid: number): string {
  const entry = readProcess(pid)
  return entry ? `${pid}:${entry.startTime}` : ''
}

/** A variable of a process's environment as it was started, or null where it may not be read. */
export function hasEnvironment(pid: number, assignment: string): boolean {
  const environment = readProc(pid, 'environ')
  return environment !== null && `\0${environment}`.includes(`\0${assignment}\0`)
}

/** The value of a variable of a process's environment as it was started; null: none, or unreadable. */
export function readVariable(pid: number, name: string): string | null {
  const assignments = readProc(pid, 'environ')?.split('\0')
  return assignments?.find((text) => text.startsWith(`${name}=`))?.slice(name.length + 1) ?? null
}

/** Of a pipe or a terminal that is open. */
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

function readProc(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    return null
  }
}
