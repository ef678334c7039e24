import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { SeenCommand } from '../../lib/guard/rules/rule.ts'
import { Text, unknown } from '../../lib/guard/shell/text.ts'
import { seenCommands } from './helpers.ts'

/**
 * Scripts are mutated and really run by a restricted bash, in an empty folder, where every program is
 * a stub that notes its arguments: `bash -r` starts nothing by path, writes no file by redirection
 * and keeps its PATH. What ran must be among what the guard saw, or the guard must doubt the script.
 */
const runs = Number(process.env['NACRE_FUZZ_RUNS'] ?? 200)
const seed = Number(process.env['NACRE_FUZZ_SEED'] ?? 20_261)

const root = mkdtempSync(join(tmpdir(), 'nacre-fuzz-'))
process.once('exit', () => rmSync(root, { recursive: true, force: true }))
const stubs = join(root, 'stubs')
const empty = join(root, 'empty')
const log = join(root, 'log')
const names = ['hit', 'rm', 'git', 'dd', 'ls', 'cat', 'r', 'm', 'a', 'b', 'x']
mkdirSync(stubs)
mkdirSync(empty)
const stub = join(root, 'stub')
// One write a call, so that the lines of a pipeline do not mix.
writeFileSync(
  stub,
  `#!/bin/sh\nprintf '%s\\036' "$(printf '%s\\037' "\${0##*/}" "$@")" >> '${log}'\n`,
)
chmodSync(stub, 0o755)
for (const name of names) symlinkSync(stub, join(stubs, name))

const seeds = [
  `hit a 'b c' "d $x" e\\ f`,
  `x=rm; $x -rf a && hit "$x" || hit b; hit c`,
  `hit $(echo a b) "$(hit inner; echo c)" \`hit tick\``,
  `for i in a 'b c' {d,e}; do hit $i "$i"; done`,
  `if hit cond; then hit then; else hit else; fi`,
  `case a in a|b) hit one;; *) hit two;; esac`,
  `f() { hit "$@" $1; local y=$2; hit $y; }; f p 'q r'; f s`,
  `set -- u 'v w'; hit "$@" $*; shift; hit $1`,
  `a=(k 'l m' n); hit "\${a[@]}" \${a[1]} \${#a[@]}; a+=(o); hit "\${a[*]}"`,
  `hit \${x:-def} \${y:=as} "$y" \${z:+no} \${y%s} \${y#a}`,
  `hit $'a\\x62' $"loc" ~ "~" {1..3} a{,b}`,
  `eval "hit ev 'a b'"; eval hit ev2 \\$y`,
  `hit <<< "here $(hit sub)"; hit << E\n$(hit doc) text\nE\nhit after`,
  `hit << 'E'\n$(hit not)\nE\nhit after`,
  `(hit sub1; hit sub2) | hit pipe | { hit brace; }`,
  `! hit neg; hit a; hit b # hit comment\nhit next`,
  `x=1 y=2 hit env; hit $((1+2)) $[3] $(( $(hit ar; echo 1) ))`,
  `command hit cmd; builtin echo x; exec 2>&1; type hit`,
  `[[ a == a && -n $(hit test) ]] && hit yes; ((1)) && hit arith`,
  `while hit loop; do break; done; until hit un; do :; done`,
  `trap 'hit trapped $x' EXIT; x=late; hit body`,
  `printf -v v '%s-%s' a b; hit $v; read p q <<< 'one two'; hit $q`,
  `alias z='hit aliased'; r"m" a; "h"it x; hi\\\nt y; \\hit z`,
  `hit a&&hit b||hit c;hit d|hit e`,
  `IFS=,; v=a,b; hit $v; unset v; hit "$v" end`,
  `function g { hit in-g $#; }; g; g a b`,
  `{ hit x; hit y; }; hit \${a[$(hit index)]} $HOME "\${HOME}/x"`,
  `select s in a; do hit sel; break; done <<< 1; hit done`,
  `cat <(hit ps1) <(hit ps2); hit >(hit ps3)`,
  `x="hit quoted"; $x; "$x"; \${x} tail`,
]
const splices = [
  '"',
  "'",
  '`',
  '$(',
  ')',
  '(',
  '{',
  '}',
  ';',
  '\n',
  ' ',
  '\\',
  '|',
  '&&',
  '||',
  '#',
  '$',
  '$x',
  '"$y"',
  '${x:-r}',
  '<<< a',
  ' hit s ',
  '$(hit t)',
  '`hit u`',
  "$'\\n'",
  '{a,b}',
  '*',
  '!',
  'do',
  'done',
  'fi',
  'then',
  'esac',
  'in',
  '=',
  'x=',
  '~',
  '<(hit v)',
  '[[ ',
  ' ]]',
  '((',
  '))',
  'eval ',
  '\t',
  '<< E\n',
  '\nE\n',
  "''",
  '2>&1',
  '${',
  '"$(',
  ')"',
]

function random(state: number): () => number {
  let value = state
  return () => {
    value = (value + 0x6d_2b_79_f5) | 0
    let mixed = Math.imul(value ^ (value >>> 15), 1 | value)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

function mutate(next: () => number): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T
  let text = pick(seeds)
  if (next() < 0.3) text += `${pick(['; ', '\n', ' && ', ' | '])}${pick(seeds)}`
  const rounds = Math.floor(next() * 4)
  for (let round = 0; round < rounds; round++) {
    const at = Math.floor(next() * (text.length + 1))
    const kind = next()
    if (kind < 0.55) text = text.slice(0, at) + pick(splices) + text.slice(at)
    else if (kind < 0.8) text = text.slice(0, at) + text.slice(at + 1 + Math.floor(next() * 3))
    else {
      const from = Math.floor(next() * text.length)
      text = text.slice(0, at) + text.slice(from, from + 8) + text.slice(at)
    }
  }
  return text
}

/** A lone `&` would outlive its script, and what it runs would be counted to the next one. */
const isRunnable = (script: string): boolean =>
  !/(?<![&>])&(?![&\d])/.test(script) && !/coproc|kill|:\s*\(\)/.test(script)

function mayBe({ words }: SeenCommand, call: readonly string[]): boolean {
  const text = call.join('\u{1f}')
  // Where nothing comes of an unknown word, there is no word.
  const pattern = Text.join(
    words.flatMap((word, at) => (at === 0 || word.beginsWith('uo') ? [word] : ['\u{1f}', word])),
  )
    // bash counts these descriptors down, and joins what the parser takes for words of their own.
    .replace(/\u{1f}?\/dev\/fd\/\d+\u{1f}?/gu, () => unknown)
    // A user that does not exist has no home: the word stays.
    .replace(/\/home\/(?!u\b)[\w.-]+/g, () => unknown)
  if (pattern.matches(text)) return true
  // A glob that finds nothing stays.
  if (pattern.withoutGlobs().matches(text)) return true
  // Above a limit all readings of a word stand in one command.
  const isFlat = words.length > call.length + 5
  return isFlat && call.every((word) => words.some((own) => own.matches(word)))
}

function whatRan(script: string): string[][] {
  writeFileSync(log, '')
  spawnSync('/bin/bash', ['--norc', '--noprofile', '-r', '-c', `ulimit -t 1\n${script}`], {
    cwd: empty,
    env: { PATH: stubs, HOME: '/home/u', FUNCNEST: '4' },
    // Read to the end: until the last process of the script is gone. An endless loop uses up its
    // second of processor time.
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return readFileSync(log, 'utf8')
    .split('\u{1e}')
    .slice(0, -1)
    .map((call) => call.split('\u{1f}').slice(0, -1))
}

test('every command that a mutated script starts is seen, or the script is in doubt', async () => {
  const next = random(seed)
  let ran = 0
  const missed: string[] = []
  for (let run = 0; run < runs; run++) {
    const script = mutate(next)
    if (!isRunnable(script)) continue
    const doubts: string[] = []
    const seen = await seenCommands(script, { home: '/home/u', cwd: empty }, doubts)
    const calls = whatRan(script)
    ran += calls.length
    if (doubts.length > 0) continue
    for (const call of calls) {
      if (seen.some((command) => mayBe(command, call))) continue
      missed.push(
        `${JSON.stringify(script)}\n  ran ${JSON.stringify(call)}\n  saw ${JSON.stringify(seen.map(({ words }) => words.map(({ chars }) => chars)))}`,
      )
    }
  }
  assert.ok(ran > runs / 2, `only ${ran} commands ran: the test shows nothing`)
  assert.equal(missed.slice(0, 5), [])
})

test.run()
