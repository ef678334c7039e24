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
    ['rm-critical', 'disk-destroy', 'git-push-force', 'git-add-blind', 'suggest-tool'],
  )
})

for (const rule of rules) {
  test(`${rule.name} catches its own examples, and lets their look-alikes pass`, async () => {
    const ask = guardFor({ suggestTool: true, toolNames })
    assert.ok(rule.examples.match.length > 3 && rule.examples.pass.length > 3)
    for (const command of rule.examples.match) {
      const verdict = await ask(command)
      assert.is(verdict.rule, rule.name, command)
      assert.is(verdict.decision, rule.decision, command)
    }
    for (const command of rule.examples.pass) {
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
