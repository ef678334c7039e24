import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { nameProcess } from '../system/process-table.ts'
import { setReferenced } from '../system/runtime.ts'
import { startProcess, type Uninherited } from '../system/spawn.ts'

/** Sees to it that the runs of a nacre that was killed do not stay. */
export interface Watchdog {
  /** A run is about to start. */
  watch(): void
  close(): void
}

/** A run that ends sooner is not worth a process; what a KILL leaves of it `nacre job list` shows. */
const startAfterMs = 50

/**
 * A shell that waits at a pipe from this process. The pipe ends with this process, however that ends;
 * without a word of farewell the shell becomes `reaper`, with the name of this process as last word.
 */
export function createWatchdog(reaper: readonly string[], uninherited: Uninherited): Watchdog {
  let timer: NodeJS.Timeout | undefined
  let shell: ChildProcess | null = null
  let closed = false

  function start(): void {
    const words = ['-c', 'read -r farewell || exec "$@"', 'sh', ...reaper, nameProcess(process.pid)]
    const stdio = ['pipe', 'ignore', 'ignore'] as const
    void startProcess({ file: '/bin/sh', args: words, stdio, detached: true, uninherited }).then(
      (started) => {
        shell = started
        shell.stdin?.on('error', () => undefined)
        setReferenced([shell, shell.stdin as Socket], false)
        if (closed) dismiss()
      },
      // Without it everything works as long as nobody kills nacre.
      () => undefined,
    )
  }

  function dismiss(): void {
    shell?.stdin?.end('farewell\n')
  }

  return {
    watch() {
      if (timer || closed) return
      timer = setTimeout(start, startAfterMs)
      timer.unref()
    },
    close() {
      closed = true
      clearTimeout(timer)
      dismiss()
    },
  }
}
