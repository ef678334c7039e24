import type { IOType } from 'node:child_process'
import type { Readable, Stream, Writable } from 'node:stream'
import type { BunRuntime } from '../runtime.ts'

/** What a process is given as one of its descriptors: a number of ours, a stream, or one of Node's words. */
export type Given = IOType | 'ipc' | Stream | number | null | undefined

/** How one process is started, its descriptors chosen. */
export interface ChildOptions {
  argv0?: string
  cwd?: string
  env?: Readonly<Record<string, string>>
  stdio: Given[]
  detached?: boolean
  /** The folder of its control group, for a runtime that can start it there. */
  cgroup?: string | undefined
}

/** What is known of a process by its runtime. */
export interface Child {
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

type Exit = Parameters<Parameters<Child['once']>[1]>

/** What Bun itself can give to a process, in the words of Node: no pipe, no stream. */
type Plain = number | 'ignore' | 'inherit'

const isPlain = (given: Given): given is Plain =>
  typeof given === 'number' || given === 'ignore' || given === 'inherit'

/** A start that Bun itself can make. */
interface PlainStart extends ChildOptions {
  env: Readonly<Record<string, string>>
  stdio: Plain[]
}

export function isPlainStart(options: ChildOptions): options is PlainStart {
  return options.env !== undefined && options.stdio.every(isPlain)
}

/**
 * The same as `spawn` of `node:child_process`, which in Bun is made of this too, but that it throws the
 * system's error.
 */
export function spawnByBun(
  bun: BunRuntime,
  file: string,
  args: readonly string[],
  { argv0 = file, cwd, env, stdio, detached = false, cgroup }: PlainStart,
): Child {
  let exit: Exit | null = null
  const listeners: ((...exit: Exit) => void)[] = []
  const child = bun.spawn({
    cmd: [file, ...args],
    argv0,
    cwd,
    env,
    stdio: stdio.map((given) => (given === 'ignore' ? null : given)),
    detached,
    cgroup,
    onExit(_, code, signal) {
      // A signal without a name (those for real time) is told as a shell tells it.
      exit =
        typeof signal === 'number'
          ? [128 + signal, null]
          : signal === null
            ? [code, null]
            : [null, signal]
      for (const listener of listeners) listener(...exit)
    },
  })
  return {
    pid: child.pid,
    stdin: null,
    stdout: null,
    stderr: null,
    once(_, listener) {
      const ended = exit
      if (ended === null) listeners.push(listener)
      else queueMicrotask(() => listener(...ended))
    },
    ref: () => child.ref(),
    unref: () => child.unref(),
  }
}
