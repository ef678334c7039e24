import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { checkUserRules } from '../../../lib/guard/check-user-rules.ts'
import { compileUserRules } from '../../../lib/guard/rules/user-rules.ts'
import type { UserRule } from '../../../lib/protocol/user-rule.ts'
import { MisuseError } from '../../../lib/protocol/errors.ts'
import { guardFor } from '../helpers.ts'

test('a prefix is compared word by word, at any depth and behind wrappers', async () => {
  const ask = guardFor({ rules: [{ match: 'npm publish', decision: 'deny', reason: 'Never.' }] })
  for (const command of [
    'npm publish',
    'npm  publish --tag next',
    'sudo npm publish',
    'ls && (FOO=1 npm "publish")',
    '/usr/bin/npm publish',
    "bash -c 'npm publish'",
  ]) {
    const verdict = await ask(command)
    assert.is(verdict.decision, 'deny', command)
    assert.is(verdict.reason, 'user-rule-1: Never.')
  }
  for (const command of ['npm publisher', 'echo npm publish', 'npm pack', '# npm publish']) {
    assert.is((await ask(command)).decision, 'allow', command)
  }
})

test('a regular expression, with exceptions, a name and a suggested tool', async () => {
  const ask = guardFor({
    rules: [
      {
        name: 'no-curl',
        match: '/^(curl|wget) /',
        notMatch: ['/localhost/', 'curl --version'],
        decision: 'redirect',
        suggestedTool: 'fetch',
      },
    ],
  })
  const verdict = await ask('curl https://example.com')
  assert.is(verdict.decision, 'redirect')
  assert.is(verdict.rule, 'no-curl')
  assert.is(verdict.suggestedTool, 'fetch')
  assert.is((await ask('curl http://localhost:1')).decision, 'allow')
  assert.is((await ask('curl --version')).decision, 'allow')
})

test('raw looks at the text as it was given', async () => {
  const ask = guardFor({ rules: [{ match: '/TODO/', raw: true, decision: 'ask' }] })
  assert.is((await ask('ls # TODO')).decision, 'ask')
  assert.is((await ask('ls')).decision, 'allow')
})

test('user rules hold for everyone, and with guard: false too', async () => {
  const ask = guardFor({ rules: [{ match: 'git push', decision: 'deny' }] })
  assert.is((await ask('git push', { origin: 'repl' })).decision, 'deny')
  assert.is((await ask('git push', { guard: false })).decision, 'deny')
})

test('a user rule never loosens a built-in one', async () => {
  const ask = guardFor({ rules: [{ match: 'rm', decision: 'allow' }] })
  assert.is((await ask('rm -rf /')).decision, 'deny')
})

test('a wrong rule is reported by name with one sentence, and never skipped', () => {
  const wrong: [rule: unknown, problem: RegExp][] = [
    [
      { name: 'a', match: '/(/', decision: 'deny' },
      /^guard rule "a": .*no valid regular expression/,
    ],
    [{ match: 'x', decision: 'forbid' }, /^guard rule 1: `decision` must be one of/],
    [{ match: '', decision: 'deny' }, /`match` must be/],
    [{ match: 'x', decision: 'deny', because: 'y' }, /`because` is not a key/],
    [{ match: 'x', decision: 'redirect' }, /needs `suggestedTool`/],
    [{ match: 'x', decision: 'deny', raw: true }, /`raw` needs/],
    [{ match: 'x', decision: 'deny', notMatch: 3 }, /`notMatch` must be/],
    [{ match: '/x/g', decision: 'deny' }, /flags may be/],
    [{ match: 'x', decision: 'deny', examples: { match: 'x' } }, /`examples` must be/],
    ['x', /must be an object/],
  ]
  for (const [rule, problem] of wrong) {
    const { rules, problems } = compileUserRules([rule])
    assert.is(rules.length, 0)
    assert.is(problems.length, 1)
    assert.match(problems[0] ?? '', problem)
    assert.not.match(problems[0] ?? '', /\n/)
    assert.throws(
      () => guardFor({ rules: [rule as UserRule] }),
      (error: unknown) => error instanceof MisuseError && error.message === problems[0],
    )
  }
  assert.equal(compileUserRules({}).problems, ['guard.rules: it must be a list of rules.'])
})

test('the examples of a rule are checked', async () => {
  const rule = {
    name: 'pub',
    match: 'npm publish',
    decision: 'deny',
    examples: {
      match: ['sudo npm publish', 'npm pack'],
      notMatch: ['npm publish --dry-run', 'ls'],
    },
  }
  assert.equal(await checkUserRules([rule]), [
    'guard rule "pub": it must match `npm pack`, and does not.',
    'guard rule "pub": it must not match `npm publish --dry-run`, and does.',
  ])
  assert.equal(await checkUserRules([{ match: 'x', decision: 'deny' }]), [])
})

test.run()
