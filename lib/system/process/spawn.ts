import { type ChildProcess, type IOType, spawn, type SpawnOptions } from 'node:child_process'
import { closeSync, openSync, readdirSync } from 'node:fs'
import type { Readable, Stream, Writable } from 'node:stream'
import { createDeferred } from '../../protocol/deferred.ts'
import { codeOf } from '../../protocol/errors.ts'
import { ifSeen, lookIntoFile } from '../look.ts'
import { bun, type BunRuntime } from '../runtime.ts'
import type { ControlGroup, ControlGroups } from './control-group.ts'

/** A file that a process finds open beside its standard streams. */
export interface GivenFile {
  /** The number under which the process finds it, 3 or above. */
  fd: number
  /** A path, or what opens it when the process starts. */
  from: string | (() => number)
  access: 'read' | 'write'
}

/** What a process is given as one of its descriptors: a number of ours, a stream, or one of Node's words. */
export type Given = IOType | 'ipc' | Stream | number | null | undefined

/** How one process is started, its descriptors chosen. */
interface ChildOptions {
  argv0?: string
  cwd?: string
  env?: Readonly<Record<string, string>>
  stdio: Given[]
  detached?: boolean
  /** The folder of its control group, for a runtime that can start it there. */
  cgroup?: string | undefined
}

/** What is known of a process by its runtime. */
interface Child {
  /** Undefined: it could not be started. */
  readonly pid?: number | undefined
  /** Null where it was given something else. */
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  once(
    event: 'exit',
    listener: (code: number | null, signal: NodeJS.Signals | null) => void,
  ): unknown
  /** Whether it keeps this process alive; at first it does. */
  ref(): void
  unref(): void
}

export interface ProcessStart {
  file: string
  args: readonly string[]
  /** What the program is called as. Default: `file`. */
  argv0?: string
  cwd?: string
  /** The whole environment. Default: that of nacre. */
  env?: Readonly<Record<string, string>>
  /** Standard input, output and error. */
  stdio: readonly Given[]
  files?: readonly GivenFile[]
  /** True: the process leads a process session of its own. */
  detached?: boolean
  uninherited?: Uninherited
  /** Given where the process is to be in a control group of its own. */
  groups?: ControlGroups | undefined
}

/** A process that runs, or has just ended. */
export interface StartedProcess extends Child {
  readonly pid: number
  /**
   * The control group that holds the process and all that it starts; null where none was asked for, or the
   * kernel gives none.
   */
  readonly group: ControlGroup | null
}

/**
 * Starts a process; what is executable and has no header is a script for sh, as for execvp(3), and the directory
 * of nacre itself need not be one that may be entered. Rejects with the system's error; what was opened for the
 * start is closed again either way, but for descriptors of the caller's among `stdio`.
 */
export async function startProcess(start: ProcessStart): Promise<StartedProcess> {
  try {
    return await startFile(start)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'EACCES' && isOwnDirectory(start.cwd)) {
      const { cwd: _, ...here } = start
      return startProcess(here)
    }
    if (code !== 'ENOEXEC') throw error
    const { argv0: _, ...script } = start
    return startFile({ ...script, file: '/bin/sh', args: [start.file, ...start.args] })
  }
}

/** Whether nacre stands there: whoever does need not enter it (`sudo -u postgres nacre …` in the home of root). */
export function isOwnDirectory(cwd: ProcessStart['cwd']): boolean {
  // Null: it was removed (getcwd(3), ENOENT).
  return cwd === ifSeen(() => process.cwd())
}

async function startFile(start: ProcessStart): Promise<StartedProcess> {
  const { file, args, stdio, files = [], uninherited = new Set(), groups, ...how } = start
  const opened: number[] = []
  const given: Given[] = [...stdio]
  try {
    for (const { fd, from, access } of files) {
      const flags = access === 'read' ? 'r' : 'w'
      const own = typeof from === 'string' ? openSync(from, flags, 0o600) : from()
      opened.push(own)
      give(given, fd, own)
    }
    if (uninherited.size > 0) {
      const nullFd = openSync('/dev/null', 'r+')
      opened.push(nullFd)
      for (const fd of uninherited) {
        if ((given[fd] ?? 'ignore') === 'ignore') give(given, fd, nullFd)
      }
    }
    const run = (cgroup?: string) => startChild(file, args, { ...how, stdio: given, cgroup })
    const { started: child, group } = (await groups?.enclose(run)) ?? {
      started: run(),
      group: null,
    }
    const { pid } = child
    if (pid !== undefined) return Object.assign(child, { pid, group })
    return await new Promise<never>((_, reject) => (child as ChildProcess).once('error', reject))
  } finally {
    for (const fd of opened) closeSync(fd)
  }
}

/** Puts a descriptor of ours under a number. `ignore` above 2 leaves a number as it is. */
function give(stdio: Given[], fd: number, own: number): void {
  while (stdio.length < fd) stdio.push('ignore')
  stdio[fd] = own
}

/** A process with a pipe for one of its standard streams. */
export type PipedProcess = StartedProcess & ChildProcess

/** The same where one of the standard streams is a pipe. */
export const startPiped = startProcess as (start: ProcessStart) => Promise<PipedProcess>

/** Throws the system's error, or gives a child without a number, whose `error` is yet to come. */
function startChild(file: string, args: readonly string[], options: ChildOptions): Child {
  // Bun's form of `node:child_process` takes ten times as long for the first start.
  if (bun !== null && isPlainStart(options)) return spawnByBun(bun, file, args, options)
  // Bun passes `cgroup` on, Node knows nothing of it and is given none.
  const child = spawn(file, args, options as SpawnOptions)
  if (child.pid === undefined) {
    // Whoever starts it may try in another way.
    child.once('error', () => undefined)
    // There are none where the system had no more descriptors for them.
    for (const stream of child.stdio ?? []) stream?.destroy()
  }
  return child
}

type Exit = Parameters<Parameters<Child['once']>[1]>

/** A start that Bun itself can make: no pipe, no stream. */
interface PlainStart extends ChildOptions {
  env: Readonly<Record<string, string>>
  stdio: (number | 'ignore' | 'inherit')[]
}

function isPlainStart(options: ChildOptions): options is PlainStart {
  const isPlain = (given: Given) =>
    typeof given === 'number' || given === 'ignore' || given === 'inherit'
  return options.env !== undefined && options.stdio.every(isPlain)
}

/** The same as `spawn` of `node:child_process`, but that it throws the system's error. */
function spawnByBun(
  runtime: BunRuntime,
  file: string,
  args: readonly string[],
  { argv0 = file, stdio, detached = false, ...rest }: PlainStart,
): Child {
  const { promise: ended, resolve } = createDeferred<Exit>()
  const child = runtime.spawn({
    ...rest,
    cmd: [file, ...args],
    argv0,
    stdio: stdio.map((given) => (given === 'ignore' ? null : given)),
    detached,
    onExit(_, code, signal) {
      // A signal without a name (those for real time) is told as a shell tells it.
      if (typeof signal === 'number') resolve([128 + signal, null])
      else resolve(signal === null ? [code, null] : [null, signal])
    },
  })
  return {
    pid: child.pid,
    stdin: null,
    stdout: null,
    stderr: null,
    once: (_, listener) => void ended.then((exit) => listener(...exit)),
    ref: () => child.ref(),
    unref: () => child.unref(),
  }
}

/**
 * Descriptors that no child may have although they are not close-on-exec: the masters of terminals. A child
 * that holds one keeps the program on that terminal from noticing that nacre is gone. Each start puts
 * `/dev/null` on their numbers.
 */
export type Uninherited = Set<number>

const closeOnExec = 0o2000000

/**
 * Descriptors that nacre was started with and every process that it starts would inherit, as
 * `/dev/null`. Node's own are close-on-exec (proc(5) on fdinfo; Linux only).
 */
export function coverInherited(): GivenFile[] {
  const numbers = readdirSync('/proc/self/fd').map(Number)
  return numbers
    .filter((fd) => fd > 2 && isInherited(fd))
    .map((fd) => ({ fd, from: '/dev/null', access: 'read' as const }))
}

function isInherited(fd: number): boolean {
  // Null: it was the descriptor of the listing itself, closed since.
  const info = lookIntoFile(`/proc/self/fdinfo/${fd}`)
  const flags = /^flags:\s*(\d+)$/m.exec(info ?? '')?.[1] ?? '0'
  return info !== null && (Number.parseInt(flags, 8) & closeOnExec) === 0
}
