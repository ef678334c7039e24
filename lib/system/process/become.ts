import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { constants } from 'node:os'
import { basename } from 'node:path'
import { isTerminal } from '../descriptors.ts'
import { findProgram, lookAtLink, lookIntoFile, systemPath } from '../look.ts'
import { type Declared, type Libc, openLibc } from '../libc.ts'
import { isDeno } from '../runtime.ts'

/*
 * This process becomes another program (execve(2)): its number, signals, terminal, descriptors and directory are
 * then that program's own. Its words and environment are passed on byte by byte.
 */

/** The program that this process becomes. Its texts may hold bytes that are no UTF-8 (`decodeBytes`). */
export interface Program {
  /** Absolute path. */
  file: string
  /** What it is called as. */
  argv0: string
  args: readonly string[]
  /** Its whole environment. */
  env: ReadonlyMap<string, string>
}

/**
 * Becomes the program, where the runtime can do that; the promise never settles then. Rejects with the system's
 * error where the program cannot be executed. Elsewhere the program runs as a child in this process group, and
 * what ended it ends this process too: gives its exit status.
 */
export async function becomeProgram(program: Program): Promise<number> {
  const fileLimit = findFileLimit()
  const given = listGiven()
  const libc = openLibc<Calls>(calls)
  if (libc !== null) return execute(libc, program, { fileLimit, given })
  const wrapped = wrapForNode(program, fileLimit)
  const { execve } = process as { execve?: Execve }
  if (execve === undefined || given.length > 0) return runAsChild(wrapped, given)
  // Node ignores both. A signal that is caught has its default action again after an execve.
  for (const signal of ownSignals) process.on(signal, () => undefined)
  const { file, argv0, args, env } = wrapped
  return execve.call(process, file, [argv0, ...args], Object.fromEntries(env))
}

/** From Node 22.15 on. It closes descriptors above 2 (uv_disable_stdio_inheritance() marks them close-on-exec). */
type Execve = (file: string, args: string[], env: Record<string, string>) => never

/** What all runtimes ignore by themselves. */
const ownSignals = ['SIGPIPE', 'SIGXFSZ'] as const

/**
 * The words of the command line as they were given: the runtimes replace bytes that are no UTF-8. `words` are
 * what the runtime has made of the last ones.
 */
export function readWords(words: readonly string[]): readonly string[] {
  if (!words.some((word) => word.includes('\ufffd'))) return words
  const all = lookIntoFile('/proc/self/cmdline', 'latin1')?.split('\0').slice(0, -1)
  return all?.slice(-words.length).map(decodeBytes) ?? words
}

/** The environment as it was given; `environment` is what the runtime has made of it. */
export function readEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Map<string, string> {
  const given = lookIntoFile('/proc/self/environ', 'latin1')
  const entries =
    given === null
      ? Object.entries(environment).flatMap(([name, value]) =>
          value === undefined ? [] : [[name, value] as const],
        )
      : given.split('\0').flatMap((entry) => {
          const equals = entry.indexOf('=', 1)
          return equals < 0
            ? []
            : [[decodeBytes(entry.slice(0, equals)), decodeBytes(entry.slice(equals + 1))] as const]
        })
  return new Map(entries)
}

/** Whether a text holds bytes that are no UTF-8. */
export function isRaw(text: string): boolean {
  return rawByte.test(text)
}

/** Half of a character, which no UTF-8 can hold, stands for such a byte. */
const rawByte = /[\udc80-\udcff]/u
const utf8Part =
  /[\0-\x7f]+|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|\xed[\x80-\x9f][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}|[^]/g

/** The text of bytes, which are given as characters of Latin-1. */
function decodeBytes(bytes: string): string {
  if (/^[\0-\x7f]*$/.test(bytes)) return bytes
  return bytes.replaceAll(utf8Part, (part) =>
    part.length === 1 && part > '\x7f'
      ? String.fromCharCode(0xdc00 + part.charCodeAt(0))
      : Buffer.from(part, 'latin1').toString(),
  )
}

function encodeText(text: string): Buffer {
  if (!isRaw(text)) return Buffer.from(text)
  const parts = text.split(/([\udc80-\udcff])/u)
  return Buffer.concat(
    parts.map((part) => (isRaw(part) ? Buffer.of(part.charCodeAt(0) - 0xdc00) : Buffer.from(part))),
  )
}

/**
 * The soft limit of open files that this process was started with; null: as it is now. The runtimes raise it to
 * the hard one, so that only the parent still has it. Linux only.
 */
function findFileLimit(): number | null {
  const own = readFileLimits('self')
  const ofParent = readFileLimits(process.ppid)
  const isRaised = own !== null && own.soft === own.hard && own.hard === ofParent?.hard
  return isRaised && ofParent.soft < own.soft ? ofParent.soft : null
}

function readFileLimits(pid: number | 'self'): { soft: number; hard: number } | null {
  const text = process.platform === 'linux' ? lookIntoFile(`/proc/${pid}/limits`) : null
  const [, soft, hard] = /^Max open files +(\d+) +(\d+)/m.exec(text ?? '') ?? []
  return soft === undefined ? null : { soft: Number(soft), hard: Number(hard) }
}

/** What is called of the C library. */
interface Calls {
  execve(file: Uint8Array, words: Uint8Array, environment: Uint8Array): number
  signal(number: number, action: null): unknown
  setrlimit(resource: number, limits: Uint8Array): number
  fcntl(fd: number, command: number, flags: number): number
}

const calls: Declared<Calls> = {
  execve: ['i32', 'buffer', 'buffer', 'buffer'],
  signal: ['pointer', 'i32', 'pointer'],
  setrlimit: ['i32', 'i32', 'buffer'],
  fcntl: ['i32', 'i32', 'i32', 'i32'],
}

/** RLIMIT_NOFILE. */
const openFiles = 7
/** F_SETFD. */
const setFlags = 2

/** Gives nothing: it throws, or there is nobody any more. */
function execute(
  libc: Libc<Calls>,
  program: Program,
  { fileLimit, given }: { fileLimit: number | null; given: readonly number[] },
): never {
  // A runtime marks them close-on-exec.
  for (const fd of given) libc.calls.fcntl(fd, setFlags, 0)
  for (const signal of ownSignals) libc.calls.signal(constants.signals[signal], null)
  if (fileLimit !== null) {
    const hard = readFileLimits('self')?.hard ?? fileLimit
    const limits = BigUint64Array.of(BigInt(fileLimit), BigInt(hard))
    libc.calls.setrlimit(openFiles, new Uint8Array(limits.buffer))
  }
  const env = listBytes(
    libc,
    [...program.env].map(([name, value]) => `${name}=${value}`),
  )
  const attempt = (file: string, words: readonly string[]): number => {
    libc.calls.execve(terminate(file), listBytes(libc, words), env)
    return libc.errno()
  }
  let errno = attempt(program.file, [program.argv0, ...program.args])
  // As execvp(3): what is executable and has no header is a script for sh.
  if (errno === constants.errno.ENOEXEC) {
    errno = attempt('/bin/sh', ['sh', program.file, ...program.args])
  }
  const [code = String(errno)] =
    Object.entries(constants.errno).find(([, it]) => it === errno) ?? []
  throw Object.assign(new Error(`execve ${program.file}: ${code}`), { code })
}

function terminate(text: string): Uint8Array {
  return Buffer.concat([encodeText(text), Buffer.of(0)])
}

/** An array of texts as C wants it: their addresses and 0, with the texts themselves behind it. */
function listBytes(libc: Libc<Calls>, texts: readonly string[]): Uint8Array {
  const all = texts.map(terminate)
  let offset = 8 * (all.length + 1)
  const memory = new Uint8Array(
    new ArrayBuffer(all.reduce((sum, bytes) => sum + bytes.length, offset)),
  )
  const base = BigInt(libc.address(memory))
  const addresses = new BigUint64Array(memory.buffer, 0, all.length + 1)
  for (const [index, bytes] of all.entries()) {
    memory.set(bytes, offset)
    addresses[index] = base + BigInt(offset)
    offset += bytes.length
  }
  return memory
}

/** A shell uses no higher numbers either. */
const highestGiven = 255
/** Descriptors that a runtime has opened and closed again on its way here. */
const mostClosed = 8
const ofEventLoop = /^anon_inode:\[(?:eventpoll|eventfd|io_uring|timerfd)\]$/

/**
 * The descriptors above 2 that nacre was started with, and that its runtime has marked close-on-exec. Linux only:
 * elsewhere nothing tells what a descriptor leads to. Deno marks none.
 */
function listGiven(): number[] {
  if (process.platform !== 'linux' || isDeno) return []
  const numbers = readdirSync('/proc/self/fd').map(Number)
  const open = numbers
    .filter((fd) => fd > 2 && fd <= highestGiven)
    .sort((a, b) => a - b)
    .flatMap((fd) => {
      const leadsTo = lookAtLink(`/proc/self/fd/${fd}`)
      // Null: it was the descriptor of the listing itself.
      return leadsTo === null ? [] : [{ fd, leadsTo }]
    })
  // A runtime makes its pipes after the event loop that reads them, has both ends of each, and gets the
  // lowest numbers that are free.
  const loopFd = open.find(({ leadsTo }) => ofEventLoop.test(leadsTo))?.fd ?? highestGiven
  const highestOwn = numbers.length + mostClosed
  const pipes = open.filter(
    ({ fd, leadsTo }) => fd > loopFd && fd <= highestOwn && leadsTo.startsWith('pipe:'),
  )
  const isOwnPipe = (one: { leadsTo: string }) =>
    pipes.some((pipe) => pipe === one) &&
    pipes.filter(({ leadsTo }) => leadsTo === one.leadsTo).length === 2
  return open.flatMap((one) => (ofEventLoop.test(one.leadsTo) || isOwnPipe(one) ? [] : one.fd))
}

/**
 * Node passes on texts alone, and has no call for a limit: a bash between it and the program has both, and says
 * what a program that cannot be executed lacks. With `-p` it takes no functions and no options from the
 * environment, but hands its own options on where those are exported.
 */
function wrapForNode(program: Program, fileLimit: number | null): Program {
  const bash = basename(program.file) === 'bash' ? program.file : findProgram('bash', systemPath)
  const handsOnOptions = ['SHELLOPTS', 'BASHOPTS'].some((name) => program.env.has(name))
  if (bash === null || handsOnOptions) return program
  const words = [program.argv0, program.file, ...program.args]
  const named = words.map((word, index) => (isRaw(word) ? quoteBytes(word) : `"\${${index + 1}}"`))
  const rawVariables = [...program.env].filter(([, value]) => isRaw(value))
  const lines = [
    ...(fileLimit === null ? [] : [`ulimit -Sn ${fileLimit}`]),
    ...rawVariables.map(([name, value]) => `export ${name}=${quoteBytes(value)}`),
    `exec -a ${named.join(' ')}`,
  ]
  const args = [
    '-pc',
    lines.join('\n'),
    program.argv0,
    ...words.map((word) => (isRaw(word) ? '' : word)),
  ]
  const env = new Map([...program.env].filter(([, value]) => !isRaw(value)))
  return { file: bash, argv0: 'bash', args, env }
}

function quoteBytes(text: string): string {
  const escape = (byte: number) => `\\x${byte.toString(16).padStart(2, '0')}`
  return `$'${Array.from(encodeText(text), escape).join('')}'`
}

/** What may be sent to this process alone. Ctrl-C and Ctrl-\ at a terminal reach the program by themselves. */
const forwarded = [
  ...(['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGALRM'] as const),
  ...(['SIGINT', 'SIGQUIT'] as const),
]

/** With the same descriptors, in the same process group. Gives its exit status, or ends by its signal. */
function runAsChild(
  { file, argv0, args, env }: Program,
  given: readonly number[],
): Promise<number> {
  const stdio: ('inherit' | 'ignore' | number)[] = ['inherit', 'inherit', 'inherit']
  for (const fd of given) {
    while (stdio.length < fd) stdio.push('ignore')
    stdio[fd] = fd
  }
  let child: ChildProcess | null = null
  // Before the child can run: a signal to both must not end this process alone.
  for (const signal of forwarded) {
    const isOfTerminal = signal === 'SIGINT' || signal === 'SIGQUIT'
    process.on(signal, () => {
      if (!isOfTerminal || !isTerminal(0)) child?.kill(signal)
    })
  }
  const started = spawn(file, args, { argv0, env: Object.fromEntries(env), stdio })
  child = started
  return new Promise((resolve, reject) => {
    started.once('error', reject)
    started.once('exit', (code, signal) => {
      if (signal === null) return resolve(code ?? 0)
      // Its default action comes back when nobody listens any more, also where Node ignores it.
      for (const own of ownSignals) process.on(own, () => undefined)
      for (const heard of [...forwarded, ...ownSignals]) process.removeAllListeners(heard)
      process.kill(process.pid, signal)
      resolve(128 + constants.signals[signal])
    })
  })
}
