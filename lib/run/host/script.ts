import { resolve } from 'node:path'
import { takesOwnShell } from '../../protocol/origin.ts'
import { StartError } from '../../protocol/ports.ts'
import type { Request, TerminalSize } from '../../protocol/request/request.ts'
import { joinWords, quoteWord } from '../../protocol/words.ts'
import { markVariable, ownerVariable, sessionVariable } from '../../system/process/own-process.ts'
import { buildEnvironment } from '../environment.ts'
import { frameHead } from './frames.ts'
import { allowCarrying, atDeadline, composeRunWatch, composeStop, describeStop } from './stop.ts'

/** A longer script does not fit into one word of a program (execve(2): 128 KiB), encoded. */
const longestScript = 90 * 1024

/**
 * The words that run a script through any login shell: csh, fish and their like read quotes and
 * backslashes each in their own way, so that nothing but letters stands there. Needs base64(1). Throws
 * `StartError`.
 */
export function composeBootstrap(script: string): string {
  return `exec ${joinWords(composeBootstrapWords(script))}`
}

/** The words of a program that is started without a shell in between. Throws `StartError`. */
export function composeBootstrapWords(script: string): string[] {
  return ['sh', '-c', 'eval "$(printf %s "$1" | base64 -d)"', 'nacre', encodeScript(script)]
}

function encodeScript(script: string): string {
  if (script.length <= longestScript) return encode(script)
  const message = `The command is too long for another machine: ${script.length} bytes with its environment, and at most ${longestScript} are passed on`
  throw new StartError('too_long', message)
}

const encode = (text: string) => Buffer.from(text).toString('base64')

/** Another value than here: on a host that is this machine too, each side knows its own. */
export function markThere(runId: string): string {
  return `${runId}-there`
}

/** How a request is run on another machine, beside what it says itself. */
export interface RunScript {
  /** Names the frames of this run; nobody else knows it. */
  name: string
  /**
   * The directory here in which it begins, if a scheduler runs it: its machines see the same files, and it sends TERM
   * to the script too. Null: it begins where the client does.
   */
  startsIn: string | null
  /**
   * Nobody listens while it runs, so that the script reports how long the command took. Otherwise the end of the
   * client's input means that nobody waits any more, unless the command reads that.
   */
  isAlone?: boolean
  /** A word of the script: the value of `NACRE_RUN` over there, by which its processes are found again. */
  mark?: string
  /** A word of the script, in place of the command of the request. */
  command?: string
  /** When the script itself ends the run, in whole seconds from its beginning. */
  deadlineSeconds?: number
}

/**
 * A script for a POSIX shell (XCU 2) that runs one command and reports its beginning and its end.
 *
 * The command runs in the foreground: what a shell starts with `&` ignores INT and QUIT (XCU 2.11).
 * An end by a signal is 128 + its number to a shell, as is an exit with that status; dash and busybox
 * say which it was in a message to their own standard error, which is taken here in `said`.
 */
export function composeRunScript(request: Request, run: RunScript): string {
  const { pty, stdin, login } = request
  const { name, startsIn, isAlone = false, deadlineSeconds } = run
  const mark = run.mark ?? quoteWord(markThere(request.id))
  const cwd = request.cwdGiven ? request.cwd : null
  const directory = startsIn === null ? cwd : resolve(startsIn, cwd ?? '.')
  const stop = describeStop(request)
  // A scheduler counts the memory of whatever runs in a job.
  const nacre = startsIn === null ? composeCarry(request, name) : null
  const fed = stdin.kind === 'text' && !pty ? encode(stdin.text) : null
  const readsClient = pty !== null || !['none', 'text'].includes(stdin.kind)
  const isLifeline = !isAlone && !readsClient
  const watches = isLifeline || startsIn !== null
  const source = fed !== null ? '' : isAlone || !readsClient ? '</dev/null' : '<&3'
  const merged = request.streams === 'merged'
  const head = quoteWord(frameHead(name))
  const words = [
    ...composeExports({ ...describeEnvironment(request), ...request.env, NACRE: '1' }),
    `export ${markVariable}=${mark}`,
    `set -- ${run.command ?? quoteWord(request.command)}`,
    ...(nacre === null ? [] : [`[ -z "$nacre" ] || set -- "$nacre" ${nacre}`]),
    // Behind the blank a dash at the beginning of the command is no option of the shell.
    `[ "$#" -gt 1 ] || set -- "$shell" ${login ? '-lc' : '-c'} " $1"`,
  ]
  return [
    'exec 3<&0 4>&1 5>&2',
    // A scheduler that ends a job sends this to the script too, which has an end to report.
    'ending=; trap ending=yes TERM',
    noRcFile,
    ...composeTellers(name, merged || pty !== null),
    ...(directory === null ? [] : [composeDirectory(directory, 'refuse')]),
    findShell(request),
    ...(nacre === null ? ['nacre='] : composeSearch(request)),
    // A session of its own, if the system has a program for it: then its group is known. On a
    // terminal it would lose that.
    pty ? 'own=' : 'own=; command -v setsid >/dev/null 2>&1 && own=setsid',
    ...(pty ? [composeSize(pty)] : []),
    'begin',
    '[ -z "$nacre" ] || tell carried',
    ...(isAlone ? ['from=$(date +%s%3N)'] : []),
    ...(watches
      ? [
          ...composeStop(`${markVariable}=${mark}`, nacre === null ? stop : allowCarrying(stop)),
          composeRunWatch(isLifeline, deadlineSeconds),
          'watch=$!',
        ]
      : []),
    `said=$(trap : TERM; exec 2>&1; ${fed === null ? '' : `printf %s ${fed} | base64 -d | `}` +
      `(${words.join('; ')}; exec $own sh -c ${quoteWord(tellPid)} ${head} "$@") ` +
      `${source} >&4 2>&${merged ? 4 : 5} 3<&- 4>&- 5>&-; echo "code=$?")`,
    'code=${said##*code=} signal= said=${said%code=*}',
    '[ "${code:-0}" -gt 128 ] && [ -n "$said" ] && signal=$(kill -l "$code" 2>/dev/null)',
    // A watch that ends the run has still to end what the command has left. A scheduler may have ended the command
    // before its signal reaches the watch.
    ...(watches
      ? [
          'trap "" TERM; wake=USR1',
          ...(startsIn === null
            ? []
            : ['[ "${code:-0}" -le 128 ] && [ -z "$ending" ] || wake=USR2']),
          'kill "-$wake" "$watch" 2>/dev/null; wait "$watch" 2>/dev/null',
          ...(deadlineSeconds === undefined ? [] : [`[ "$?" -ne ${atDeadline} ] || tell timeout`]),
        ]
      : []),
    ...(isAlone ? ['tell "time $from $(date +%s%3N)"'] : []),
    // A shell that was killed has reported none.
    '[ -z "$code" ] || tell "end $code $signal"',
  ].join('\n')
}

/**
 * A bash whose environment is that of a login by ssh reads ~/.bashrc even for `-c`, unless it takes
 * itself for an inner shell (bash(1), INVOCATION); the login shell has read it already.
 */
const noRcFile = 'SHLVL=${SHLVL:-0}; [ "$SHLVL" -gt 0 ] || SHLVL=1; export SHLVL'

/** Reports the number of the process that becomes the command. */
const tellPid = 'printf "%spid %s\\n" "$0" "$$"; exec "$@"'

/**
 * The words of a nacre over there, which reports more of a run than a shell does, and has a sandbox: the guard
 * has judged the command here, and the script gives the environment. Null: none is looked for.
 */
function composeCarry(request: Request, name: string): string | null {
  const { sandbox, network, workspace, signal, killAfterMs, pty, login } = request
  // It would stand between the command and its terminal.
  if (pty && sandbox === 'off') return null
  const words = [
    ...['carry', frameHead(name), `--sandbox=${sandbox}`, `--network=${network}`],
    ...(workspace === null ? [] : [`--workspace=${workspace}`]),
    ...[`--signal=${signal.replace(/^SIG/, '')}`, `--kill-after=${killAfterMs}ms`],
    ...['--timeout=0', '--no-guard', '--no-harden', ...(login ? ['--login'] : [])],
  ]
  return `${words.map(quoteWord).join(' ')} --shell "$shell" -- "$1"`
}

/** Finds a nacre over there: if it is to confine the run, on the path of a login shell too. */
function composeSearch({ sandbox, sandboxMayFallBack }: Request): string[] {
  const find = 'nacre=$(command -v nacre)'
  if (sandbox === 'off') return [find]
  const onLogin = '"${SHELL:-sh}" -lc "command -v nacre" </dev/null 2>/dev/null | tail -n 1'
  const refusal = `refuse sandbox_unavailable 'nacre is not installed there'`
  return [
    find,
    `[ -n "$nacre" ] || nacre=$(${onLogin})`,
    ...(sandboxMayFallBack ? [] : [`[ -n "$nacre" ] || ${refusal}`]),
  ]
}

/** What this side adds to the environment over there, beside the variables of the request. */
function describeEnvironment(request: Request): Record<string, string> {
  const environment = buildEnvironment(
    { ...request, env: {} },
    { inherited: {}, refusal: '/bin/false', toTerminal: false, owner: '' },
  )
  for (const own of ['PWD', markVariable, ownerVariable]) delete environment[own]
  if (request.pty) delete environment['TERM']
  return environment
}

function composeExports(environment: Readonly<Record<string, string>>): string[] {
  return listVariables(environment).map(([key, value]) => `export ${key}=${quoteWord(value)}`)
}

/** Only what a shell takes for a name. */
function listVariables(environment: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(environment).filter(([key]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(key))
}

/** By its name, as the shell calls itself in its messages. */
function findShell(request: Request): string {
  if (request.shell !== null) {
    const word = quoteWord(request.shell)
    return `shell=${word}; command -v ${word} >/dev/null 2>&1 || refuse shell_not_found "Shell does not exist: "${word}`
  }
  return takesOwnShell(request) ? `shell=$SHELL; [ -n "$shell" ] || { ${usualShell}; }` : usualShell
}

const usualShell = 'shell=bash; command -v bash >/dev/null 2>&1 || shell=sh'

function composeTellers(name: string, isOne: boolean): string[] {
  const head = quoteWord(frameHead(name))
  const both = isOne ? '' : `; printf '%s%s\\n' ${head} "$1" >&5`
  return [
    `tell() { printf '%s%s\\n' ${head} "$1" >&4${both}; }`,
    'begin() { tell "begin $(pwd)"; }',
    'refuse() { tell "refused $1 $2"; exit 125; }',
  ]
}

/** Enters a directory, or calls `refuse` with a code and a message. */
function composeDirectory(cwd: string, refuse: string): string {
  const path = quoteWord(cwd)
  return [
    `if [ ! -e ${path} ]; then ${refuse} cwd_not_found "Working directory does not exist: "${path}`,
    `elif [ ! -d ${path} ]; then ${refuse} cwd_not_a_directory "Working directory is not a directory: "${path}`,
    `elif ! command cd -- ${path}; then ${refuse} cwd_not_accessible "Working directory may not be entered: "${path}; fi`,
  ].join('\n')
}

/**
 * The clients of containers tell the terminal its size when it is there already, and a command that
 * begins before that would find none: stty(1) then says zeros, busybox's nothing.
 */
function composeSize({ columns, rows }: TerminalSize): string {
  const set = `stty rows ${rows} cols ${columns} 2>/dev/null`
  return `case $(stty size 2>/dev/null) in ''|'0 0') ${set};; esac`
}

/**
 * A script for a POSIX shell that starts a shell which keeps its state. It reads one line a command, as
 * `composeTurn` makes it. `name` names the frames of the shell itself; `mark` is the value of `NACRE_SESSION` over
 * there, by which all that it starts is found.
 *
 * The client's input comes to that shell through a process of its own, so that the end of that input, which is
 * that of the connection, is heard while a command runs: it ends the session with all that it started.
 */
export function composeSessionScript(request: Request, name: string, mark: string): string {
  const headOfTurn = quoteWord(frameHead(`${name}.`).slice(0, -1))
  const loop = [
    'exec 3<&0 </dev/null',
    `__nacre_tell() { command printf '%s%s:%s\\n' ${headOfTurn} "$__nacre_m" "$1" >&4; command printf '%s%s:%s\\n' ${headOfTurn} "$__nacre_m" "$1" >&5; }`,
    '__nacre_refuse() { __nacre_no="$1 $2"; }',
    '__nacre_text() { command printf %s "$1" | base64 -d; command printf x; }',
    'while IFS= read -r __nacre_line <&3; do',
    // A command may have set IFS and switched off the splitting of words.
    '__nacre_m=${__nacre_line%% *}; __nacre_line=${__nacre_line#* }',
    '__nacre_b=$(__nacre_text "${__nacre_line%% *}"); __nacre_line=${__nacre_line#* }',
    '__nacre_c=$(__nacre_text "${__nacre_line%% *}"); __nacre_a=$(__nacre_text "${__nacre_line#* }")',
    `export ${markVariable}="$__nacre_m"; __nacre_no=`,
    'command eval "${__nacre_b%x}" 2>/dev/null',
    'if [ -n "$__nacre_no" ]; then __nacre_tell "refused $__nacre_no"; __nacre_tell "end 125"; continue; fi',
    '__nacre_tell "begin $PWD"',
    `{ command eval "\${__nacre_c%x}"; } </dev/null >&4 2>&"\${__nacre_e:-5}" 3<&- 4>&- 5>&-`,
    '__nacre_s=$?',
    'command eval "${__nacre_a%x}" 2>/dev/null',
    '__nacre_tell "at $PWD"; __nacre_tell "end $__nacre_s"',
    'done',
  ].join('\n')
  const assignment = `${sessionVariable}=${quoteWord(mark)}`
  return [
    'exec 4>&1 5>&2',
    noRcFile,
    ...composeTellers(name, false),
    'begin',
    findShell(request),
    `case \${shell##*/} in bash | sh | dash | ash | busybox) ;; *) ${usualShell} ;; esac`,
    ...composeStop(assignment, describeStop(request)),
    'relay() { while IFS= read -r line; do printf "%s\\n" "$line"; done; group=none; stop_run; }',
    `relay 4>&- 5>&- 2>/dev/null | { export NACRE=1 ${assignment}; "$shell" ${request.login ? '-lc' : '-c'} ${quoteWord(loop)}; tell "end $?"; }`,
  ].join('\n')
}

/** Names the frames of one command in a session: what comes late of another one is not taken for it. */
export function nameTurn(name: string, request: Request): string {
  return `${name}.${markThere(request.id)}`
}

/**
 * One command, as a line for the session's shell: the mark of its run and three texts in base64, what comes
 * before the command, the command, and what comes after it.
 */
export function composeTurn(request: Request): string {
  const lent = listVariables(request.env)
  const before = [
    // Once: what a command changes of it stays.
    '[ -n "${__nacre_h-}" ] || {',
    ...composeExports(describeEnvironment(request)),
    '__nacre_h=1; }',
    ...(request.cwdGiven ? [composeDirectory(request.cwd, '__nacre_refuse')] : []),
    ...lent.map(
      ([name, value]) =>
        `__nacre_k_${name}=\${${name}-} __nacre_l_${name}=\${${name}+x}; export ${name}=${quoteWord(value)}`,
    ),
    `__nacre_e=${request.streams === 'merged' ? 4 : 5}`,
  ]
  const after = lent.map(
    ([name]) =>
      `if [ -n "$__nacre_l_${name}" ]; then ${name}=$__nacre_k_${name}; else unset ${name}; fi; unset __nacre_k_${name} __nacre_l_${name}`,
  )
  const texts = [before.join('\n'), request.command, after.join('\n')]
  // No text is empty: the words are parted by single blanks.
  return `${[markThere(request.id), ...texts.map((text) => encode(text || '\n'))].join(' ')}\n`
}
