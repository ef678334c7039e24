import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { isUnfinished } from '../../../lib/repl/line/command-text.ts'

const unfinished = [
  'echo "a',
  "echo 'a",
  'echo a \\',
  'for i in 1 2',
  'while read -r line',
  'for ((i = 0; i < 3; i++))',
  'f()',
  'for i in 1 2; do',
  'for i in 1 2\ndo echo $i',
  'while true; do echo a;',
  'if true; then echo a',
  'case $x in',
  'f() {',
  'cat <<END\na',
  'cat <<-"END"\n\tEN',
  'echo $(date',
  'a &&',
  'a |',
  'a ||',
  'echo ${x',
]
const finished = [
  'ls',
  'echo "a\nb"',
  'for i in 1 2; do echo $i; done',
  'if true; then echo a; fi',
  'case $x in a) echo;; esac',
  'f() { echo a; }',
  'cat <<END\na\nEND',
  'cat <<-END\n\ta\n\tEND',
  'cat <<<word',
  'echo $(date) `date` ${x:-a}',
  'echo do if done',
  'echo it # that"s it',
  'echo }',
  'a & b',
  'echo a#b"',
].slice(0, -1)

for (const command of unfinished) {
  test(`goes on: ${JSON.stringify(command)}`, async () =>
    assert.ok(await isUnfinished(command, 'bash')))
}
for (const command of finished) {
  test(`is whole: ${JSON.stringify(command)}`, async () =>
    assert.not(await isUnfinished(command, 'bash')))
}

test('zsh has loops without do, and braces that close behind any word', async () => {
  assert.not(await isUnfinished('f() { echo a }', 'zsh'))
  assert.ok(await isUnfinished('f() { { echo a }', 'zsh'))
  assert.ok(await isUnfinished('f() { echo a }', 'bash'))
  assert.ok(await isUnfinished('for i in 1 2', 'zsh'))
  assert.not(await isUnfinished('for i in 1 2; echo $i', 'zsh'))
  assert.not(await isUnfinished('for i in 1 2; do echo $i; done', 'zsh'))
})

test('fish ends its blocks by end', async () => {
  assert.ok(await isUnfinished('for i in 1 2', 'fish'))
  assert.ok(await isUnfinished('if test 1; echo "a"', 'fish'))
  assert.not(await isUnfinished('for i in 1 2; echo $i; end', 'fish'))
  assert.not(await isUnfinished('echo end', 'fish'))
  assert.ok(await isUnfinished("echo 'a", 'fish'))
})

test.run()
