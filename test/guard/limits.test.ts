import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createGuard } from '../../lib/guard/guard.ts'
import { limits } from '../../lib/protocol/limits.ts'
import { parseRequest } from '../../lib/protocol/request/parse-request.ts'
import { cwd, guardFor, home, readTable } from './helpers.ts'

const ask = guardFor()
const nested = (depth: number): string => {
  let script = 'rm -rf /'
  for (let level = 0; level < depth; level++) script = `sh -c '${script.replaceAll("'", "'\\''")}'`
  return script
}

test('nested scripts are read to a depth of eight, and asked about beyond', async () => {
  for (const depth of [1, 4, 8])
    assert.is((await ask(nested(depth))).decision, 'deny', String(depth))
  const { decision, rule } = await ask(nested(9))
  assert.is(decision, 'ask')
  assert.is(rule, 'unreadable')
})

test('a command has one limit, whoever asks, and the guard reads it to its end', async () => {
  const longest = 'a'.repeat(limits.commandChars)
  assert.is((await ask(longest)).decision, 'allow')
  assert.is((await ask(`: ${longest}\nrm -rf /`)).decision, 'deny')
  for (const origin of ['agent', 'rpc', 'print'] as const) {
    assert.is(parseRequest({ command: longest, origin }, { cwd: '/' }).command, longest)
    assert.throws(() => parseRequest({ command: `${longest}a`, origin }, { cwd: '/' }), /file/)
  }
})

test('a file of 250 KB is written by a here-document, and what comes after it is read', async () => {
  const text = 'const answer = compute({ a: 1 }) && `${x}` // and more\n'.repeat(4500)
  const command = `cat > notes.txt <<'END'\n${text}END\n`
  assert.is((await ask(command)).decision, 'allow')
  assert.is((await ask(`${command}rm -rf /`)).decision, 'deny')
})

test('a command of 40,000 words is read within the time limit of this file', async () => {
  assert.is((await ask(`rm -rf ${'word '.repeat(40_000)} /`)).decision, 'deny')
})

test('the hundredth subcommand is read like the first', async () => {
  assert.is((await ask(`${'ls; '.repeat(2000)} rm -rf /`)).decision, 'deny')
  assert.is((await ask(`${'ls && '.repeat(500)} git push -f`)).decision, 'deny')
  assert.is((await ask(`${'ls; '.repeat(9000)} rm -rf /`)).decision, 'deny')
  assert.is((await ask(`${'ls; '.repeat(30_000)} rm -rf /`)).decision, 'ask')
})

// The deadline is that of this file: each of them took minutes, in which nacre could not be ended.
for (const [name, part] of Object.entries({
  'a value that grows in loops': 'for a in 1 2 3; do for b in 1 2; do x=$x$a; x=$x$b; done; done\n',
  'folders that may have been entered': 'cd a || cd b\n',
  'a variable in each of many branches': '[[ a ]] || v%=1\n',
  'parameters that double': 'if a; then set -- "$@" "$@"; fi\n',
})) {
  test(`comes to an end on ${name}`, async () => {
    const count = Math.floor(limits.commandChars / (part.length + 4))
    const lines = Array.from({ length: count }, (_, index) => part.replace('%', `${index}`))
    const { decision, rule } = await ask(`set -- a b\n${lines.join('')}`)
    assert.equal([decision, rule], ['ask', 'unreadable'])
  })
}

test('a word of more brace groups than are read is asked about', async () => {
  const command = (word: string) =>
    `rm -rf ${word.repeat(Math.floor(limits.commandChars / 4))} /tmp/x`
  for (const word of ['{a}', '{}']) {
    assert.is((await ask(command(word))).decision, 'ask')
  }
})

test('many roots and names of a search are not put together', async () => {
  const search = `find ${'a '.repeat(30_000)} \\( ${'-name a -o '.repeat(10_000)} -name b \\) -delete`
  assert.is((await ask(search)).decision, 'ask')
})

test('no limit lets a command through unread', async () => {
  const words = Array.from({ length: 400 }, (_, index) => `w${index}`).join(' ')
  const blanks = ' '.repeat(9000)
  for (const command of [
    `for c in ${words} 'rm -rf /'; do $c; done`,
    `for c in ${words} 'rm -rf /'; do eval "$c"; done`,
    `for d in ${words} /; do rm -rf "$d"; done`,
    `x='${blanks}rm -rf /'; eval "$x"`,
    `echo '${blanks}${blanks}rm -rf /' | sh`,
    `printf '%s\n' ${words} 'rm -rf /' | sh`,
    `a=(${words} ${words} ${words} 'rm -rf /'); for c in "\${a[@]}"; do $c; done`,
    `printf '%s\n' ${words} ${words} / | xargs rm -rf`,
    `f() { :; }; ${'f; '.repeat(3000)} f; ${'$X -a; '.repeat(1500)} rm -rf /`,
    `{rm,-rf,${'/,'.repeat(300)}/}`,
  ]) {
    assert.is.not((await ask(command)).decision, 'allow', command.slice(0, 60))
  }
})

test('a parse error hides no denial: what bash runs before it, and what only the parser refuses', async () => {
  for (const command of [
    'rm -rf /\necho "',
    'if true; then rm -rf /',
    'bash <<EOF\nrm -rf /',
    'git add -A && git commit -m "it',
    'find / -delete\necho $(',
  ]) {
    assert.is((await ask(command)).decision, 'deny', command)
  }
  for (const command of ['echo "\nrm -rf ~', 'echo "\nr\\m x', "echo \"\ngit 'push' -f x"]) {
    assert.is((await ask(command)).decision, 'ask', command)
  }
  for (const { command } of readTable<{ command: string }>('dangerous.jsonl')) {
    const { decision } = await ask(`for i in 1; do\n${command}`)
    assert.is.not(decision, 'allow', command)
  }
})

test('a rule of the user holds for a text that cannot be parsed', async () => {
  const stopped = guardFor({ rules: [{ match: 'npm publish', decision: 'deny' }] })
  assert.is((await stopped('echo "\nnpm publish')).decision, 'ask')
  assert.is((await stopped('echo "')).decision, 'allow')
})

test('marks of the guard in the input mean nothing', async () => {
  assert.is((await ask('rm -rf \uF8E0')).decision, 'allow')
  assert.is((await ask('\uF8E2 -rf /')).decision, 'allow')
})

const repeated = [
  '$(',
  '`',
  '"$(',
  '{a,',
  '(',
  '$((',
  '${a:-',
  'cat <<A\n',
  '<(',
  'f(){ ',
  'a[$(',
  '@(',
  'a;',
  'a&&',
  'a|',
  'x=$x$x;',
  'for i in a b;do ',
  '*',
  'eval eval ',
  'sudo ',
  'find . -exec ',
  'xargs ',
  'f(){ f x; };f;',
  'a+=(1 2);',
  '${x%%*a}',
  "sh -c '",
  'cd a;',
  'if a;then x=1;else x=2;fi;',
  '[[ a && ',
  '{1..99999}',
  '{a,b}',
  'timeout 5 env nice ',
  '$x',
  '\\',
  'while read x; do ',
  'case a in a) ',
  "trap 'ls' EXIT;",
  'alias a="b b";',
  'echo "$x" | ',
]

for (const part of repeated) {
  test(`comes to an end on many of ${JSON.stringify(part)}`, async () => {
    const verdict = await ask(part.repeat(Math.floor(6000 / part.length)))
    assert.ok(['allow', 'ask'].includes(verdict.decision))
  })
}

test('any text at all gets a verdict', async () => {
  const word = fc.constantFrom(
    'rm',
    '-rf',
    '/',
    ' ',
    '$(',
    ')',
    '"',
    "'",
    '`',
    ';',
    '|',
    '&',
    '{',
    '}',
    '\n',
    '$x',
    '${',
    'if',
    'do',
    '<<',
    'E',
    '>',
    'git',
    'add',
    '.',
    '*',
    '~',
    '\\',
    '=',
    'find',
    '-exec',
    'sudo',
    'eval',
    'xargs',
    '-c',
    'sh',
    '[',
    ']',
    '(',
    '#',
    '!',
  )
  const text = fc.oneof(
    fc.string(),
    fc.array(word, { maxLength: 30 }).map((words) => words.join(' ')),
    fc.array(word, { maxLength: 30 }).map((words) => words.join('')),
  )
  await fc.assert(
    fc.asyncProperty(text, async (command) => {
      const verdict = await ask(command)
      assert.ok(['allow', 'ask', 'deny'].includes(verdict.decision))
      assert.is(verdict.decision === 'allow', verdict.rule === null)
    }),
    { numRuns: 500, seed: 11 },
  )
})

test('a plain command is answered at once, without the parser', () => {
  const guard = createGuard({ home })
  const question = {
    command: 'sudo rm -rf /usr',
    origin: 'agent',
    cwd,
    env: {},
    guard: true,
  } as const
  const verdict = guard(question)
  assert.not.instance(verdict, Promise)
  assert.instance(guard({ ...question, command: 'ls | wc' }), Promise)
})

const characters = [
  ...repeated,
  'a',
  ' ',
  '\n',
  '[',
  ']',
  "'",
  '"',
  '#',
  '!',
  '~',
  '>',
  '<',
  '|',
  '&',
  ')',
]

test('256 KiB of anything get a verdict in a bounded time', async () => {
  // The deadline is that of this file: what is bounded by nothing would not end before it.
  const long = fc
    .tuple(fc.array(fc.constantFrom(...characters), { minLength: 1, maxLength: 4 }), fc.boolean())
    .map(([parts, isClosed]) => {
      const part = parts.join('')
      const text = part.repeat(Math.floor(limits.commandChars / part.length))
      return isClosed ? text : `rm -rf ${text.slice(7)}`
    })
  await fc.assert(
    fc.asyncProperty(long, async (command) => {
      const { decision } = await ask(command)
      assert.ok(['allow', 'ask', 'deny'].includes(decision))
    }),
    { numRuns: 5, seed: 3 },
  )
})

test.run()
