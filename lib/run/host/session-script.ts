import { markVariable, sessionVariable } from '../../system/process/run-variables.ts'
import type { Request } from '../../protocol/request/request.ts'
import { quoteWord } from '../../protocol/words.ts'
import { frameHead } from './frames.ts'
import { composeExports, findShell, findNamedShell, markThere, noRcFile } from './script.ts'
import { composeStop, type StopThere } from './stop-script.ts'

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
  const head = quoteWord(frameHead(session.name))
  const headOfTurn = quoteWord(frameHead(`${session.name}.`).slice(0, -1))
  const loop = [
    `__nacre_tell() { command printf '%s%s:%s\\n' ${headOfTurn} "$__nacre_m" "$1" >&4; command printf '%s%s:%s\\n' ${headOfTurn} "$__nacre_m" "$1" >&5; }`,
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
    `tell() { printf '%s%s\\n' ${head} "$1" >&4; printf '%s%s\\n' ${head} "$1" >&5; }`,
    'refuse() { tell "refused $1"; exit 125; }',
    shell,
    'case ${shell##*/} in bash | sh | dash | ash | busybox) ;; *) shell=bash; command -v bash >/dev/null 2>&1 || shell=sh ;; esac',
    ...composeStop(`${sessionVariable}=${session.mark}`, session.stop),
    'relay() { while IFS= read -r line; do printf "%s\\n" "$line"; done; group=none; stop_run; }',
    `relay 4>&- 5>&- 2>/dev/null | { export NACRE=1 ${sessionVariable}=${quoteWord(session.mark)}; "$shell" ${session.login ? '-lc' : '-c'} ${quoteWord(`exec 3<&0 </dev/null\n${loop}`)}; tell "gone $?"; }`,
  ].join('\n')
}

/** Names the frames of one command: what comes late of another one is not taken for it. */
export function nameTurn(name: string, mark: string): string {
  return `${name}.${mark}`
}

/** One command, as a line for the session's shell. */
export function composeTurn(
  request: Request,
  environment: Readonly<Record<string, string>>,
): string {
  const { env, cwd, cwdGiven, streams } = request
  const lent = Object.entries(env).filter(([name]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
  const path = quoteWord(cwd)
  const before = [
    // Once: what a command changes of it stays.
    '[ -n "${__nacre_h-}" ] || {',
    ...composeExports(environment),
    '__nacre_h=1; }',
    ...(cwdGiven
      ? [
          `if [ ! -e ${path} ]; then __nacre_no="Working directory does not exist: "${path}`,
          `elif [ ! -d ${path} ]; then __nacre_no="Working directory is not a directory: "${path}`,
          `elif ! command cd -- ${path}; then __nacre_no="Working directory may not be entered: "${path}; fi`,
        ]
      : []),
    ...lent.map(
      ([name, value]) =>
        `__nacre_k_${name}=\${${name}-} __nacre_l_${name}=\${${name}+x}; export ${name}=${quoteWord(value)}`,
    ),
    `__nacre_e=${streams === 'merged' ? 4 : 5}`,
  ]
  const after = lent.map(
    ([name]) =>
      `if [ -n "$__nacre_l_${name}" ]; then ${name}=$__nacre_k_${name}; else unset ${name}; fi; unset __nacre_k_${name} __nacre_l_${name}`,
  )
  const encode = (text: string) => Buffer.from(text).toString('base64') || 'Cg=='
  const texts = [before.join('\n'), request.command, after.join('\n')].map(encode)
  return `${[markThere(request.id), ...texts].join(' ')}\n`
}
