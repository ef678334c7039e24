import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { compileUserRules } from '../../../lib/guard/rules/user-rules.ts'
import type { UserRule } from '../../../lib/protocol/rules.ts'
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
    toolNames: ['Fetch'],
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
    [{ match: 'x', decision: 'deny', notMatch: [' '] }, /`not_match` must not be blank/],
    [{ decision: 'deny' }, /`match` is missing/],
    [{ match: 'x', decision: 'deny', because: 'y' }, /Unknown key `because`/],
    [{ match: 'x', decision: 'redirect' }, /needs `suggested_tool`/],
    [{ match: 'x', decision: 'deny', raw: true }, /`raw` needs/],
    [{ match: 'x', decision: 'deny', notMatch: 3 }, /`notMatch` must be/],
    [{ match: '/x/g', decision: 'deny' }, /flags may be/],
    [{ match: 'x', decision: 'deny', examples: { match: 'x' } }, /`examples\.match` must be/],
    [
      { match: 'git-add-blind', decision: 'allow' },
      /is the name of a built-in rule, .*"lifts": "git-add-blind"/,
    ],
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

test('a pattern that looks like a regular expression and is not written as one is reported', () => {
  for (const match of ['^npm publish', 'npm publish$', 'npm .*', 'rm\\b', 'git (push|pull)']) {
    const { problems } = compileUserRules([{ name: 'p', match, decision: 'deny' }])
    assert.match(
      problems[0] ?? match,
      /^guard rule "p": .* looks like a regular expression.*`\/.+\/`\.$/,
    )
  }
  for (const match of [
    'npm publish',
    '/usr/bin/make all',
    'a.b',
    'x [y]',
    'echo $',
    './run.sh -v+',
  ]) {
    const { problems } = compileUserRules([{ match, decision: 'deny' }])
    assert.equal(problems, [], match)
  }
})

test('the examples of a rule are checked when it is read', async () => {
  const rule = (examples: UserRule['examples']): UserRule => ({
    name: 'pub',
    match: 'npm publish',
    decision: 'deny',
    ...(examples && { examples }),
  })
  const plain = rule({
    deny: ['sudo npm publish', 'npm pack'],
    allow: ['npm publish --dry-run', 'ls'],
  })
  assert.throws(
    () => guardFor({ rules: [plain] }),
    (error: unknown) =>
      error instanceof MisuseError &&
      error.message ===
        'guard rule "pub": it must match `npm pack`, and does not.\n' +
          'guard rule "pub": it must not match `npm publish --dry-run`, and does.',
  )
  const right = rule({
    match: ['npm publish', 'a && (npm publish)'],
    notMatch: ['echo "npm publish"'],
  })
  assert.is((await guardFor({ rules: [right] })('npm publish')).decision, 'deny')
  // Only the parser can read it: the first question is rejected.
  const ask = guardFor({ rules: [rule({ deny: ['ls && npm pack'] })] })
  for (const command of ['ls', 'ls | wc']) {
    const error: unknown = await ask(command).catch((fault: unknown) => fault)
    assert.instance(error, MisuseError)
    assert.match((error as MisuseError).message, /must match `ls && npm pack`/)
  }
})

test('a redirect fires only where the caller has the tool, and names it once', async () => {
  const rules: UserRule[] = [{ match: 'curl', decision: 'redirect', suggestedTool: 'fetch' }]
  assert.is((await guardFor({ rules })('curl x')).decision, 'allow')
  const { decision, reason, suggestedTool } = await guardFor({ rules, toolNames: ['fetch'] })(
    'curl x',
  )
  assert.equal([decision, suggestedTool], ['redirect', 'fetch'])
  assert.is(reason?.match(/fetch/g)?.length, 1, reason ?? '')
})

test('allow lifts a question and a redirect, for the command that it matches', async () => {
  const ask = guardFor({
    rules: [
      { match: 'git push', decision: 'ask' },
      { match: 'git push origin dev', decision: 'allow' },
      { match: 'rm -rf', decision: 'allow' },
      { match: 'cat', decision: 'allow' },
    ],
    suggestTool: true,
    toolNames: ['read'],
  })
  assert.is((await ask('git push origin main')).decision, 'ask')
  assert.is((await ask('git push origin dev')).decision, 'allow')
  assert.is((await ask('git push origin dev && git push')).decision, 'ask')
  assert.is((await ask('rm -rf $X')).decision, 'allow')
  assert.is((await ask('cat a')).decision, 'allow')
  assert.is((await ask('rm -rf /')).decision, 'deny', 'a denial stays')
  assert.is(
    (await ask('rm -rf /', { origin: 'print' })).decision,
    'ask',
    'and so does its question',
  )
})

test('lifts takes away the denials that it names, and no other', async () => {
  const ask = guardFor({
    rules: [{ match: '/^git /', decision: 'allow', lifts: 'git-push-force' }],
  })
  assert.is((await ask('git push --force')).decision, 'allow')
  assert.is((await ask('git add -A')).decision, 'deny')
  assert.is((await ask('git push --force; rm -rf /')).decision, 'deny')
  const both = guardFor({
    rules: [{ match: 'rm', decision: 'allow', lifts: ['rm-critical', 'git-add-blind'] }],
  })
  assert.is((await both('rm -rf ~')).decision, 'allow')
  assert.is((await both('git add .')).decision, 'deny')
  const denied = guardFor({
    rules: [
      { match: 'npm publish', decision: 'deny' },
      { match: 'npm', decision: 'allow', lifts: 'rm-critical' },
    ],
  })
  assert.is((await denied('npm publish')).decision, 'deny', "a user's denial stays")
  assert.match(
    compileUserRules([{ match: 'x', decision: 'allow', lifts: 'rm-critcal' }]).problems[0] ?? '',
    /`lifts` names "rm-critcal"; the built-in rules are rm-critical/,
  )
  assert.match(
    compileUserRules([{ match: 'x', decision: 'deny', lifts: 'rm-critical' }]).problems[0] ?? '',
    /is for rules whose decision is allow/,
  )
})

test('what an untrusted workspace says lifts nothing, and stops all the same', async () => {
  const ask = guardFor({
    rules: [
      { match: 'rm', decision: 'allow', lifts: 'rm-critical', untrusted: true },
      { match: 'npm publish', decision: 'deny', untrusted: true },
    ],
  })
  assert.is((await ask('rm -rf /')).decision, 'deny')
  assert.is((await ask('rm -rf $X')).decision, 'ask')
  assert.is((await ask('npm publish')).decision, 'deny')
})

test('guard.default makes a list of what is allowed', async () => {
  const rules: UserRule[] = [
    { match: 'npm test', decision: 'allow' },
    { match: 'ls', decision: 'allow' },
    { match: '/^echo [a-z]+$/', decision: 'allow' },
  ]
  const ask = guardFor({ rules, defaultDecision: 'deny' })
  for (const command of [
    'npm test',
    'ls -la | ls',
    'npm test && echo done',
    'ls 2>/dev/null',
    'x=1',
  ]) {
    assert.is((await ask(command)).decision, 'allow', command)
  }
  for (const command of [
    'npm run x',
    'ls; make',
    'ls $(make)',
    'ls > ~/.bashrc',
    '> file',
    'sudo ls',
    '/bin/l? x',
    '"$X" y',
    'eval ls',
    'echo a > b',
  ]) {
    const { decision, rule, reason } = await ask(command)
    assert.is(decision, 'deny', command)
    assert.is(rule, 'guard.default')
    assert.match(reason ?? '', /not among what the rules allow/)
  }
  assert.is((await ask('rm -rf /')).rule, 'rm-critical')
  assert.is.not((await ask('ls "')).decision, 'allow', 'what cannot be read is on no list')
  assert.is.not((await ask('ls "', { origin: 'print' })).decision, 'allow')
  const asking = guardFor({ rules, defaultDecision: 'ask' })
  assert.is((await asking('make')).decision, 'ask')
  assert.is((await asking('npm test')).decision, 'allow')
})

test('guard.default is for what no rule speaks of', async () => {
  const rules: UserRule[] = [
    { match: 'terraform', decision: 'ask' },
    { match: 'cat', decision: 'redirect', suggestedTool: 'read_file' },
  ]
  const ask = guardFor({ rules, defaultDecision: 'deny', toolNames: ['read_file'] })
  assert.is((await ask('terraform apply')).decision, 'ask')
  assert.is((await ask('cat x')).decision, 'redirect')
  assert.is((await ask('terraform apply; make')).decision, 'deny')
  const without = guardFor({ rules, defaultDecision: 'deny' })
  assert.is((await without('cat x')).decision, 'deny', 'advice that the caller cannot follow')
  const untrusted = rules.map((rule) => ({ ...rule, untrusted: true }))
  const tight = guardFor({ rules: untrusted, defaultDecision: 'deny' })
  assert.is((await tight('terraform apply')).decision, 'deny', 'a workspace tightens only')
})

test('a hostile pattern is given up, and the command is not allowed for it', async () => {
  const ask = guardFor({ rules: [{ name: 'slow', match: '/^(a+)+$/', decision: 'deny' }] })
  const { decision, rule, reason } = await ask(`${'a'.repeat(60)}!`)
  assert.equal([decision, rule], ['ask', 'unreadable'])
  assert.match(reason ?? '', /The pattern of the rule "slow" takes too long/)
  assert.is((await ask('aaaa')).decision, 'deny')
  const many = guardFor({ rules: [{ match: '/a*a*a*a*a*a*b$/', decision: 'allow' }] })
  assert.is((await many(`${'a'.repeat(5000)}; `.repeat(20))).decision, 'ask')
})

test('what is allowed by a pattern may not write files: each file is a question by itself', async () => {
  const rules = [{ match: '/^git /', decision: 'allow' }] as const
  const ask = guardFor({ rules, defaultDecision: 'ask' })
  for (const operator of ['>', '>>', '>|', '&>', '&>>', '<>', '2>', '>&']) {
    for (const target of ['/etc/passwd', 'out.txt']) {
      const { decision, rule, matched } = await ask(`git status ${operator} ${target}`, {
        isConfined: true,
      })
      assert.equal([decision, rule, matched], ['ask', 'guard.default', `> ${target}`], operator)
    }
  }
  for (const command of ['git status 2>&1 >/dev/null', 'git log < x', 'git diff 2>/dev/stderr']) {
    assert.is((await ask(command)).decision, 'allow', command)
  }
  const lax = guardFor({ rules })
  assert.is(
    (await lax('git status > /etc/passwd')).rule,
    'system',
    'nor is the other question lifted',
  )
  const both = guardFor({
    rules: [...rules, { match: '> out.txt', decision: 'allow' }],
    defaultDecision: 'deny',
  })
  assert.is((await both('git status >> out.txt')).decision, 'allow')
  assert.is((await both('git status > out.txt 2> other')).decision, 'deny')
})

test('in a list of what is allowed, a change of directory within the workspace needs no rule', async () => {
  const ask = guardFor({ rules: [{ match: 'ls', decision: 'allow' }], defaultDecision: 'deny' })
  const decision = async (command: string, workspace?: string) =>
    (await ask(command, { cwd: '/home/u/code/app', ...(workspace && { workspace }) })).decision
  for (const command of [
    'cd src && ls',
    'cd ./a/../b; ls',
    'cd src && cd .. && ls',
    'pushd a; ls',
  ]) {
    assert.is(await decision(command), 'allow', command)
  }
  for (const command of [
    'cd .. && ls',
    'cd /etc && ls',
    'cd $X && ls',
    'cd; ls',
    'cd - && ls',
    'cd src > x',
  ]) {
    assert.is(await decision(command), 'deny', command)
  }
  assert.is(await decision('cd .. && ls', '/home/u/code'), 'allow')
  const own = guardFor({ rules: [{ match: 'cd', decision: 'ask' }], defaultDecision: 'deny' })
  assert.is((await own('cd src')).rule, 'user-rule-1', 'a rule of the user stays')
})

test('a question says which rules would answer it, and those do', async () => {
  const options = {
    defaultDecision: 'ask',
    rules: [{ match: 'npm publish', decision: 'ask' }],
  } as const
  const ask = guardFor(options)
  const prefixes = async (command: string) => (await ask(command, { isConfined: true })).prefixes
  const cases = {
    'npm publish --tag x': ['npm publish'],
    'npm run build -- --watch': ['npm run build'],
    'git -C sub status': ['git -C sub status'],
    'cd src && make && ./run a b > out.txt': ['make', './run a b', '> out.txt'],
    'ls -l | wc -l': ['ls -l', 'wc -l'],
  }
  for (const [command, expected] of Object.entries(cases)) {
    assert.equal(await prefixes(command), expected, command)
    const rules = expected.map((match) => ({ match, decision: 'allow' }) as const)
    const verdict = await guardFor({ ...options, rules: [...options.rules, ...rules] })(command, {
      isConfined: true,
    })
    assert.is(verdict.decision, 'allow', command)
  }
  // What nobody knows could be anything, and what no rule lifts is not remembered.
  for (const command of [
    'rm -rf $X',
    '$X a',
    'git push --force',
    'curl x | sh',
    'ls ; base64 -d <<< bHM= | sh',
    // Nor is what takes a root, a home or a disk along.
    'chown -R me /',
    'ls ~/',
    'cat "$HOME"',
    'cat /dev/sd?',
    'ls /root/*',
  ]) {
    assert.is((await ask(command)).prefixes, undefined, command)
  }
})

test.run()
