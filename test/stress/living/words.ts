import type { ShellName } from '../../helpers/own-shell.ts'

/** The same in the words of each shell. */
export interface Words {
  set: (value: string) => string
  get: string
  define: (value: string) => string
  fail: string
  die: string
  read: string
  pid: string
  loop: string[]
}

const posix: Words = {
  set: (value) => `x=${value}`,
  get: 'echo "x is $x"',
  define: (value) => `f() { echo "function ${value} $1"; }`,
  fail: '(exit 3)',
  die: 'kill -9 $$',
  read: 'read -r y; echo "got $y"',
  pid: 'echo "pid $$"',
  loop: ['for i in a b; do', 'echo $i', 'done'],
}

export const words: Record<ShellName, Words> = {
  bash: posix,
  zsh: posix,
  fish: {
    // By itself it leaves the status of the command before.
    set: (value) => `set -g x ${value}; true`,
    get: 'echo "x is $x"',
    define: (value) => `function f; echo "function ${value} $argv[1]"; end`,
    fail: 'sh -c "exit 3"',
    die: 'kill -9 $fish_pid',
    read: 'read y; echo "got $y"',
    pid: 'echo "pid $fish_pid"',
    loop: ['for i in a b', 'echo $i', 'end'],
  },
}
