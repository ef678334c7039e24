import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { nameProcess } from '../system/process/process-table.ts'
import { setReferenced } from '../system/runtime.ts'
import { type StartedProcess, startProcess, type Uninherited } from '../system/process/spawn.ts'
import { enter, findKilled, forget } from '../system/process/presence.ts'

/** Sees to it that the runs of a nacre that was killed do not stay. */
export interface Watchdog {
  /** A run is about to start. */
  watch(): void
  close(): void
}

export interface WatchdogParts {
  /** The words that start what ends the runs of a killed nacre, whose name is added. */
  reaper: readonly string[]
  /** The folder in which processes with runs are told of; null: nothing is kept on disk. */
  presences: string | null
  /** Gives the environment of what it starts: most runs end before there is anything to start. */
  environment: () => Readonly<Record<string, string>>
  uninherited: Uninherited
}

/** A run that ends sooner is not worth a process: what a kill leaves of it the next nacre ends. */
const startAfterMs = 50

/**
 * A shell that waits at a pipe from this process. The pipe ends with this process, however that ends;
 * without a word of farewell the shell becomes the reaper. Before the first run, reapers are started for
 * what was killed together with its shell, or before it had one.
 */
export function createWatchdog(parts: WatchdogParts): Watchdog {
  const { reaper, presences, environment, uninherited } = parts
  let timer: NodeJS.Timeout | undefined
  let shell: StartedProcess | null = null
  let watches = false
  let closed = false

  async function start(file: string, args: readonly string[], input: 'pipe' | 'ignore') {
    try {
      const stdio = [input, 'ignore', 'ignore'] as const
      const started = { file, args, env: environment(), stdio, detached: true, uninherited }
      return await startProcess(started)
    } catch {
      // Without it everything works as long as nobody kills nacre.
      return null
    }
  }

  async function startShell(): Promise<void> {
    const words = ['-c', 'read -r farewell || exec "$@"', 'sh', ...reaper, nameProcess(process.pid)]
    shell = await start('/bin/sh', words, 'pipe')
    shell?.stdin?.on('error', () => undefined)
    setReferenced([shell, (shell?.stdin ?? null) as Socket | null], false)
    if (closed) dismiss()
  }

  function reap(killed: string): void {
    const [file, ...words] = [...reaper, killed]
    void start(file, words, 'ignore').then((child) => setReferenced([child], false))
  }

  function dismiss(): void {
    shell?.stdin?.end('farewell\n')
  }

  /** This process ends before there is a shell to hear of it. */
  function onExit(): void {
    if (shell !== null) return
    const [program = '', ...words] = reaper
    const options = { env: environment(), stdio: 'ignore', detached: true } as const
    // Nobody is there any more to hear that it did not start.
    spawn(program, [...words, nameProcess(process.pid)], options).on('error', () => undefined)
  }

  /** However many executors listen to this process: none is a leak. */
  function listen(): void {
    process.setMaxListeners(process.getMaxListeners() + 1)
    process.once('exit', onExit)
  }

  function stopListening(): void {
    if (timer === undefined) return
    process.off('exit', onExit)
    process.setMaxListeners(process.getMaxListeners() - 1)
  }

  return {
    watch() {
      if (watches || closed) return
      watches = true
      // Where nothing can be written, nothing can be seen to for good either.
      if (presences !== null && enter(presences)) findKilled(presences).forEach(reap)
      timer = setTimeout(() => void startShell(), startAfterMs).unref()
      listen()
    },
    close() {
      if (closed) return
      closed = true
      stopListening()
      clearTimeout(timer)
      dismiss()
      if (watches && presences !== null) forget(presences, nameProcess(process.pid))
    },
  }
}
