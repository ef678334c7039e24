import type { IOType } from 'node:child_process'
import type { Readable, Stream, Writable } from 'node:stream'

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
