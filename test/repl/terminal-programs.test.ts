import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { wantsTerminal } from '../../lib/modes/repl/terminal-programs.ts'

const yes = [
  'vim x',
  '/usr/bin/vim x',
  'EDITOR=x git commit',
  'git commit --amend',
  'git rebase -i HEAD~3',
  'git log | less',
  'cd x && top',
  'sudo ls',
  'ssh host ls',
  'python3',
  'docker run -it alpine sh',
  'git add -p',
]
const no = [
  'ls',
  'echo vim',
  "echo '; vim'",
  'vim --version',
  'git commit -m "a message"',
  'git commit --fixup HEAD',
  'git commit -am x',
  'python3 script.py',
  'echo 1 | python3',
  'docker run alpine ls',
  'git status',
  'grep less file',
]

for (const command of yes) {
  test(`${command} wants a terminal`, () => assert.ok(wantsTerminal(command)))
}
for (const command of no) {
  test(`${command} does without`, () => assert.not.ok(wantsTerminal(command)))
}

test.run()
