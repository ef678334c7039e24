import { resolve } from 'node:path'
import { check, invalid } from '../shape/check.ts'
import { isObject } from '../shape/shape.ts'
import { type ArrayRequest, parseTasks } from '../array.ts'
import { expandHome, joinWords } from '../words.ts'
import { contradiction, MisuseError } from '../errors.ts'
import { toSnakeCase, createId } from '../wire.ts'
import { type Origin, type OriginPolicy, originPolicies } from '../origin.ts'
import { limits, usualSize } from '../limits.ts'
import {
  type Request,
  type RequestDefaults,
  type RequestInput,
  requestShape,
  type Stdin,
  type Ready,
  type TimeMode,
} from './request.ts'

export interface ParseContext {
  /** Where relative directories begin. */
  cwd: string
  /** What a sandbox opens if nobody names a workspace, wherever the run begins. Default: `cwd`. */
  readonly workspace?: string | undefined
  /** What `~` stands for in a path. */
  home?: string | undefined
  /** Who asks where a request does not say. Default: each has to; of the library: `print`. */
  origin?: Origin | undefined
  /** Laid under the input of every run. Default: nothing. */
  defaults?: RequestDefaults | undefined
  /** Deadlines by mode, in seconds. Default: 30, 900, 86,400. */
  timeoutSeconds?: TimeoutsByMode | undefined
  /** `off`: no run gets a terminal; `on`: every one that does not say otherwise. Default `auto`. */
  terminals?: 'auto' | 'on' | 'off' | undefined
  /** A person sits at the standard input of this process. Default: false. */
  personAtInput?: boolean | undefined
  /**
   * A program reads results and events: runs that no model asked for have separate streams and all output as
   * it was written (`OutputLimitError` past 100 MB), or what a bound of the request leaves of it; the bytes
   * of events stay as they are. Default: false; of the library: true.
   */
  forPrograms?: boolean | undefined
}

/**
 * Makes what a front door read into a request: checked, complete, with an id of its own.
 * Throws `MisuseError`, which names the field as it is written on the wire.
 */
export function parseRequest(given: RequestInput, context: ParseContext): Request {
  const notices: string[] = []
  const input = layOver(checkInput(given), context, notices)
  // What only a scheduler can give is misuse elsewhere, unless it is configured for all runs.
  const ofScheduler = (['cores', 'memory', 'sbatch'] as const).find((name) => given[name])
  if (ofScheduler !== undefined && input.host === undefined) {
    const place = 'name one with `host`: slurm://[partition]'
    throw misuse(ofScheduler, `\`${ofScheduler}\` is for a scheduler; ${place}`)
  }
  const origin = input.origin ?? context.origin
  if (origin === undefined) {
    throw misuse('origin', '`origin` is missing: say who asks', 'missing_field')
  }
  const policy = originPolicies[origin]
  const sandbox = input.sandbox ?? policy.sandbox
  // Nothing but the sandbox can keep the network from a run.
  if (given.network === 'off' && sandbox === 'off') {
    const wanted = 'ask for one with `sandbox`: workspace or read-only'
    throw misuse('network', `\`network\` off needs a sandbox; ${wanted}`)
  }
  const toPath = (path: string) => resolve(context.cwd, expandHome(path, context.home))
  // A server that is confined as a whole is so in one place, whether that was named or found.
  const isConfinedServer = origin === 'rpc' && (context.defaults?.sandbox ?? 'off') !== 'off'
  const fixed = context.defaults?.workspace ?? (isConfinedServer ? context.workspace : undefined)
  if (given.workspace && fixed && toPath(given.workspace) !== toPath(fixed)) {
    const message = `The workspace was fixed when nacre started; leave \`workspace\` out, or name ${toPath(fixed)}`
    throw misuse('workspace', message, 'workspace_fixed')
  }
  const isConfinedHere = sandbox !== 'off' && input.host === undefined
  const workspace = input.workspace ?? (isConfinedHere ? (context.workspace ?? '.') : null)
  // A background start returns at once, unless it says what to wait for.
  const startsOnly = input.mode === 'background' && input.ready === undefined
  const waitMs = toMs(input.waitSeconds ?? (startsOnly ? 0 : undefined))
  const isProgram = context.forPrograms === true && !policy.bounded
  const array = chooseArray(input)
  return {
    id: createId('run'),
    origin,
    belongsTo: input.belongsTo ?? null,
    ...chooseSubject(input),
    shellCommand: input.shellCommand ?? null,
    cwd: input.host === undefined ? toPath(input.cwd ?? '.') : (input.cwd ?? '~'),
    cwdGiven: given.cwd !== undefined,
    env: input.env ?? {},
    mode: input.mode ?? 'default',
    timeoutMs: chooseTimeoutMs(input, policy, context.timeoutSeconds, notices),
    onTimeout: input.onTimeout ?? 'kill',
    inactivityMs: toMs(input.inactivitySeconds || undefined),
    signal: `SIG${input.signal ?? 'TERM'}`,
    killAfterMs: toMs(input.killAfterSeconds) ?? limits.stopGraceMs,
    waitMs,
    ready: input.ready === undefined ? null : parseReady(input.ready),
    pty: input.pty
      ? { columns: input.columns ?? usualSize.columns, rows: input.rows ?? usualSize.rows }
      : null,
    session: input.session ?? null,
    host: input.host ?? null,
    cores: input.cores ?? null,
    memory: input.memory ?? null,
    sbatch: input.sbatch ?? [],
    array,
    streams: input.pty ? 'merged' : (input.streams ?? (isProgram ? 'separate' : policy.streams)),
    head: input.head ?? null,
    tail: input.tail ?? null,
    // Jobs and arrays are read in parts, however much there is.
    ...chooseText(input, policy, isProgram && waitMs !== 0 && array === null),
    sandbox: sandbox === 'auto' ? 'workspace' : sandbox,
    // Who asks for a run without the network must not get one that has it.
    sandboxMayFallBack: sandbox === 'auto' && given.network !== 'off',
    network: input.network ?? 'on',
    workspace: workspace === null ? null : toPath(workspace),
    shell: input.shell ?? null,
    login: input.login ?? (input.shell === undefined && policy.ownShell),
    guard: input.guard ?? true,
    hardening:
      input.hardening ??
      (policy.hardening === 'always' ||
        (policy.hardening === 'unwatched' && !context.personAtInput)),
    // Nobody waits for such a job; what it wrote is read later, from its artifact.
    artifact: input.artifact ?? (waitMs === 0 ? 'always' : 'auto'),
    stdin: chooseStdin(input),
    outputTo:
      isOpenToDescriptors(input, sandbox) && !needsOutput(input) ? (input.outputTo ?? null) : null,
    notices,
  }
}

/** How much of the output the result has: for a program all of it, or the part that it asks for. */
function chooseText(
  { head, tail, maxLines, maxBytes, truncate }: RequestInput,
  policy: OriginPolicy,
  isProgram: boolean,
): Pick<Request, 'maxLines' | 'maxBytes' | 'truncate' | 'text'> {
  const isCut = !isProgram || (truncate ?? 'none') !== 'none'
  const isPart = isCut || [head, tail, maxLines, maxBytes].some((bound) => bound !== undefined)
  const most = isCut ? limits : { maxLines: Number.MAX_SAFE_INTEGER, maxBytes: limits.wholeBytes }
  return {
    maxLines: maxLines ?? most.maxLines,
    maxBytes: isCut ? (maxBytes ?? most.maxBytes) : Math.min(maxBytes ?? Infinity, most.maxBytes),
    truncate: isCut ? (truncate ?? policy.truncate) : 'tail',
    text: !isProgram ? 'clean' : isPart ? 'raw' : 'whole',
  }
}

/** Whether nacre itself must see the output: to keep it, or to wait for a part of it or for its silence. */
function needsOutput(input: RequestInput): boolean {
  return (
    input.artifact !== 'never' ||
    input.ready !== undefined ||
    toMs(input.inactivitySeconds || undefined) !== null ||
    input.streams === 'merged'
  )
}

/**
 * Whether the command can have descriptors of ours: it is one process, made for it, on pipes and here. In
 * a sandbox a descriptor would be a door: what it leads to could be opened anew through /proc (proc(5)).
 */
function isOpenToDescriptors(input: RequestInput, sandbox: RequestInput['sandbox']): boolean {
  const { pty, session, host, array, commands } = input
  const isElsewhere = [session, host, array, commands].some((field) => field !== undefined)
  return sandbox === 'off' && pty !== true && !isElsewhere
}

/** What the caller says over what is configured. */
function layOver(
  given: RequestInput,
  { defaults = {}, terminals = 'auto' }: ParseContext,
  notices: string[],
): RequestInput {
  // Not spread: V8 would give each input a shape of its own, at which every look at it takes longer.
  const input: RequestInput = Object.assign({}, defaults, given)
  if (given.env) input.env = { ...defaults.env, ...given.env }
  if (terminals === 'on') input.pty ??= true
  if (terminals === 'off' && input.pty === true) {
    input.pty = false
    notices.push('pty_off: terminals are switched off; the command runs without one')
  }
  return input
}

/** A door has checked its own words; a caller of the library may have given anything. */
function checkInput(given: unknown): RequestInput {
  const input = check(requestShape, given, '', { names: 'code' })
  const variable = Object.keys(input.env ?? {}).find((name) => input.env?.[name]?.includes('\0'))
  if (variable !== undefined) {
    throw invalid(`env.${variable}`, 'a text without a NUL character', input.env?.[variable])
  }
  if (input.openStdin && input.stdin?.kind === 'text') throw contradiction('open_stdin', 'stdin')
  if (input.stdin === undefined || isStdin(input.stdin)) return input
  const wanted = "{ kind: 'none' | 'open' }, { kind: 'text', text } or { kind: 'descriptor', fd }"
  throw invalid('stdin', wanted, input.stdin)
}

/** A text is all of the input, also where every input is to stay open by the configuration. */
function chooseStdin({ stdin = { kind: 'none' }, openStdin }: RequestInput): Stdin {
  return openStdin && stdin.kind !== 'text' ? { kind: 'open' } : stdin
}

/** Its type is a promise only, of whoever wrote the call. */
function isStdin(stdin: unknown): boolean {
  if (!isObject(stdin)) return false
  const { kind, text, fd } = stdin
  if (kind === 'text') return typeof text === 'string'
  if (kind === 'descriptor') return Number.isInteger(fd) && Number(fd) >= 0
  return kind === 'none' || kind === 'open'
}

/** The field at fault comes first, since every check here is about one. */
function misuse(field: string, message: string, code = 'invalid_field'): MisuseError {
  return new MisuseError(code, message, field)
}

/** Null where it is to run once. Throws `MisuseError` where it cannot run many times. */
function chooseArray(input: RequestInput): ArrayRequest | null {
  const { array, commands, jobs, retry, host } = input
  if (array === undefined && commands === undefined) {
    const field = jobs !== undefined ? 'jobs' : retry !== undefined ? 'retry' : null
    if (field !== null) {
      throw misuse(field, `\`${field}\` is for an array of tasks`)
    }
    if (!host?.includes(',')) return null
    throw misuse('host', 'Several hosts are for an array of tasks', 'invalid_host')
  }
  const lonely = (['pty', 'openStdin', 'session', 'ready', 'stdin'] as const).find((name) =>
    name === 'stdin' ? (input.stdin?.kind ?? 'none') !== 'none' : input[name] !== undefined,
  )
  if (lonely !== undefined && input[lonely] !== false)
    throw contradiction('array', toSnakeCase(lonely))
  const tasks = parseTasks(array ?? String(commands?.length))
  if (commands && commands.length !== tasks.length) {
    const message = `\`array\` names ${tasks.length} tasks, and there are ${commands.length} commands`
    throw misuse('array', message)
  }
  return { tasks, commands: commands ?? null, atOnce: jobs ?? null, retries: retry ?? 0 }
}

/** None of them may be a command, which the guard would not see. */
const shellOption =
  /^(?:(?:[+-][oO] )?\w[\w-]*|[+-][abefhikmnprtuvxBCEHPT]|--(?:no(?:rc|profile|editing)|posix|restricted|verbose))$/

type Subject = Pick<Request, 'command' | 'args' | 'script' | 'parameters' | 'shellOptions'>

/** What is to run. Throws `MisuseError` where that is nothing, or more than one thing. */
function chooseSubject(input: RequestInput): Subject {
  const { args, script, parameters = [], shellOptions = [], session, host } = input
  const [given, other] = (['command', 'args', 'commands', 'script'] as const).filter(
    (name) => input[name] !== undefined,
  )
  if (given === undefined) {
    throw misuse('command', '`command` is missing: say what to run', 'missing_field')
  }
  if (other !== undefined) throw contradiction(given, other)
  if (args && parameters.length > 0) throw contradiction('args', 'parameters')
  if (args && shellOptions.length > 0) throw contradiction('args', 'shell_options')
  // A session and a host hand the command to a shell that runs already, or on another machine, so that
  // nacre cannot choose how that shell is started.
  const place = session !== undefined ? 'session' : host !== undefined ? 'host' : null
  if (place !== null) {
    if (script !== undefined) throw contradiction(place, 'script')
    if (parameters.length > 0) throw contradiction(place, 'parameters')
    if (shellOptions.length > 0) throw contradiction(place, 'shell_options')
  }
  const wrong = shellOptions.find((option) => !shellOption.test(option))
  if (wrong !== undefined) {
    throw invalid('shell_options', 'options as bash has them, such as errexit or -O extglob', wrong)
  }
  const scriptWords = script === '-' ? [input.shell ?? 'bash', '-s'] : [script ?? '']
  const command =
    input.command ??
    describeCommands(input.commands) ??
    joinWords(args ?? [...scriptWords, ...parameters])
  refuseEmpty(given, args ? (args[0] ?? '') : command)
  if (command.length > limits.commandChars) {
    const message = `The command has ${command.length} characters, and may have ${limits.commandChars}; put it into a file and run that`
    throw misuse(given, message, 'command_too_long')
  }
  const words = [command, args ?? [], input.commands ?? [], parameters, shellOptions].flat()
  if (words.some((word) => word.includes('\0'))) {
    throw misuse(given, 'A command cannot hold a NUL character')
  }
  return {
    command,
    args: place === null ? (args ?? null) : null,
    script: script ?? null,
    parameters,
    shellOptions,
  }
}

/** What an array of commands is called; each of them is judged and run by itself. */
function describeCommands(commands: readonly string[] | undefined): string | undefined {
  if (commands === undefined) return undefined
  const [first = ''] = commands
  for (const command of commands) refuseEmpty('commands', command)
  return commands.length < 2 ? first : `${first} (and ${commands.length - 1} more commands)`
}

function refuseEmpty(field: string, text: string): void {
  if (text.trim() !== '') return
  throw misuse(field, 'The command is empty; say what to run', 'empty_command')
}

/** Deadlines in seconds. */
export type TimeoutsByMode = Readonly<Partial<Record<TimeMode, number>>>

/** setTimeout counts in 32 bits; 24 days are enough for a deadline. */
const maxTimerMs = 2 ** 31 - 1

/** The deadline of a run, null for none; where an agent asked for another, `notices` are told. */
function chooseTimeoutMs(
  input: RequestInput,
  policy: Pick<OriginPolicy, 'deadline' | 'clamped'>,
  usual: TimeoutsByMode | undefined,
  notices: string[],
): number | null {
  const { mode = 'default', timeoutSeconds: asked } = input
  if (asked === undefined) {
    const limited = policy.deadline || mode !== 'default'
    return limited ? toMs(usual?.[mode] ?? limits.timeoutSeconds[mode]) : null
  }
  if (!policy.clamped) return asked === 0 ? null : toMs(asked)
  const { min } = limits.agentTimeoutSeconds
  const max = Math.max(limits.agentTimeoutSeconds.max, limits.timeoutSeconds[mode])
  // 0 asks for no deadline; an agent's run always has one, so it gets the longest.
  const seconds = asked === 0 ? max : Math.min(max, Math.max(min, asked))
  if (seconds !== asked) {
    notices.push(`timeout_clamped: ${asked} s was asked for, ${seconds} s is set`)
  }
  return toMs(seconds)
}

/** Null: none. Longer times end where a timer does. */
function toMs(seconds: number | undefined): number | null {
  return seconds === undefined ? null : Math.min(seconds * 1000, maxTimerMs)
}

/** Throws `MisuseError` where it is none of the three. */
export function parseReady(text: string): Ready {
  const colon = text.indexOf(':')
  const kind = text.slice(0, colon)
  const value = text.slice(colon + 1)
  if (kind === 'port' && /^\d+$/.test(value) && Number(value) >= 1 && Number(value) <= 65_535) {
    return { kind: 'port', port: Number(value) }
  }
  if (kind === 'quiet' && /^\d+$/.test(value)) return { kind: 'quiet', quietMs: Number(value) }
  if (kind === 'regex') {
    try {
      return { kind: 'regex', source: new RegExp(value).source }
    } catch {
      throw invalid('ready', 'a valid regular expression after `regex:`', value)
    }
  }
  throw invalid('ready', '`port:N`, `regex:…` or `quiet:ms`', text)
}
