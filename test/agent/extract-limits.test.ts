import { spawnSync } from 'node:child_process'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { extractLimits } from '../../lib/agent/extract-limits.ts'

/** What comes of the output when nacre applies the limits itself. */
const taken: [command: string, rest: string, limits: { head?: number; tail?: number }][] = [
  ['seq 100 | head -n 5', 'seq 100', { head: 5 }],
  ['seq 100 | head -5', 'seq 100', { head: 5 }],
  ['seq 100|head -n5', 'seq 100', { head: 5 }],
  ['seq 100 | head --lines=5', 'seq 100', { head: 5 }],
  ['seq 100 | tail -n 3', 'seq 100', { tail: 3 }],
  ['seq 100 | tail -3\n', 'seq 100', { tail: 3 }],
  ['seq 100 | head -20 | tail -5', 'seq 100', { head: 20, tail: 5 }],
  ['seq 100 | tail -20 | head -5', 'seq 100 | tail -20', { head: 5 }],
  ['seq 100 | head -20 | head -5', 'seq 100 | head -20', { head: 5 }],
  ['seq 100 | grep "1 \\| 2\\|5" | head -2', 'seq 100 | grep "1 \\| 2\\|5"', { head: 2 }],
  ["seq 100 | awk '{ print $1; }' | tail -2", "seq 100 | awk '{ print $1; }'", { tail: 2 }],
  ['seq 9 2>&1 | head -2', 'seq 9 2>&1', { head: 2 }],
  ['ls nowhere-at-all 2>/dev/null | head -2', 'ls nowhere-at-all 2>/dev/null', { head: 2 }],
  ['cd / && seq 9 | head -2', 'cd / && seq 9', { head: 2 }],
  ['A=1 seq 9 | head -2', 'A=1 seq 9', { head: 2 }],
  ['git --version | head -1', 'git --version', { head: 1 }],
  ['bash -c "seq 5" 2>&1 | tail -1', 'bash -c "seq 5" 2>&1', { tail: 1 }],
  ['echo "${HOME}" | head -1', 'echo "${HOME}"', { head: 1 }],
]

/** What is left as it is. */
const left: string[] = [
  'seq 5',
  'head -5 file',
  'seq 5 | head',
  // What they say of a missing file stands beside the pipe.
  'ls nowhere-at-all / | head -2',
  'cat nowhere-at-all /etc/hostname | tail -1',
  'bash -c "seq 5" | tail -1',
  'seq 5 | tail -n +2',
  'seq 5 | tail +2',
  'seq 5 | head -n -2',
  'seq 5 | head -c 5',
  'seq 5 | tail -f',
  'seq 5 | tail -f -n 3',
  'seq 5 | head -n 0',
  'seq 9 | head -n 010',
  'echo a#b | head -1',
  'cd "/tmp" && seq 9 | tail -2',
  'seq 5 | head -q -n 2',
  'seq 5 | head -n 2 -',
  'seq 5 | head "-2"',
  'seq 5 | head -$N',
  'seq 5 | head -2 > file',
  'seq 5 | head -2 2>&1',
  'seq 5 | head -2 &',
  'seq 5 | head -2; echo x',
  'seq 5 | head -2 && echo x',
  'echo x; seq 5 | head -2',
  'echo x && seq 5 | head -2',
  'false || seq 5 | head -2',
  'cd - && seq 5 | head -2',
  'cd sub && seq 5 | head -2',
  'cd $(pwd) && seq 5 | head -2',
  'cd / && cd /tmp && seq 5 | head -2',
  'echo x & seq 5 | head -2',
  'seq 5 |& head -2',
  'seq 5 || head -2',
  'echo x >| head -2',
  '(seq 5; seq 5) | head -2',
  '{ seq 5; seq 5; } | head -2',
  'echo $(seq 5 | head -2)',
  'echo "$(seq 5 | head -2)"',
  'echo `seq 5 | head -2`',
  "echo 'seq 5 | head -2",
  'echo "seq 5 | head -2"',
  "echo $'a\\'b' | head -2",
  'seq 5 # | head -2',
  'echo \\| head -2',
  'cat <<E | head -2\na\nE',
  'cat <<< x | head -2',
  'seq 5\nseq 5 | head -2',
  'seq 5 \\\n| head -2',
  'set -o pipefail; seq 5 | head -2',
  'for i in 1 2; do seq 5 | head -2; done',
  'while read x; do echo $x; done | head -2',
  'if true; then seq 5; fi | head -2',
  'f() { seq 5 | head -2; }',
  '! seq 5 | head -2',
  'time seq 5 | head -2',
  'yes | head -2',
  'yes | grep y | head -2',
  'cat /dev/urandom | head -2',
  'head -c 5 /dev/zero | tail -2',
  'tail -f log | head -2',
  'tail -F log | grep x | head -2',
  "python3 -c 'while True: print(1)' | head -3",
  './serve | head -2',
  'go run . | head -5',
  "awk 'BEGIN { while (1) print }' | head -3",
  '| head -2',
  'seq 5 | | head -2',
  '',
]

const linesOf = (text: string) => text.split(/(?<=\n)/).filter((line) => line !== '')
const bash = (command: string) => spawnSync('bash', ['-c', command], { encoding: 'utf8' }).stdout

for (const [command, rest, limits] of taken) {
  test(`takes the limits off: ${JSON.stringify(command)}`, () => {
    assert.equal(extractLimits(command), { shellCommand: `${rest} | tee`, ...limits })
    const first = linesOf(bash(rest)).slice(0, limits.head ?? Infinity)
    const text = first.slice(-(limits.tail ?? first.length)).join('')
    assert.is(text, bash(command), 'the text is what bash gives for the whole command')
  })
}

for (const command of left) {
  test(`leaves as it is: ${JSON.stringify(command)}`, () => {
    assert.is(extractLimits(command), null)
  })
}

test.run()
