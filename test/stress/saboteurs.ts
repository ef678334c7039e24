import { execFileSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import type { RequestInput } from '../../lib/protocol/request/request.ts'
import type { SessionBench } from '../helpers/sessions.ts'

/** What has once cost a session its end, its output or its next command, and what is nearest to it. */
export const knownSaboteurs: readonly string[] = [
  ...[10, 11, 12, 13, 255].map((fd) => `exec ${fd}>&-`),
  'exec 10>&- 11>&- 12>&-',
  'exec 11>&-; exec {x}>file',
  'exec 10>lock; exec 10>&-',
  'exec 200>lock',
  'for ((i=3;i<256;i++)); do eval "exec $i>&-"; done',
  'for ((i=0;i<256;i++)); do eval "exec $i>&-"; done',
  'exec 0<&10',
  'enable -n read',
  'enable -n mapfile',
  'enable -n unset enable builtin',
  'enable -n exit builtin enable unset',
  'enable -n $(compgen -b)',
  '__nacre_end() { echo mine; }; __nacre_status() { exit 9; }',
  'readonly -f __nacre_end',
  'unset -f $(compgen -A function)',
  ...['c', 'x', 'w', 's', 'g', 'p'].flatMap((name) => [
    `unset __nacre_${name}`,
    `readonly __nacre_${name}`,
  ]),
  'for v in $(compgen -v); do unset $v; done 2>/dev/null',
  'for v in $(compgen -v); do declare -i $v; done 2>/dev/null',
  'for v in $(compgen -v); do readonly $v; done 2>/dev/null',
  'for b in $(compgen -b); do eval "$b() { return 3; }"; done 2>/dev/null',
  'for b in $(compgen -b); do alias -- $b=false; done 2>/dev/null',
  'for k in $(compgen -k); do alias -- "$k"=false; done 2>/dev/null',
  "IFS=$'\\001'",
  "readonly IFS=$'\\177'",
  'declare -a IFS; IFS=(1 2)',
  'set -r',
  'set -n',
  'ulimit -n 3',
  "trap 'unset __nacre_c' DEBUG",
  "trap 'exec 1>&-' DEBUG",
  'mapfile -d "" -t __nacre_c </dev/null',
  'declare -i _',
]

/** Every builtin, option, variable, signal and descriptor of bash, each set out of order in some ways. */
export function listSaboteurs(): string[] {
  const ask = (command: string) =>
    execFileSync('bash', ['-c', command], { encoding: 'utf8' }).split('\n').filter(Boolean)
  const first = (line: string) => line.split(/\s/)[0] ?? ''
  const variables = [...ask('compgen -v').filter((name) => /^[A-Z_]+[A-Z]$/.test(name)), ...others]
  const descriptors = [...Array.from({ length: 20 }, (_, number) => number), 254, 255]
  return [
    ...new Set([
      ...knownSaboteurs,
      ...ask('compgen -b').flatMap((name) => [
        `enable -n ${name}`,
        `function ${name} { :; }`,
        `function ${name} { return 1; }`,
        `function ${name} { exit 9; }`,
        `alias -- ${name}=false`,
        `alias -- ${name}='echo hi;'`,
      ]),
      ...ask('shopt').flatMap((line) => [`shopt -s ${first(line)}`, `shopt -u ${first(line)}`]),
      ...ask('set -o').flatMap((line) => [`set -o ${first(line)}`, `set +o ${first(line)}`]),
      ...variables.flatMap((name) => [
        `unset ${name}`,
        `${name}=x`,
        `${name}=`,
        `readonly ${name}`,
        `declare -a ${name}; ${name}=(1 2)`,
        `declare -i ${name}`,
        `declare -n ${name}=nowhere`,
      ]),
      ...[...ask('compgen -A signal'), 'ERR', 'DEBUG', 'RETURN', 'EXIT'].flatMap((name) => [
        `trap 'echo trap' ${name}`,
        `trap '' ${name}`,
        `trap 'exit 3' ${name}`,
        `trap 'return 2' ${name}`,
      ]),
      ...descriptors.flatMap((fd) => [
        `exec ${fd}>&-`,
        `exec ${fd}</dev/null`,
        `exec ${fd}>/dev/null`,
        `exec ${fd}<&0`,
      ]),
      ...['-u 1', '-f 0', '-v 20000', '-s 100', '-t 1', '-Sn 3', '-n 11', '-n 13'].map(
        (limit) => `ulimit ${limit}`,
      ),
      ...endings,
    ]),
  ]
}

/** Variables that bash knows and that need not be set. */
const others = (
  'BASH_ALIASES BASH_ARGC BASH_ARGV BASH_CMDS BASH_COMPAT BASH_ENV BASH_REMATCH BASH_XTRACEFD ' +
  'COPROC ENV EXECIGNORE FUNCNEST GLOBIGNORE histchars HISTFILE IGNOREEOF LC_ALL MAIL MAILPATH ' +
  'MAPFILE OLDPWD PIPESTATUS POSIXLY_CORRECT PROMPT_COMMAND PS0 REPLY TIMEFORMAT TMOUT TMPDIR _ ' +
  'NACRE_RUN NACRE_SESSION'
).split(' ')

/** Texts and commands that end or bend the shell itself. */
const endings: readonly string[] = [
  ...['exit', 'exit 7', 'exec true', 'exec no-such', 'return 3', 'break 100', 'continue 100'],
  ...['kill -9 $$', 'kill $$', 'kill -HUP $$', 'kill -PIPE $$', 'kill -URG $$', 'logout'],
  ...[
    'cat <<EOF',
    "echo 'a",
    'echo $(',
    'if true',
    '{',
    ')',
    'done',
    ';;',
    '\\',
    '# c',
    '!',
    'x=(',
  ],
  ...['set -aefhkmtuvxBCEHPT', 'set -o onecmd', 'set -eu; false', 'set -k; a=1', 'set -t'],
  ...['coproc cat', 'shopt -s lastpipe; echo a | exec cat', 'umask 777'],
  ...[
    'mkdir d; cd d; rmdir ../d',
    'exec >none',
    'exec 2>&-',
    'exec 1>&2',
    'exec 9>t; BASH_XTRACEFD=9',
  ],
  ...[
    'BASH_XTRACEFD=11; set -x; unset BASH_XTRACEFD',
    'TMOUT=1; sleep 1.5',
    'f() { f; }; FUNCNEST=9; f',
  ],
  ...[
    "printf '\\0run_x\\0'",
    'read -u 10 x',
    'cat <&10 & sleep 0.1; kill $!',
    'sleep 9 <&10 & disown',
  ],
  ...[
    'set -o posix; builtin() { :; }',
    'readonly POSIXLY_CORRECT; builtin() { :; }',
    'set -o history',
  ],
  ...["set -T; trap 'echo r' RETURN", "set -E; trap 'exit 4' ERR; false", "trap 'exec true' DEBUG"],
]

/**
 * Runs a command that means no good to its session, and two after it. Gives what was wrong: an end that
 * was not seen, words of nacre's own, a command that ran twice, or one after it that did not run.
 */
export async function trySaboteur(
  { start, sessions }: Pick<SessionBench, 'start' | 'sessions'>,
  command: string,
  session: string,
  deadlineMs: number,
): Promise<string[]> {
  const faults: string[] = []
  async function attempt(text: string, more: Partial<RequestInput> = {}) {
    const started = await start(text, { session, ...more })
    const ended = await Promise.race([started.collected, delay(deadlineMs, null, { ref: false })])
    if (ended !== null) return ended
    faults.push(`not settled: ${text}`)
    await started.running.stop('timeout')
    return started.collected
  }
  const input = { stdin: { kind: 'text', text: 'some\nwords\nto read\n' } as const }
  const own = await attempt(`echo first; ${command}\necho last`, input)
  if (/\0|__nacre|run_[a-z2-7]{20}/.test(own.stdout.replace('\0run_x\0', ''))) {
    faults.push(`words of nacre's: ${JSON.stringify(own.stdout.slice(0, 200))}`)
  }
  if ((own.stdout.match(/^first$/gm)?.length ?? 0) > 1) faults.push('it ran more than once')
  for (const word of ['next', 'third']) {
    const { stdout, stderr, code, notices } = await attempt(`/bin/echo ${word}`)
    // What the command has made print at every other one is its own (a trap, an option).
    if (!stdout.split('\n').includes(word)) {
      faults.push(`${word}: ${JSON.stringify({ code, stdout, stderr, notices })}`)
    }
  }
  await sessions.close(session)
  return faults
}
