import { constants } from 'node:fs'
import type { Socket } from 'node:net'
import { quoteWord } from '../../protocol/words.ts'
import type { Launch } from '../launch.ts'
import type { ControlGroups } from '../../system/process/control-group.ts'
import { isAccessible } from '../../system/look.ts'
import { setReferenced } from '../../system/runtime.ts'
import { startProcess, type StartedProcess, type Uninherited } from '../../system/process/spawn.ts'
import { markVariable } from '../../system/process/own-process.ts'

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
 * Keeps one bash waiting, in `/`, which nobody unmounts. It serves one command and becomes it by `exec`: the
 * program itself, or `bash -c` anew. So the command finds everything as in a shell started for it (`$0`, `$-`, `$$`, `$PPID`,
 * `$LINENO`, messages, signals), and no state can leak. What is saved is the start of a process by nacre,
 * and for a plain program also that of its shell.
 * `withhold` takes away what other commands could read of the waiting shell's environment (proc(5)); its
 * own command gets it all the same.
 */
export function createPrestarted(
  uninherited: Uninherited,
  groups?: ControlGroups,
  withhold: (env: Launch['env']) => Launch['env'] = (env) => env,
): Prestarted {
  let waiting: { child: StartedProcess; launch: Launch } | null = null
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
      cwd: '/',
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
        waiting = { child, launch: { ...launch, env } }
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
      const { child, launch: ready } = waiting
      if (ready.file !== launch.file || ready.argv0 !== launch.argv0) return null
      const text = composeCommand(ready.env, launch, paths)
      if (text === null) return null
      waiting = null
      child.ref()
      child.stdin?.end(`${String(text.length).padStart(5, '0')}${text}`)
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
 * Waits for one text, behind its length; at the end of its input (nacre is gone) it exits. A text of known length
 * is taken in one read; a bash before 4.1, which cannot do that, ends at once.
 */
const program = 'IFS= read -r -N 5 REPLY && IFS= read -r -N $((10#$REPLY)) REPLY && eval "$REPLY"'

/** A bash that runs one text, and an environment that means nothing to the waiting shell itself. */
function canWaitFor(launch: Launch): boolean {
  const isBash = launch.argv0 === 'bash' && launch.args.length === 2 && launch.args[0] === '-c'
  return isBash && !Object.keys(launch.env).some((name) => meaningful.test(name))
}

/** Read by a bash that starts, or functions that it would take over. */
const meaningful =
  /^(BASH_ENV|ENV|SHELLOPTS|BASHOPTS|POSIXLY_CORRECT|BASH_XTRACEFD|BASH_COMPAT|TMOUT|BASH_FUNC_.*)$/

/** A longer command is better given to a new process: a waiting shell may have to read byte by byte. */
const maxChars = 4096

/**
 * The text by which a waiting bash, started with `ready`, becomes the process of `launch`; null if it cannot.
 */
function composeCommand(
  ready: Launch['env'],
  launch: Launch,
  { stdout, stderr }: StreamPaths,
): string | null {
  const environment = composeEnvironment(ready, launch.env)
  // A new process can start in nacre's own directory even if that may not be entered, and says why it cannot start.
  if (environment === null || !isAccessible(launch.cwd, constants.X_OK)) return null
  const command = launch.args[1] ?? ''
  const text = [
    `cd -P -- ${quoteWord(launch.cwd)}`,
    ...environment,
    `exec </dev/null >${quoteWord(stdout)} 2>${quoteWord(stderr)}`,
    ...composeProgram(command),
    `exec -a ${quoteWord(launch.argv0)} ${quoteWord(launch.file)} -c ${quoteWord(command)}`,
  ].join('\n')
  return text.length > maxChars || !isAscii(text) ? null : text
}

/** The length of another text depends on the locale of the shell. A shell reads no NUL. */
function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length && !text.includes('\0')
}

/**
 * For a command of plain words, of which the first names a program: bash would become that program without a
 * process in between, and so does the waiting shell. If the program is not found, or is a builtin, the next
 * line runs the command as a shell does, with its message.
 */
function composeProgram(command: string): string[] {
  const words = command.trim().split(/[ \t]+/)
  const [name = ''] = words
  if (!words.every((word) => plainWord.test(word)) || command.includes('\n')) return []
  if (/[=%]/.test(name) || reservedWord.test(name)) return []
  if (name.includes('/')) {
    return [`[[ -f ${name} && -x ${name} ]] && _=${name} exec ${words.join(' ')}`]
  }
  // Of a builtin, `hash` keeps no path.
  const path = `\${BASH_CMDS[${name}]}`
  return [`hash ${name} 2>/dev/null && [[ ${path} ]] && _="${path}" exec ${words.join(' ')}`]
}

/** Nothing in it means anything to a shell. */
const plainWord = /^[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*$/

const reservedWord =
  /^(?:if|then|else|elif|fi|case|esac|for|select|while|until|do|done|in|function|time|coproc)$/

/** What makes one environment out of the other behind a `cd`; null if a shell cannot. */
function composeEnvironment(from: Launch['env'], to: Launch['env']): string[] | null {
  const steps: string[] = []
  for (const name of new Set([...Object.keys(from), ...Object.keys(to), 'PWD', 'OLDPWD'])) {
    const value = to[name]
    const isOfDirectory = name === 'PWD' || name === 'OLDPWD'
    if (value === from[name] && !isOfDirectory) continue
    // Names that a shell cannot hold, or that it keeps itself.
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || ownVariables.test(name)) return null
    steps.push(value === undefined ? `unset -v ${name}` : `export ${name}=${quoteWord(value)}`)
  }
  return steps
}

/** Set by bash as it starts, so that a later change is not the same as another start. */
const ownVariables =
  /^(?:_|SHLVL|IFS|PPID|E?UID|GROUPS|S?RANDOM|SECONDS|LINENO|OPTIND|OPTERR|PS4|SHELL|HOSTNAME|HOSTTYPE|MACHTYPE|OSTYPE|EPOCH(?:SECONDS|REALTIME)|DIRSTACK|FUNCNAME|TERM|COLUMNS|LINES)$/
