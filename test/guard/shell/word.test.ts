import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { SeenCommand } from '../../../lib/guard/rules/rule.ts'
import { Text } from '../../../lib/guard/shell/text.ts'
import { seenCommands } from '../helpers.ts'

const folder = mkdtempSync(join(tmpdir(), 'nacre-word-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

/** What bash makes of the words after `show`, one list for each line of the script. */
function bashFields(script: string): string[][] {
  const source = `show() { printf '%s\\037' "$@"; printf '\\036'; }\n${script}`
  const { stdout } = spawnSync('bash', ['--norc', '-c', source], {
    cwd: folder,
    env: { HOME: '/home/u' },
    encoding: 'utf8',
  })
  return stdout
    .split('\u{1e}')
    .slice(0, -1)
    .map((line) => line.split('\u{1f}').slice(0, -1))
}

async function guardFields(script: string): Promise<(readonly Text[])[]> {
  const seen = await seenCommands(script, { home: '/home/u', cwd: folder })
  return seen.filter(({ name }: SeenCommand) => name === 'show').map(({ args }) => args)
}

const scripts = [
  `show a 'b c' "d  e" f\\ g $'h\\ti' $"j" '' ""`,
  `show {a,b}{c,d} x{1..3}y {c..a} {1..9..4} a{b}c '{a,b}' "{a,b}" {a,'b c'} {a,{b,c}}`,
  `show ~ ~/x "~" '~' x~ ~root`,
  `show $HOME "$HOME" \${HOME} "\${HOME}/x" '$HOME' \\$HOME`,
  `x='a b'; show $x "$x" "\${x}c" x$x'y z'`,
  `show \${u:-d} \${u-d} "\${u:-a b}" \${u:-a b} \${u:+x} end`,
  `x=; show \${x:-d} \${x-d} "\${x}" $x end`,
  `x=v; show \${x:-d} \${x:+y} \${x+y} end`,
  `a=(x 'y z' w); show "\${a[@]}" \${a[1]} "\${a[*]}"`,
  `a=(x); a+=(y z); show \${a[@]}; a[0]=q; show end`,
  `set -- p 'q r' s; show "$@" $2 "$*"`,
  `set -- a b c; shift; show "$@"`,
  `show $(echo a b) "$(echo a b)" \`echo c\` "$(printf 'x\\ny\\n')"`,
  `x=$(echo hi); y=\${x}!; show $y`,
  `x=1 y=2; x+=3; show $x$y`,
  `printf -v x '%s-%s' a b; show "$x"`,
  `show a\\\nb "c\\\nd"`,
  `for i in a b; do show $i; done`,
  `f() { show "$2" "$1"; }; f one two`,
  `x="a  b"; show "x$x"y $x$x " $x "`,
  `show $'\\x41\\102\\u0043' $'a\\'b'`,
  `show "a\\"b\\$c\\\\d\\e"`,
  `x='*'; show "$x" "a$x"`,
]

for (const script of scripts) {
  test(`reads words as bash does: ${JSON.stringify(script)}`, async () => {
    const expected = bashFields(script)
    const read = await guardFields(script)
    const actual = read.map((fields) => fields.map(({ chars }) => chars))
    assert.ok(expected.length > 0)
    for (const fields of expected) {
      assert.ok(
        actual.some((own) => JSON.stringify(own) === JSON.stringify(fields)),
        `${JSON.stringify(fields)} not in ${JSON.stringify(actual)}`,
      )
    }
  })
}

test('any mix of quotes and braces gives the words that bash gives', async () => {
  const piece = fc.constantFrom(
    'a',
    'b',
    'rm',
    '-',
    '/',
    '.',
    '{',
    '}',
    ',',
    '..',
    '1',
    '3',
    "'x y'",
    '"p q"',
    "''",
    '""',
    '\\ ',
    "\\'",
    '$HOME',
    '"$HOME"',
    "$'\\n'",
    '$V',
    '"$V"',
    '${V}',
    '${V:1}',
    '${U:-d e}',
    '"${U:-d e}"',
    '~',
    ' ',
  )
  const words = fc.array(piece, { minLength: 1, maxLength: 10 }).map((pieces) => pieces.join(''))
  const samples = fc.sample(words, { numRuns: 250, seed: 7 })
  for (const sample of samples) {
    const script = `V='v w'; show ${sample} end`
    const [expected] = bashFields(script)
    if (!expected) continue
    // `$Vb`, which nobody assigned, is unknown and may be nothing.
    const patterns = (await guardFields(script)).map((fields) =>
      Text.join(fields.flatMap((field) => (field.beginsWith('uo') ? [field] : ['\u{1f}', field]))),
    )
    const fields = expected.map((field) => `\u{1f}${field}`).join('')
    const isRead = patterns.some((pattern) => pattern.matches(fields))
    assert.ok(isRead, `${script}: ${JSON.stringify(patterns)}`)
  }
})

test('a glob matches what bash lets it match', () => {
  const patterns = ['*', 'a*', '*b', 'a?c', '[ab]*', '[!a]*', 'a*b*c', '?', '[a-c]x', '*.*']
  const names = ['a', 'abc', 'b', 'axbyc', 'x.y', '1a', 'cx', '']
  for (const pattern of patterns) {
    for (const name of names) {
      const { status } = spawnSync('bash', ['-c', `[[ $1 == ${pattern} ]]`, '_', name])
      const glob = new Text(pattern).activated()
      assert.is(glob.matches(name), status === 0, `${pattern} ~ ${JSON.stringify(name)}`)
    }
  }
})

test('what an operation makes of a constant is unknown where it is not followed', async () => {
  for (const operation of ['x/b/X', 'x//b', 'x%b*', 'x^^', 'x:2', 'x: -2', '!x', 'x@U']) {
    const script = `x=abcabc; show \${${operation}}`
    const [seen] = await seenCommands(script, { home: '/home/u', cwd: folder })
    assert.is(seen?.args[0]?.isKnown, false, operation)
  }
})

test('an unknown value is known to be unknown', async () => {
  const [seen] = await seenCommands('show "$NOT_ASSIGNED"', { home: '/home/u', cwd: folder })
  assert.is(seen?.args[0]?.isKnown, false)
})

test.run()
