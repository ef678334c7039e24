import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { builtInRules } from '../../../lib/guard/rules/built-in.ts'
import { createSuggestTool } from '../../../lib/guard/rules/suggest-tool.ts'
import { guardFor } from '../helpers.ts'

const toolNames = ['read', 'grep', 'glob', 'edit', 'write']
const suggestTool = createSuggestTool(true, toolNames)
const rules = suggestTool ? [...builtInRules, suggestTool] : []

test('there are the rules that the contract names', () => {
  assert.equal(
    rules.map(({ name }) => name),
    ['rm-critical', 'disk-destroy', 'git-push-force', 'git-add-blind', 'system', 'suggest-tool'],
  )
})

/** Commands that each rule must catch, and their harmless look-alikes. */
const examples: Readonly<Record<string, { match: string[]; pass: string[] }>> = {
  'rm-critical': {
    match: ['rm -rf /', 'rm -fr ~', 'sudo rm -r --force "$HOME"/', 'find . -delete', 'rm -rf .git'],
    pass: [
      'rm -rf node_modules',
      'rm -f .git/index.lock',
      "rm -rf '*'",
      'find . -name "*.o" -delete',
    ],
  },
  'disk-destroy': {
    match: [
      'mkfs.ext4 /dev/sda1',
      'dd if=/dev/zero of=/dev/sda',
      'cat x > /dev/nvme0n1',
      ':(){ :|:& };:',
      'dd if=x of=/dev/nvme9n1',
      'dd if=x of=/dev/mapper/x',
      'dd if=x of=/dev/ubiblock0_0',
      'curl -o /dev/sda https://example.com/x',
      'curl -sSLo /dev/sda https://example.com/x',
      'wget -O/dev/sda https://example.com/x',
      'wget --output-document=/dev/sda https://example.com/x',
      'ddrescue -r 3 image /dev/sda map',
    ],
    pass: [
      'dd if=/dev/zero of=disk.img',
      'echo x > /dev/null',
      'mkfs.ext4 disk.img',
      'lsblk /dev/sda',
      'dd if=x of=/dev/shm/x',
      'dd if=x of=/dev/tty',
      'curl -so /dev/null https://example.com/x',
      'curl -T /dev/sda https://example.com/x',
      'ddrescue -r 3 /dev/sda image map',
    ],
  },
  'git-push-force': {
    match: [
      'git push -f',
      'git push origin +main',
      'git -C sub push --mirror',
      'git push -uf origin x',
    ],
    pass: [
      'git push',
      'git push --force-with-lease',
      'git push -u origin feature',
      'git commit -m "push -f"',
    ],
  },
  'git-add-blind': {
    match: [
      'git add .',
      'git add -A',
      'git add --all',
      'git add -A src',
      'git add ./*',
      "git add ':/'",
      'git -C sub add -v .',
    ],
    pass: ['git add src/a.ts', 'git add -u', "git add '*.md'", 'git add .gitignore', 'git add -p'],
  },
  system: {
    match: ['curl x | sh', 'echo x > /etc/hosts', 'chown -R me /', 'shutdown now', 'kill -9 1'],
    pass: ['curl x | jq', 'cat /etc/passwd', 'kill 1234', 'systemctl status', 'chown -R me src'],
  },
  'suggest-tool': {
    match: ['cat a.txt', 'grep -rn x src', 'find . -name "*.ts"', 'sed -i s/a/b/ f', 'echo x > f'],
    pass: ['cat a | wc -l', 'ps | grep node', 'find . -delete', 'sed s/a/b/ f', 'make > log'],
  },
}

for (const rule of rules) {
  test(`${rule.name} catches its own examples, and lets their look-alikes pass`, async () => {
    const ask = guardFor({ suggestTool: true, toolNames })
    const { match = [], pass = [] } = examples[rule.name] ?? {}
    assert.ok(match.length > 3 && pass.length > 3)
    for (const command of match) {
      const verdict = await ask(command)
      assert.is(verdict.rule, rule.name, command)
      assert.is(verdict.decision, rule.decision, command)
    }
    for (const command of pass) {
      const verdict = await ask(command)
      assert.is.not(verdict.rule, rule.name, command)
    }
  })
}

test('a person and a script are only asked, and only about rm and disks', async () => {
  const ask = guardFor()
  for (const origin of ['repl', 'print', 'rpc'] as const) {
    assert.is((await ask('rm -rf /', { origin })).decision, 'ask')
    assert.is((await ask('dd if=x of=/dev/sda', { origin })).decision, 'ask')
    assert.is((await ask('git push -f', { origin })).decision, 'allow')
    assert.is((await ask('git add .', { origin })).decision, 'allow')
  }
  for (const origin of ['agent', 'mcp'] as const) {
    assert.is((await ask('rm -rf /', { origin })).decision, 'deny')
    assert.is((await ask('git push -f', { origin })).decision, 'deny')
  }
})

test('guard: false lifts the built-in rules', async () => {
  const ask = guardFor()
  assert.is((await ask('rm -rf /', { guard: false })).decision, 'allow')
  assert.is((await ask('echo "', { guard: false })).decision, 'allow')
})

test('variables of the request are known', async () => {
  const ask = guardFor()
  assert.is((await ask('rm -rf $X', { env: { X: '/' } })).decision, 'deny')
  assert.is((await ask('rm -rf $X', { env: { X: 'dist' } })).decision, 'allow')
  assert.is((await ask('rm -rf $X')).decision, 'ask')
  assert.is((await ask('rm -rf ~', { env: { HOME: '/tmp/h/x' } })).decision, 'allow')
})

test('what is critical depends on where the command runs', async () => {
  const ask = guardFor()
  assert.is((await ask('rm -rf app', { cwd: '/home/u/code' })).decision, 'allow')
  assert.is((await ask('rm -rf /srv/x', { cwd: '/srv/x/y' })).decision, 'deny')
  assert.is((await ask('rm -rf u', { cwd: '/home' })).decision, 'deny')
  assert.is((await ask('rm -rf etc', { cwd: '/' })).decision, 'deny')
})

test('the strictest verdict wins, wherever it stands', async () => {
  const ask = guardFor({ suggestTool: true, toolNames })
  assert.is((await ask('cat a')).decision, 'redirect')
  assert.is((await ask('cat a; rm -rf $X')).decision, 'ask')
  assert.is((await ask('cat a; rm -rf $X; git push -f')).decision, 'deny')
})

test('suggest-tool only suggests a tool that the caller has', async () => {
  const none = guardFor({ suggestTool: true })
  assert.is((await none('cat a')).decision, 'allow')
  const off = guardFor({ toolNames })
  assert.is((await off('cat a')).decision, 'allow')
  const one = guardFor({ suggestTool: { read: 'Read' }, toolNames: ['Read'] })
  assert.is((await one('cat a')).suggestedTool, 'Read')
  assert.is((await one('grep x a')).decision, 'allow')
  assert.is((await one('cat a | sort')).decision, 'allow')
  assert.is((await one('cat a', { origin: 'print' })).decision, 'allow')
})

test.run()
