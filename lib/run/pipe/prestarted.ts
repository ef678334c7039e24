import { statSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { Launch } from '../launch.ts'
import { composeHandOver } from './hand-over.ts'
import type { ControlGroups } from '../../system/process/control-group.ts'
import { setReferenced } from '../../system/runtime.ts'
import { startProcess, type StartedProcess, type Uninherited } from '../../system/process/spawn.ts'
import { markVariable } from '../../system/process/run-variables.ts'

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
   * none that would end up the same as a new one. The process is then the caller's. One that is about to
   * wait is waited for: a start of its own would come after it.
   */
  take(launch: Launch, paths: StreamPaths): Promise<StartedProcess | null>
  /** Has one ready for the next launch like this, a moment later. */
  prepare(launch: Launch): void
  close(): Promise<void>
}

/** A waiting shell takes a moment of the processor: not while calls come back to back. */
const delayMs = 5

/**
 * Keeps one bash waiting. It serves one command and becomes it by `exec`: the program itself, or
 * `bash -c` anew. So the command finds everything as in a shell started for it (`$0`, `$-`, `$$`,
 * `$PPID`, `$LINENO`, messages, signals), and no state can leak. What is saved is the start of a
 * process by nacre, and for a plain program also that of its shell. `withhold` takes away what other
 * commands could read of the waiting shell's environment (proc(5)); its own command gets it all the same.
 */
export function createPrestarted(
  uninherited: Uninherited,
  groups?: ControlGroups,
  withhold: (env: Launch['env']) => Launch['env'] = (env) => env,
): Prestarted {
  let waiting: {
    child: StartedProcess
    launch: Launch
    place: string
  } | null = null
  let timer: NodeJS.Timeout | null = null
  let starting: Promise<void> | null = null
  let closed = false

  function start(launch: Launch): void {
    if (closed || waiting !== null) return
    const env = { ...withhold(launch.env) }
    delete env[markVariable]
    // On a socket bash takes itself for a remote shell, and would read ~/.bashrc (bash(1), INVOCATION).
    starting = startProcess({
      file: launch.file,
      args: ['--norc', '-c', program, launch.argv0],
      argv0: launch.argv0,
      cwd: launch.cwd,
      env,
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
      uninherited,
      groups,
    }).then(
      (child) => {
        child.once('exit', () => forget(child))
        // Its exit tells the same.
        child.stdin?.on('error', () => undefined)
        setReferenced([child, child.stdin as Socket], false)
        waiting = { child, launch: { ...launch, env }, place: identify(launch.cwd) }
      },
      // The next run is then the start of a process.
      () => undefined,
    )
  }

  function forget(child: StartedProcess): void {
    if (waiting?.child === child) waiting = null
  }

  return {
    get ready() {
      return waiting !== null
    },
    async take(launch, paths) {
      // Its start would hold up the run that begins now.
      if (timer) clearTimeout(timer)
      timer = null
      await starting
      if (waiting === null || !canWaitFor(launch)) return null
      const { child, launch: ready, place } = waiting
      if (ready.file !== launch.file || ready.argv0 !== launch.argv0) return null
      if (ready.cwd !== launch.cwd || place !== identify(launch.cwd)) return null
      const text = composeHandOver(ready.env, launch, paths)
      if (text === null) return null
      waiting = null
      child.ref()
      child.stdin?.end(frame(text))
      return child
    },
    prepare(launch) {
      if (closed || timer !== null || waiting !== null || !canWaitFor(launch)) return
      groups?.expectStart()
      timer = setTimeout(() => {
        timer = null
        start(launch)
      }, delayMs).unref()
    },
    async close() {
      closed = true
      if (timer) clearTimeout(timer)
      await starting
      const child = waiting?.child
      if (child === undefined) return
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.ref()
      child.stdin?.end()
      await gone
    },
  }
}

/**
 * Waits for one text; at the end of its input (nacre is gone) it exits. From 4.1 on bash takes a text
 * of known length in one read, else byte by byte to the NUL at its end.
 */
const program =
  `if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 401)); ` +
  `then IFS= read -r -d '' REPLY && REPLY=\${REPLY:5}; ` +
  `else IFS= read -r -N 5 REPLY && if ((10#$REPLY > 0)); ` +
  `then IFS= read -r -N $((10#$REPLY)) REPLY; else IFS= read -r -d '' REPLY; fi; fi && eval "$REPLY"`

/** The length counts characters, which for other texts depend on the locale of the shell. */
function frame(text: string): string {
  const isAscii = Buffer.byteLength(text) === text.length
  return `${isAscii ? String(text.length).padStart(5, '0') : '00000'}${text}\0`
}

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
