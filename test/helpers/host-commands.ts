import { spawnSync } from 'node:child_process'
import { until } from './until.ts'

/** Commands whose output, status and signal are to be the same on every kind of host as in a shell here. */
export const hostCommands: readonly string[] = [
  'echo out; echo err >&2; exit 3',
  'printf "no newline"',
  'printf "a\\0b\\377c" | od -c',
  'cat',
  'seq 1 20000 | tail -n 2',
  'kill -TERM $$',
  'kill -SEGV $$',
  'exit 143',
  'trap "echo heard; exit 5" INT; kill -INT $$',
  'echo "it\'s" `echo x` $((1+2)) \\\\ !x',
  'nosuchprogram 2>/dev/null',
  'if true; then echo yes; fi; false',
  'test -t 0 || echo no terminal',
  'sh -c "exit 9"; echo $?',
  '(echo from a subshell; exit 4)',
  'x=1; f() { echo "f $x $1"; }; f a; unset x; f b',
  'cat <<END\nhere $((6*7))\nEND',
  'set -e; false; echo not reached',
  'echo one; echo two | cat >&2; echo three',
  'seq 1 300000 | md5sum; seq 1 300000 | tail -c 100',
]

/** What programs may do with their outputs on every kind of host. Node gives its own children sockets, which do not. */
export const outputProbe = {
  command:
    'echo err >/dev/stderr; echo out >/dev/stdout; echo both | tee /dev/stderr; cat /dev/stdin',
  stdout: 'out\nboth\n',
  stderr: 'err\nboth\n',
} as const

/** Ways in which what a command starts leaves it; each sleeps for its own number of seconds. */
const escapes: readonly { name: string; start: (seconds: string) => string }[] = [
  { name: 'a group of its own', start: (s) => `sh -mc 'sleep ${s} & wait' &` },
  { name: 'a session of its own', start: (s) => `setsid sleep ${s} &` },
  { name: 'forked twice', start: (s) => `(setsid sh -c 'sleep ${s} &' &)` },
  { name: 'deaf to TERM', start: (s) => `(trap '' TERM; setsid sleep ${s} &)` },
  {
    name: 'a service in a loop',
    start: (s) => `setsid sh -c 'trap : TERM; while :; do sleep ${s}; done' &`,
  },
  { name: 'without its environment', start: (s) => `env -i /bin/sleep ${s} &` },
  { name: 'a daemon without its environment', start: (s) => `env -i setsid /bin/sleep ${s} &` },
]

/**
 * Starts all of them, stops the command, and gives the names of those that are alive then. `run` gets a
 * signal that aborts when all have begun; one that ends by its own deadline may end before.
 */
export async function tryEscapes(
  first: number,
  run: (command: string, allBegan: AbortSignal) => Promise<unknown>,
): Promise<string[]> {
  // Others may run these tests on this machine too.
  const secondsOf = (index: number) => `${first + index}.${process.pid}`
  const find = (index: number, program: string) => {
    const pattern = `${program} ${secondsOf(index).replace('.', '[.]')}$`
    const { stdout } = spawnSync('pgrep', ['-f', pattern], { encoding: 'utf8' })
    return stdout
      .split('\n')
      .filter((pid) => pid !== '')
      .map(Number)
  }
  const hasBegun = (index: number) => find(index, '^(/bin/)?sleep').length > 0
  const began = new AbortController()
  let isOver = false
  const started = escapes.map(({ start }, index) => start(secondsOf(index)))
  const ended = run([...started, `sleep ${secondsOf(escapes.length)}`].join('\n'), began.signal)
  const over = ended.finally(() => (isOver = true))
  over.catch(() => undefined)
  await until(() => isOver || escapes.every((_, index) => hasBegun(index)))
  began.abort()
  await over
  const living = escapes.map(({ name }, index) => ({ name, pids: find(index, 'sleep') }))
  for (const pid of living.flatMap(({ pids }) => pids)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended since.
    }
  }
  return living.filter(({ pids }) => pids.length > 0).map(({ name }) => name)
}
