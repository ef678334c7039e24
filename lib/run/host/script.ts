import type { TerminalSize } from '../../protocol/request/request.ts'
import { quoteWord } from '../../protocol/words.ts'
import { markVariable, sessionVariable } from '../../system/process/own-process.ts'
import { frameHead } from './frames.ts'
import { allowCarrying, atDeadline, composeRunWatch, composeStop, type StopThere } from './stop.ts'

/** A command as the shell of another machine is to run it. */
export interface RemoteCommand {
  /** Names the frames of this run; nobody else knows it. */
  name: string
  /** A word of the script: the value of `NACRE_RUN` over there, by which its processes are found again. */
  mark: string
  /** A word of the script. */
  command: string
  /** The directory there; null: where the client begins. */
  cwd: string | null
  /** Null: bash, else sh. */
  shell: string | null
  login: boolean
  /** Where `shell` is null, the one that `$SHELL` names there comes first. */
  ownShell: boolean
  /** How a nacre over there would carry the command; null: none is looked for. */
  nacre: CarryingNacre | null
  env: Readonly<Record<string, string>>
  merged: boolean
  /**
   * `lifeline`: the command reads nothing or `text`, and the end of the client's input means that nobody
   * waits any more. `client`: the command reads the client's input. `none`: nobody listens while it runs,
   * so that the script reports how long the command took; it reads nothing or `text`.
   */
  input:
    | { kind: 'lifeline'; text: string | null }
    | { kind: 'client' }
    | { kind: 'terminal'; size: TerminalSize }
    | { kind: 'none'; text: string | null }
  stop: StopThere
  /** Whoever ends the run over there sends TERM to the script too, as a scheduler does. */
  endsByTerm: boolean
  /** When the script itself ends the run, in whole seconds from its beginning. */
  deadlineSeconds?: number
}

/** A nacre over there, which tells more of a run than a shell does, and has a sandbox. */
export interface CarryingNacre {
  /** The options of the run. */
  words: readonly string[]
  /** Whether it is to confine the run: then it is looked for on the path of a login shell too. */
  confines: boolean
  /** Without it the run does not begin. */
  isNeeded: boolean
}

/**
 * The words that run a script through any login shell: csh, fish and their like read quotes and
 * backslashes each in their own way, so that nothing but letters stands there. Needs base64(1).
 */
export function composeBootstrap(script: string): string {
  const payload = Buffer.from(script).toString('base64')
  return `exec sh -c 'eval "$(printf %s "$1" | base64 -d)"' nacre ${payload}`
}

/** The words of a program that is started without a shell in between. */
export function composeBootstrapWords(script: string): string[] {
  const payload = Buffer.from(script).toString('base64')
  return ['sh', '-c', 'eval "$(printf %s "$1" | base64 -d)"', 'nacre', payload]
}

/**
 * The clients of containers tell the terminal its size when it is there already, and a command that
 * begins before that would find none: stty(1) then says zeros, busybox's nothing.
 */
function composeSize({ columns, rows }: TerminalSize): string {
  const set = `stty rows ${rows} cols ${columns} 2>/dev/null`
  return `case $(stty size 2>/dev/null) in ''|'0 0') ${set};; esac`
}

/** Another value than here: on a host that is this machine too, each side knows its own. */
export function markThere(runId: string): string {
  return `${runId}-there`
}

/**
 * A script for a POSIX shell (XCU 2) that runs one command and tells its beginning and its end.
 *
 * The command runs in the foreground: what a shell starts with `&` ignores INT and QUIT (XCU 2.11).
 * An end by a signal is 128 + its number to a shell, as is an exit with that status; dash and busybox
 * say which it was in a message to their own standard error, which is taken here in `said`.
 */
export function composeRunScript(remote: RemoteCommand): string {
  const { name, mark, cwd, input, merged, deadlineSeconds } = remote
  const exports = [
    ...composeExports({ ...remote.env, NACRE: '1' }),
    `export ${markVariable}=${mark}`,
  ]
  const shell = remote.shell === null ? findShell(remote.ownShell) : findNamedShell(remote.shell)
  const isTerminal = input.kind === 'terminal'
  const isLifeline = input.kind === 'lifeline'
  const isAlone = input.kind === 'none'
  const watches = isLifeline || remote.endsByTerm
  const text = isLifeline || isAlone ? input.text : null
  const fed = text === null ? null : Buffer.from(text).toString('base64')
  const source = fed !== null ? '' : isLifeline || isAlone ? '</dev/null' : '<&3'
  const head = quoteWord(frameHead(name))
  const outputs = `>&4 2>&${merged ? 4 : 5} 3<&- 4>&- 5>&-`
  return [
    'exec 3<&0 4>&1 5>&2',
    // A scheduler that ends a job sends this to the script too, which has an end to tell.
    'ending=; trap ending=yes TERM',
    noRcFile,
    ...composeTellers(name, merged || isTerminal),
    ...(cwd === null ? [] : [composeDirectory(cwd, 'refuse')]),
    shell,
    ...composeSearch(remote.nacre),
    // A session of its own, where the system has a program for it: then its group is known. On a
    // terminal it would lose that.
    isTerminal ? 'own=' : 'own=; command -v setsid >/dev/null 2>&1 && own=setsid',
    ...(input.kind === 'terminal' ? [composeSize(input.size)] : []),
    'begin',
    '[ -z "$nacre" ] || tell carried',
    ...(isAlone ? ['from=$(date +%s%3N)'] : []),
    ...(watches
      ? [
          ...composeStop(
            `${markVariable}=${mark}`,
            remote.nacre ? allowCarrying(remote.stop) : remote.stop,
          ),
          composeRunWatch(isLifeline, deadlineSeconds),
          'watch=$!',
        ]
      : []),
    `said=$(trap : TERM; exec 2>&1; ${fed === null ? '' : `printf %s ${fed} | base64 -d | `}` +
      `(${[...exports, ...composeWords(remote)].join('; ')}; exec $own sh -c ${quoteWord(tellPid)} ${head} "$@") ${source} ${outputs}` +
      '; echo "code=$?"; times)',
    // The second line of times(1p) has what was counted of its children.
    'code=${said##*code=} signal= line="\n"; used=${code##*"$line"} code=${code%%"$line"*} said=${said%code=*}',
    '[ "${code:-0}" -gt 128 ] && [ -n "$said" ] && signal=$(kill -l "$code" 2>/dev/null)',
    // A watch that ends the run has still to end what the command has left. A scheduler may have ended the command
    // before its signal reaches the watch.
    ...(watches
      ? [
          'trap "" TERM; wake=USR1',
          ...(remote.endsByTerm
            ? ['[ "${code:-0}" -le 128 ] && [ -z "$ending" ] || wake=USR2']
            : []),
          'kill "-$wake" "$watch" 2>/dev/null; wait "$watch" 2>/dev/null',
          ...(deadlineSeconds === undefined ? [] : [`[ "$?" -ne ${atDeadline} ] || tell timeout`]),
        ]
      : []),
    'tell "used $used"',
    ...(isAlone ? ['tell "time $from $(date +%s%3N)"'] : []),
    // A shell that was killed has told none.
    '[ -z "$code" ] || tell "end $code $signal"',
  ].join('\n')
}

/**
 * A bash whose environment is that of a login by ssh reads ~/.bashrc even for `-c`, unless it takes
 * itself for an inner shell (bash(1), INVOCATION); the login shell has read it already.
 */
const noRcFile = 'SHLVL=${SHLVL:-0}; [ "$SHLVL" -gt 0 ] || SHLVL=1; export SHLVL'

/** Makes the command the words of what runs it, a nacre or its shell. */
function composeWords({ name, command, nacre, login }: RemoteCommand): string[] {
  const carry = ['carry', frameHead(name), ...(nacre?.words ?? [])].map(quoteWord).join(' ')
  const ofCarry = `--shell "$shell"${login ? ' --login' : ''} -- "$1"`
  return [
    `set -- ${command}`,
    ...(nacre ? [`[ -z "$nacre" ] || set -- "$nacre" ${carry} ${ofCarry}`] : []),
    // Behind the blank a dash at the beginning of the command is no option of the shell.
    `[ "$#" -gt 1 ] || set -- "$shell" ${login ? '-lc' : '-c'} " $1"`,
  ]
}

/** Finds a nacre over there; nothing where none is to carry the command. */
function composeSearch(nacre: CarryingNacre | null): string[] {
  if (nacre === null) return ['nacre=']
  const onLogin = '"${SHELL:-sh}" -lc "command -v nacre" </dev/null 2>/dev/null | tail -n 1'
  return [
    'nacre=$(command -v nacre)',
    ...(nacre.confines ? [`[ -n "$nacre" ] || nacre=$(${onLogin})`] : []),
    ...(nacre.isNeeded
      ? [`[ -n "$nacre" ] || refuse sandbox_unavailable 'nacre is not installed there'`]
      : []),
  ]
}

/** Tells the number of the process that becomes the command. */
const tellPid = 'printf "%spid %s\\n" "$0" "$$"; exec "$@"'

function composeExports(environment: Readonly<Record<string, string>>): string[] {
  return listVariables(environment).map(([key, value]) => `export ${key}=${quoteWord(value)}`)
}

/** Only what a shell takes for a name. */
function listVariables(environment: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(environment).filter(([key]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(key))
}

/** By its name, as the shell calls itself in its messages. */
function findShell(ownShell: boolean): string {
  const usual = 'shell=bash; command -v bash >/dev/null 2>&1 || shell=sh'
  return ownShell ? `shell=$SHELL; [ -n "$shell" ] || { ${usual}; }` : usual
}

function findNamedShell(name: string): string {
  const word = quoteWord(name)
  return `shell=${word}; command -v ${word} >/dev/null 2>&1 || refuse shell_not_found "Shell does not exist: "${word}`
}

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
 * A shell on another machine that keeps its state. It reads one line a command: the mark of its run and
 * three texts in base64, what comes before the command, the command, and what comes after it.
 */
export interface RemoteSession {
  /** Names the frames of its own end; those of a command are named `nameTurn` of it. */
  name: string
  /** The value of `NACRE_SESSION` over there, by which all that it starts is found. */
  mark: string
  shell: string | null
  login: boolean
  ownShell: boolean
  stop: StopThere
}

/**
 * The script that a POSIX shell runs there. The client's input comes to the session's shell through a
 * process of its own, so that the end of that input, which is that of the connection, is heard while
 * a command runs: it ends the session with all that it started.
 */
export function composeSessionScript(session: RemoteSession): string {
  const headOfTurn = quoteWord(frameHead(`${session.name}.`).slice(0, -1))
  const loop = [
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
  const shell = session.shell === null ? findShell(session.ownShell) : findNamedShell(session.shell)
  return [
    'exec 4>&1 5>&2',
    noRcFile,
    ...composeTellers(session.name, false),
    'begin',
    shell,
    'case ${shell##*/} in bash | sh | dash | ash | busybox) ;; *) shell=bash; command -v bash >/dev/null 2>&1 || shell=sh ;; esac',
    ...composeStop(`${sessionVariable}=${quoteWord(session.mark)}`, session.stop),
    'relay() { while IFS= read -r line; do printf "%s\\n" "$line"; done; group=none; stop_run; }',
    `relay 4>&- 5>&- 2>/dev/null | { export NACRE=1 ${sessionVariable}=${quoteWord(session.mark)}; "$shell" ${session.login ? '-lc' : '-c'} ${quoteWord(`exec 3<&0 </dev/null\n${loop}`)}; tell "end $?"; }`,
  ].join('\n')
}

/** Names the frames of one command: what comes late of another one is not taken for it. */
export function nameTurn(name: string, mark: string): string {
  return `${name}.${mark}`
}

/** A command for the shell of a session. */
export interface RemoteTurn {
  mark: string
  command: string
  /** Null: it runs where the shell stands. */
  cwd: string | null
  /** Set once in a session: what a command changes of it stays. */
  environment: Readonly<Record<string, string>>
  /** Set for this command alone. */
  env: Readonly<Record<string, string>>
  merged: boolean
}

/** One command, as a line for the session's shell. */
export function composeTurn({ mark, command, cwd, environment, env, merged }: RemoteTurn): string {
  const lent = listVariables(env)
  const before = [
    '[ -n "${__nacre_h-}" ] || {',
    ...composeExports(environment),
    '__nacre_h=1; }',
    ...(cwd === null ? [] : [composeDirectory(cwd, '__nacre_refuse')]),
    ...lent.map(
      ([name, value]) =>
        `__nacre_k_${name}=\${${name}-} __nacre_l_${name}=\${${name}+x}; export ${name}=${quoteWord(value)}`,
    ),
    `__nacre_e=${merged ? 4 : 5}`,
  ]
  const after = lent.map(
    ([name]) =>
      `if [ -n "$__nacre_l_${name}" ]; then ${name}=$__nacre_k_${name}; else unset ${name}; fi; unset __nacre_k_${name} __nacre_l_${name}`,
  )
  const encode = (text: string) => Buffer.from(text).toString('base64') || 'Cg=='
  const texts = [before.join('\n'), command, after.join('\n')].map(encode)
  return `${[mark, ...texts].join(' ')}\n`
}
