import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, type Stats, statSync } from 'node:fs'
import { constants } from 'node:os'
import { codeOf } from '../../protocol/errors.ts'
import { ifSeen, lookAtLink, lookIntoFile, lookIntoFolder } from '../look.ts'

/** One line of the system's process table. */
export interface ProcessEntry {
  pid: number
  parent: number
  group: number
  session: number
  /** The process group that the process's terminal listens to; -1 where it has none or that is not known. */
  foreground: number
  /** One letter: `R` runs, `S` sleeps, `D` waits for a device, `T` is stopped, `Z` has ended (proc(5)). */
  state: string
  /**
   * The time of its start, on Linux in clock ticks since boot. There it names, together with the pid, one
   * process for good.
   */
  startTime: string
  zombie: boolean
}

/** Every process of the machine, read from `/proc` (proc(5)), elsewhere from ps(1). */
export function listProcesses(): ProcessEntry[] {
  if (process.platform !== 'linux') return listFromPs()
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.flatMap((pid) => readProcess(pid) ?? [])
}

/** One process, or null when it is gone. */
export function readProcess(pid: number): ProcessEntry | null {
  if (process.platform !== 'linux') return listFromPs(['-p', String(pid)])[0] ?? null
  // Behind the name, which stands in brackets and may hold anything.
  const stat = readProc(pid, 'stat')
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (!fields) return null
  return {
    pid,
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    foreground: Number(fields[5]),
    state: fields[0] ?? '',
    startTime: fields[19] ?? '',
    zombie: fields[0] === 'Z' || fields[0] === 'X',
  }
}

function listFromPs(which: readonly string[] = ['-A']): ProcessEntry[] {
  const columns = 'pid=,ppid=,pgid=,stat=,lstart='
  const { stdout } = spawnSync('ps', [...which, '-o', columns], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  return stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields.length > 4)
    .map(([pid, parent, group, state, ...start]) => ({
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      // ps of macOS does not tell the session; the group of a session's leader stands for it.
      session: Number(group),
      foreground: -1,
      state: state?.[0] ?? '',
      startTime: start.join(' '),
      zombie: state?.startsWith('Z') ?? false,
    }))
}

/** A process as another one finds it again: the number alone is given anew after its end. */
export interface ProcessIdentity {
  pid: number
  /** The time at which it started, as the process table has it. */
  startTime: string
  /**
   * The number of the start of the machine in which it ran; empty where the system does not tell it (no
   * /proc).
   */
  boot: string
}

/** The process of this number, or null when it is gone. */
export function identifyProcess(pid: number): ProcessIdentity | null {
  const entry = readProcess(pid)
  return entry && { pid, startTime: entry.startTime, boot: readBoot() }
}

/** The identity of this process. */
export function identifySelf(): ProcessIdentity {
  return identifyProcess(process.pid) ?? { pid: process.pid, startTime: '', boot: '' }
}

/**
 * Whether that very process still runs; without `boot`, of this start of the machine. A process that
 * has ended and that nobody has waited for yet (a zombie) does not run.
 */
export function isAlive(identity: { pid: number; startTime: string; boot?: string }): boolean {
  const { pid, startTime, boot } = identity
  if (boot !== undefined && boot !== readBoot()) return false
  const entry = readProcess(pid)
  return entry !== null && !entry.zombie && entry.startTime === startTime
}

/** Whether a process of this number runs now, whichever that is. */
export function isRunning(pid: number): boolean {
  return readProcess(pid)?.zombie === false
}

/** The number of this start of the machine (random(4)). */
function readBoot(): string {
  return lookIntoFile('/proc/sys/kernel/random/boot_id')?.trim() ?? ''
}

/**
 * A name that no two processes of one start of the machine share: `<pid>:<start time>`. It is empty
 * for a process that is gone.
 */
export function nameProcess(pid: number): string {
  const entry = readProcess(pid)
  return entry ? `${pid}:${entry.startTime}` : ''
}

/** The number of the pid namespace that this process is in; 0 where there are none. */
export function readPidNamespace(): string {
  return /\d+/.exec(lookAtLink('/proc/self/ns/pid') ?? '')?.[0] ?? '0'
}

/** A process and all that descend from it, parents first (`/proc/<pid>/task/<tid>/children`). Linux only. */
export function listTree(root: number): number[] {
  const found = [root]
  for (const pid of found) {
    for (const thread of lookIntoFolder(`/proc/${pid}/task`)) {
      const children = readProc(pid, `task/${thread}/children`) ?? ''
      found.push(...children.split(' ').filter(Boolean).map(Number))
    }
  }
  return found
}

/** For programs every Linux counts 100 ticks a second (proc(5)). */
const tickMs = 10

/** By how much the age of a process may be wrong: one tick of the clock that dates it, and a little. */
export const clockToleranceMs = process.platform === 'linux' ? 15 : 1500

/** How long ago a process was started. */
export function ageMs({ startTime }: ProcessEntry): number {
  if (process.platform !== 'linux') return Date.now() - Date.parse(startTime)
  const uptimeSeconds = Number(readFileSync('/proc/uptime', 'latin1').split(' ')[0])
  return uptimeSeconds * 1000 - Number(startTime) * tickMs
}

/** Whether we may send it a signal: it is this user's. */
export function maySignal(pid: number): boolean {
  return ifSeen(() => process.kill(pid, 0)) === true
}

/** The name of a signal by its number; null: there is none. */
export function nameSignal(number: number): string | null {
  const found = Object.entries(constants.signals).find(([, value]) => value === number)
  return found?.[0] ?? null
}

/** Sends a signal; a process that is gone already, or another user's, gets none. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (codeOf(error) !== 'ESRCH' && codeOf(error) !== 'EPERM') throw error
  }
}

/** Whether the process group that `pid` leads, or led, still has a member. */
export function isGroupAlive(pid: number | null): boolean {
  return pid !== null && maySignal(-pid)
}

/** A file of a process in `/proc`; null where it is gone, or another user's. */
function readProc(pid: number, file: string): string | null {
  return lookIntoFile(`/proc/${pid}/${file}`, 'latin1')
}

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

/** What one of its descriptors leads to; null where that is closed, the process gone, or another user's. */
function lookAtDescriptor(pid: number, fd: number): Stats | null {
  return ifSeen(() => statSync(`/proc/${pid}/fd/${fd}`))
}

/** Whether one of the process's first three descriptors is the given pipe or terminal. */
export function holdsFile(pid: number, { dev, ino }: FileIdentity): boolean {
  return [0, 1, 2].some((fd) => {
    const stat = lookAtDescriptor(pid, fd)
    // A closed pipe's number may be a file's by now.
    const isKind = stat?.isFIFO() || stat?.isCharacterDevice()
    return isKind && stat?.ino === ino && stat.dev === dev
  })
}

/**
 * The pipes of nacre to which a process writes: FIFOs whose name is gone. Empty where `/proc` does not
 * tell.
 */
export function listRunPipes(pid: number): FileIdentity[] {
  return [1, 2].flatMap((fd) => {
    const isUnnamed = lookAtLink(`/proc/${pid}/fd/${fd}`)?.endsWith(' (deleted)')
    const stat = isUnnamed ? lookAtDescriptor(pid, fd) : null
    return stat?.isFIFO() ? [stat] : []
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

/** What a person would call the process: its words, or its name. Empty where there is no `/proc`. */
export function describeProcess(pid: number): string {
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

/** A socket that takes connections (proc_pid_net(5)). */
interface Listener {
  inode: string
  /** The user number of the process that opened it. */
  uid: number
}

/** Whether anybody listens on a TCP port in the network that this process is in. Linux only. */
export function isPortTaken(port: number): boolean {
  return listListeners('self', port).length > 0
}

/**
 * Whether one of these processes listens on a TCP port, each in the network that it is in: that of a
 * sandbox or a container is another one. Linux only. Where the descriptors of a process may not be read
 * (another user's), a listener of its user counts as its own.
 */
export function listensOn(pids: Iterable<number>, port: number): boolean {
  const listenersByNetwork = new Map<string, Listener[]>()
  for (const pid of pids) {
    const network = lookAtLink(`/proc/${pid}/ns/net`) ?? String(pid)
    const listeners = listenersByNetwork.get(network) ?? listListeners(pid, port)
    listenersByNetwork.set(network, listeners)
    if (listeners.length > 0 && holdsOne(pid, listeners)) return true
  }
  return false
}

function holdsOne(pid: number, listeners: readonly Listener[]): boolean {
  const folder = `/proc/${pid}/fd`
  try {
    const opened = new Set(readdirSync(folder).map((name) => lookAtLink(`${folder}/${name}`)))
    return listeners.some(({ inode }) => opened.has(`socket:[${inode}]`))
  } catch {
    const uid = statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid
    return listeners.some((listener) => listener.uid === uid)
  }
}

/** The state LISTEN in the kernel's tables. */
const listening = '0A'

function listListeners(pid: number | 'self', port: number): Listener[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0')
  const found: Listener[] = []
  for (const table of ['tcp', 'tcp6']) {
    // The kernel may have no IPv6.
    const lines = lookIntoFile(`/proc/${pid}/net/${table}`, 'latin1')?.split('\n') ?? []
    for (const line of lines.slice(1)) {
      const [, local = '', , state, , , , uid, , inode] = line.trim().split(/\s+/)
      if (state === listening && inode !== undefined && local.endsWith(`:${wanted}`)) {
        found.push({ inode, uid: Number(uid) })
      }
    }
  }
  return found
}
