import { quoteWord } from '../../protocol/words.ts'
import { frameHead } from './frames.ts'

/** A command as the shell of another machine is to run it. */
export interface RemoteCommand {
  /** Names the frames of this run; nobody else knows it. */
  name: string
  /** The value of `NACRE_RUN` over there, by which its processes are found again. */
  mark: string
  command: string
  /** Null: where the client begins. */
  cwd: string | null
  /** Null: bash, else sh. */
  shell: string | null
  login: boolean
  env: Readonly<Record<string, string>>
  merged: boolean
  /**
   * `lifeline`: the command reads nothing or `text`, and the client's input only tells by its end that
   * nobody waits any more. `client`: the command reads it.
   */
  input: { kind: 'lifeline'; text: string | null } | { kind: 'client' } | { kind: 'terminal' }
  graceSeconds: number
}

/**
 * The words that run a script through any login shell: csh, fish and their like read quotes and
 * backslashes each in their own way, so that nothing but letters stands there. Needs base64(1).
 */
export function composeBootstrap(script: string): string {
  const payload = Buffer.from(script).toString('base64')
  return `exec sh -c 'eval "$(printf %s "$1" | base64 -d)"' nacre ${payload}`
}

/** The same as the words of a program that is started without a shell in between. */
export function composeBootstrapWords(script: string): string[] {
  const payload = Buffer.from(script).toString('base64')
  return ['sh', '-c', 'eval "$(printf %s "$1" | base64 -d)"', 'nacre', payload]
}

/** Another value than here: on a host that is this machine too, each side knows its own. */
export function markThere(runId: string): string {
  return `${runId}-there`
}

/** A script for a POSIX shell (XCU 2) that runs one command and tells its beginning and its end. */
export function composeRunScript(remote: RemoteCommand): string {
  const { name, command, cwd, input, merged } = remote
  const exports = Object.entries({ ...remote.env, NACRE: '1', NACRE_RUN: remote.mark })
    .filter(([key]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(key))
    .map(([key, value]) => `export ${key}=${quoteWord(value)}`)
  const shell = remote.shell === null ? findShell(remote.login) : findNamedShell(remote.shell)
  const run = `${remote.login ? '-lc' : '-c'} ${quoteWord(command)}`
  if (input.kind === 'terminal') {
    return [
      ...composeTellers(name, merged),
      ...composeDirectory(cwd),
      shell,
      'begin',
      'tell "pid $$"',
      `(${exports.join('; ')}; exec "$shell" ${run})`,
      'tell "end $?"',
    ].join('\n')
  }
  const feed = input.kind === 'lifeline' && input.text !== null
  const source = input.kind === 'client' ? '<&3' : feed ? '' : '</dev/null'
  const fed = feed
    ? `printf %s ${Buffer.from(input.text ?? '').toString('base64')} | base64 -d | `
    : ''
  return [
    ...composeTellers(name, merged),
    'exec 3<&0',
    ...composeDirectory(cwd),
    shell,
    // A session of its own, where the system has a program for it: then its group is known.
    'own=; command -v setsid >/dev/null 2>&1 && own=setsid',
    'begin',
    `${fed}(${exports.join('; ')}; exec $own "$shell" ${run}) ${source} 3<&- ${merged ? '2>&1 ' : ''}&`,
    'pid=$!',
    'tell "pid $pid"',
    ...(input.kind === 'lifeline'
      ? [
          ...composeStop(remote.mark, remote.graceSeconds),
          '(read -r line; stop_run "$pid") <&3 >/dev/null 2>&1 &',
          'watch=$!',
        ]
      : []),
    'exec 3<&- </dev/null',
    'wait "$pid" 2>/dev/null',
    'code=$?',
    ...(input.kind === 'lifeline' ? ['kill "$watch" 2>/dev/null'] : []),
    'tell "end $code"',
  ].join('\n')
}

/** By its name, as the shell calls itself in its messages. */
function findShell(login: boolean): string {
  const usual = 'shell=bash; command -v bash >/dev/null 2>&1 || shell=sh'
  return login ? `shell=$SHELL; [ -n "$shell" ] || { ${usual}; }` : usual
}

function findNamedShell(name: string): string {
  const word = quoteWord(name)
  return `shell=${word}; command -v ${word} >/dev/null 2>&1 || refuse "Shell does not exist: "${word}`
}

/** A script that ends what a run has started there, and prints a line `pid command` for what is left. */
export function composeStopScript(mark: string, pid: number, graceSeconds: number): string {
  return [
    ...composeStop(mark, graceSeconds),
    `stop_run ${pid}`,
    'for p in $(living); do printf "%s %s\\n" "$p" "$(ps -o args= -p "$p" 2>/dev/null || echo ?)"; done',
  ].join('\n')
}

function composeTellers(name: string, merged: boolean): string[] {
  const head = quoteWord(frameHead(name))
  const both = merged ? '' : `; printf '%s%s\\n' ${head} "$1" >&2`
  return [
    `tell() { printf '%s%s\\n' ${head} "$1"${both}; }`,
    'begin() { tell "begin $(pwd)"; }',
    'refuse() { tell "refused $1"; exit 125; }',
  ]
}

function composeDirectory(cwd: string | null): string[] {
  if (cwd === null) return []
  const path = quoteWord(cwd)
  return [
    `[ -e ${path} ] || refuse "Working directory does not exist: "${path}`,
    `[ -d ${path} ] || refuse "Working directory is not a directory: "${path}`,
    `cd -- ${path} || refuse "Working directory may not be entered: "${path}`,
  ]
}

/**
 * TERM to the run's group and to every process that carries its mark, KILL to what is left after the
 * grace. Without /proc (proc(5)) the mark cannot be read, and the group is all that is known.
 */
function composeStop(mark: string, graceSeconds: number): string[] {
  return [
    `marked() { grep -l ${quoteWord(`NACRE_RUN=${mark}`)} /proc/[0-9]*/environ 2>/dev/null | tr -dc '0-9\\n'; }`,
    // A zombie (Z) has ended; nobody may ever wait for it.
    'members() { if [ -r /proc/self/stat ]; then sed -n "s/^\\([0-9]*\\) (.*) [^Z] [0-9]* [0-9]* $group .*/\\1/p" /proc/[0-9]*/stat 2>/dev/null; elif kill -0 -- "-$group" 2>/dev/null; then echo "$group"; fi; }',
    'living() { { marked; members; } | sort -u; }',
    'signal_run() { kill "-$1" -- "-$group" 2>/dev/null; for p in $(living); do kill "-$1" "$p" 2>/dev/null; done; }',
    'stop_run() {',
    '  group=$1 left=' + Math.max(1, Math.ceil(graceSeconds * 10)),
    '  signal_run TERM; signal_run CONT',
    '  while [ "$left" -gt 0 ] && [ -n "$(living)" ]; do sleep 0.1 2>/dev/null || sleep 1; left=$((left - 1)); done',
    '  left=20',
    '  while [ "$left" -gt 0 ] && [ -n "$(living)" ]; do signal_run KILL; sleep 0.1 2>/dev/null || sleep 1; left=$((left - 1)); done',
    '}',
  ]
}
