import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process'
import { closeSync, statSync, writeSync } from 'node:fs'
import type { Launch } from '../launch.ts'
import type { FifoPool } from './fifo.ts'
import { composeHandOver } from './hand-over.ts'
import { markVariable } from '../stop.ts'
import type { Uninherited } from '../uninherited.ts'

/** What a waiting shell is told to open as its standard streams, by path. */
export interface StreamPaths {
  stdout: string
  stderr: string
}

/** A process started ahead of need, for one command. */
export interface Prestarted {
  /** Whether a shell waits now. */
  readonly ready: boolean
  /**
   * Turns the waiting shell into the process of this launch, reading `/dev/null`; null where there is
   * none that would end up the same as a new one. The process is then the caller's.
   */
  take(launch: Launch, paths: StreamPaths): ChildProcess | null
  /** Has one ready for the next launch like this, a moment later. */
  prepare(launch: Launch): void
  close(): Promise<void>
}

interface Waiting {
  child: ChildProcess
  /** What it reads its one command from. */
  inputFd: number
  launch: Launch
  /** Where it was started. */
  place: string
}

/** A waiting shell takes a moment of the processor: not while calls come back to back. */
const delayMs = 20

/**
 * Keeps one bash waiting. It serves one command and becomes it by `exec`: the program itself, or
 * `bash -c` anew. So the command finds everything as in a shell started for it (`$0`, `$-`, `$$`,
 * `$PPID`, `$LINENO`, messages, signals), and no state can leak. What is saved is the start of a
 * process by nacre, and for a plain program also that of its shell.
 */
export function createPrestarted(pipes: FifoPool, uninherited: Uninherited): Prestarted {
  let waiting: Waiting | null = null
  let starting: Promise<void> | null = null
  let timer: NodeJS.Timeout | null = null
  let closed = false

  async function start(launch: Launch): Promise<void> {
    const env = { ...launch.env }
    delete env[markVariable]
    // Not a socket: bash would take itself for a remote shell and read ~/.bashrc (bash(1), INVOCATION).
    const { readFd, writeFd } = await pipes.openInput()
    const stdio = uninherited.cover([readFd, 'ignore', 'ignore']) as StdioOptions
    const { file, argv0, cwd } = launch
    let child: ChildProcess
    try {
      child = spawn(file, ['-c', program, argv0], { argv0, cwd, env, stdio, detached: true })
    } catch (error) {
      closeSync(writeFd)
      throw error
    } finally {
      closeSync(readFd)
    }
    child.once('error', () => forget(child))
    child.once('exit', () => forget(child))
    child.unref()
    waiting = { child, inputFd: writeFd, launch: { ...launch, env }, place: identify(launch.cwd) }
  }

  function forget(child: ChildProcess): void {
    if (waiting?.child !== child) return
    closeSync(waiting.inputFd)
    waiting = null
  }

  return {
    get ready() {
      return waiting !== null
    },
    take(launch, paths) {
      if (waiting === null || !canWaitFor(launch)) return null
      const { child, inputFd, launch: ready, place } = waiting
      if (ready.file !== launch.file || ready.argv0 !== launch.argv0) return null
      if (ready.cwd !== launch.cwd || place !== identify(launch.cwd)) return null
      const text = composeHandOver(ready.env, launch, paths)
      if (text === null || child.pid === undefined) return null
      try {
        writeSync(inputFd, `${text}\0`)
      } catch {
        // It has been ended, and its exit is yet to be heard.
        return null
      }
      closeSync(inputFd)
      waiting = null
      child.ref()
      return child
    },
    prepare(launch) {
      if (closed || timer || starting || waiting || !canWaitFor(launch)) return
      timer = setTimeout(() => {
        timer = null
        // Where there is no pipe for it, the next run has none either, and says why.
        const settled = () => {
          starting = null
        }
        starting = start(launch).then(settled, settled)
      }, delayMs).unref()
    },
    async close() {
      closed = true
      if (timer) clearTimeout(timer)
      await starting
      if (waiting === null || waiting.child.pid === undefined) return
      const { child, inputFd } = waiting
      waiting = null
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.ref()
      closeSync(inputFd)
      await gone
    },
  }
}

/** Waits for one command; at the end of its input (nacre is gone) it exits. */
const program = `IFS= read -r -d '' REPLY && eval "$REPLY"`

/** A bash that runs one text, and an environment that means nothing to the waiting shell itself. */
function canWaitFor(launch: Launch): boolean {
  const isBash = launch.argv0 === 'bash' && launch.args.length === 2 && launch.args[0] === '-c'
  return isBash && !Object.keys(launch.env).some((name) => meaningful.test(name))
}

/** Read by a bash that starts, or functions that it would take over. */
const meaningful =
  /^(BASH_ENV|ENV|SHELLOPTS|BASHOPTS|POSIXLY_CORRECT|BASH_XTRACEFD|BASH_COMPAT|TMOUT|BASH_FUNC_.*)$/

/** Which directory a path names now. */
function identify(directory: string): string {
  const stat = statSync(directory, { throwIfNoEntry: false })
  return stat ? `${stat.dev}:${stat.ino}` : 'none'
}
