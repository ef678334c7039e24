import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { clean, manySizes } from '../clean.ts'
import { copyFromTerminal, withoutBlanks } from '../terminal.ts'

const ESC = '\u001b'
const latin1 = (text: string) => Buffer.from(text, 'latin1')

const cases: [name: string, raw: string | Buffer, text: string][] = [
  ['plain text', 'one\ntwo\n', 'one\ntwo\n'],
  ['no final newline', 'one', 'one'],
  ['nothing', '', ''],
  ['tabs stay', 'a\tb\n', 'a\tb\n'],
  ['other controls go', 'a\0b\x01c\x07d\x0be\x0cf\x7fg\n', 'abcdefg\n'],
  ['UTF-8 of every length', 'é € 𝄞 \u{10ffff}\n', 'é € 𝄞 \u{10ffff}\n'],
  ['lone bytes', latin1('a\xffb\x80c\xc3'), 'a\ufffdb\ufffdc\ufffd'],
  [
    'a surrogate and an overlong form',
    latin1('\xed\xa0\x80 \xc0\xaf'),
    '\ufffd\ufffd\ufffd \ufffd\ufffd',
  ],
  ['a cut sequence is one replacement', latin1('\xf0\x9f\x98x'), '\ufffdx'],
  ['encoded C1 controls go', 'a\u0085b\u0080c\n', 'abc\n'],
  ['\\r\\n', 'a\r\nb\r\n', 'a\nb\n'],
  ['\\r\\r\\n', 'a\r\r\nb', 'a\nb'],
  ['the last state of a progress line', '10%\r20%\r100%\n', '100%\n'],
  ['a shorter state leaves the rest', 'abc\rX\n', 'Xbc\n'],
  ['\\r at the very end', 'abc\r', 'abc'],
  [
    'lines that scrolled off are not reached, however often a part of the screen is erased',
    `${'line\n'.repeat(200)}${`${ESC}[40A${ESC}[Jrow\n`.repeat(10)}`,
    `${'line\n'.repeat(151)}row\n`,
  ],
  [
    'blank lines that scrolled off before a reset, whatever the pieces are',
    `${ESC}[50f\n${ESC}c`,
    '\n',
  ],
  ['a place is saved as long, whatever the pieces are', `   ${ESC}7\n  ${ESC}8\n`, '   \n  '],
  [
    'frames between a saved place and its return collapse',
    `head\n${[1, 2, 3].map((n) => `${ESC}7first ${n}\nsecond ${n}\n${ESC}8`).join('')}${ESC}[J${ESC}7done\n${ESC}8`,
    'head\ndone\n',
  ],
  ['a line is not lost to a step to the next one', `foo${ESC}[Ebar\n`, 'foo\nbar\n'],
  ['backspace and overwrite', 'ab\bc\n', 'ac\n'],
  ['backspace erases', 'abc\b\b\n', 'a\n'],
  ['backspace at the start of a line', 'a\n\b\bb\n', 'a\nb\n'],
  ['a man page', 'N\bNA\bAM\bME\bE _\bu\n', 'NAME u\n'],
  ['a spinner', '|\b/\b-\b\\\bdone\n', 'done\n'],
  ['SGR', `${ESC}[1;31mred${ESC}[0m${ESC}[m\n`, 'red\n'],
  ['SGR with subparameters', `${ESC}[38:2::1:2:3mred${ESC}[0m`, 'red'],
  ['grep --color', `${ESC}[01;31m${ESC}[Kfoo${ESC}[m${ESC}[Kbar\n`, 'foobar\n'],
  [
    '8-bit CSI, alone and encoded',
    Buffer.concat([latin1('a\x9b31mb'), Buffer.from('\u009b0mc')]),
    'abc',
  ],
  ['OSC by BEL and ST', `a${ESC}]0;title\u0007b${ESC}]8;;http://x${ESC}\\c`, 'abc'],
  ['OSC with 0x9C inside a character', `a${ESC}]0;Ü${ESC}\\b`, 'ab'],
  [
    'DCS, APC, PM, SOS',
    `a${ESC}Pq#0${ESC}\\b${ESC}_x${ESC}\\c${ESC}^y${ESC}\\d${ESC}Xz${ESC}\\e`,
    'abcde',
  ],
  ['8-bit strings', latin1('a\x9d0;t\x9cb\x90q\x1b\\c\x9fx\x9cd\x9ey\x9ce\x98z\x9cf'), 'abcdef'],
  ['a string broken off by CAN', `a${ESC}]0;t\u0018b`, 'ab'],
  ['text that was decoded twice is no string', 'â\u0080\u009dquoted\nnext\n', 'âquoted\nnext\n'],
  [
    'Windows quotes are no string',
    latin1('\x93quoted\x94 \x9dx\nnext\n'),
    '\ufffdquoted\ufffd \ufffdx\nnext\n',
  ],
  ['charset selections', `a${ESC}(Bb${ESC})0c${ESC}%Gd${ESC}#8e`, 'abcde'],
  [
    'modes and queries',
    `${ESC}[?25l${ESC}[6n${ESC}[c${ESC}[>0q${ESC}=a${ESC}>${ESC}[?2004h${ESC}Z`,
    'a',
  ],
  ['ESC K to the right', `abcdef\r\u001b[3C${ESC}[Kx\n`, 'abcx\n'],
  ['ESC 1K to the left', `abcdef${ESC}[3D${ESC}[1Kx\n`, '   xef\n'],
  ['ESC 2K the whole line', `abcdef\r${ESC}[2Kx\n`, 'x\n'],
  ['a progress line that is cleared away', `done\n50%\r${ESC}[K`, 'done\n'],
  ['cursor up', `one\ntwo\n${ESC}[2A${ESC}[2KONE\n${ESC}[2KTWO\n`, 'ONE\nTWO\n'],
  ['cursor up over plain lines only so far', `a\nb\n${ESC}[9Ax\n`, 'x\nb\n'],
  ['cursor up and erase below', `keep\nx\ny\n${ESC}[2A${ESC}[Jend\n`, 'keep\nend\n'],
  ['previous and next line', `a\nb\n${ESC}[2FA${ESC}[EB\n`, 'A\nB\n'],
  ['column', `abc${ESC}[2GX\n`, 'aXc\n'],
  ['save and restore', `ab${ESC}7cd${ESC}8X\n`, 'abXd\n'],
  ['insert, delete, erase characters', `abcdef\r${ESC}[2@${ESC}[4C${ESC}[P${ESC}[X\n`, '  ab ef\n'],
  ['repeat', `ab${ESC}[3b\n`, 'abbbb\n'],
  ['wide characters lose both halves', '日本語\rX\n', 'X 本語\n'],
  ['combining characters stay with their base', 'e\u0301x\rX\n', 'Xx\n'],
  ['the alternate screen', `a${ESC}[?1049h${ESC}[2J${ESC}[Hvim\n~${ESC}[?1049lb\n`, 'ab\n'],
  ['an alternate screen left open', `a\n${ESC}[?1047hvim`, 'a\n'],
  ['clear', `before\n${ESC}[H${ESC}[2J${ESC}[3Jafter\n`, 'before\nafter\n'],
  ['clear by erasing below', `one\ntwo${ESC}[H${ESC}[Jthree\n`, 'one\ntwo\nthree\n'],
  ['clear, and nothing after it', `one\ntwo\n${ESC}[2J${ESC}[H`, 'one\ntwo\n'],
  ['clear on an empty page', `${ESC}[2J${ESC}[Hone\n`, 'one\n'],
  ['the scrollback is cleared', `one\n${ESC}[3Jtwo\n`, 'one\ntwo\n'],
  ['a reset', `one\ntwo${ESC}cthree\n`, 'one\ntwo\nthree\n'],
  ['a reset of what moved', `one\ntwo\n${ESC}[1;1HONE${ESC}cthree\n`, 'ONE\ntwo\nthree\n'],
  ['a reset on the other screen', `one${ESC}[?1049hvim${ESC}ctwo\n`, 'one\ntwo\n'],
  [
    'a reset on the other screen of what moved',
    `a\nb\n${ESC}[1;1HA${ESC}[?1049hvim${ESC}[2J${ESC}cc\n`,
    'A\nb\nc\n',
  ],
  [
    'frames of a watcher',
    `${ESC}[2J${ESC}[3J${ESC}[HRUN 1\nfail\n${ESC}[2J${ESC}[3J${ESC}[HRUN 2\npass\n`,
    'RUN 1\nfail\nRUN 2\npass\n',
  ],
  [
    'a display that redraws from the first place',
    `${ESC}[Ha 1\nb 1\n${ESC}[Ha 2\nb 2\n`,
    'a 2\nb 2\n',
  ],
  ['a skin tone', '👍🏽.\r\u001b[2CX\n', '👍🏽X\n'],
  ['absolute movement', `one\ntwo\n${ESC}[1;3HX${ESC}[3;1H`, 'onX\ntwo\n'],
  ['an unfinished sequence at the end', `a${ESC}[31`, 'a'],
  ['a lone escape at the end', `a${ESC}`, 'a'],
]

for (const [name, raw, text] of cases) {
  test(name, async () => {
    assert.is(await clean(raw), text)
    for (const sizes of manySizes)
      assert.is(await clean(raw, sizes), text, `in pieces of ${sizes.join()}`)
  })
}

test('a line past editing keeps its text; the next state gets a line of its own', async () => {
  const long = 'x'.repeat(100_000)
  for (const sizes of [[Infinity], [1000], [4096], [65_536]]) {
    assert.is(await clean(`${long}\rdone\n`, sizes), `${long}\ndone\n`)
    assert.is(await clean(`a\n${long}\n${ESC}[2Ab\n`, sizes), `a\n${long}\nb\n`)
  }
})

test('a count far beyond the screen does not hold nacre up', async () => {
  for (const final of ['L', 'M', 'S', 'T', 'I', 'Z', 'b']) {
    const cleaned = (count: number) => clean(`a\nb${ESC}[1;5Hx${ESC}[${count}${final}y\nz\n`)
    assert.is(await cleaned(2_147_483_647), await cleaned(20_000), final)
  }
})

test('the cursor reaches the height of the terminal, not further', async () => {
  const lines = Array.from({ length: 100 }, (_, index) => `line ${index}\n`)
  const expected = [...lines]
  expected[91] = 'X\n'
  const raw = `${lines.join('')}${ESC}[50A${ESC}[2KX\n`
  for (const sizes of [[Infinity], [1], [17]]) {
    assert.is(await clean(raw, sizes, { rows: 10, columns: 80 }), expected.join(''))
  }
})

test('after a screen was needed, much plain text passes and the screen can be needed again', async () => {
  const lines = Array.from({ length: 500 }, (_, index) => `line ${index} čeština „x“\n`).join('')
  const raw = `old\n${ESC}[H${ESC}[2J${lines}${ESC}[H${ESC}[2Kfirst\n`
  const text = await clean(raw, [Infinity], { rows: 24, columns: 80 })
  assert.ok(text.startsWith('old\nline 0 č'))
  assert.match(text, /line 475 čeština „x“\nline 476 čeština „x“\nfirst\nline 478/)
  for (const sizes of [[1], [1000], [3]]) {
    assert.is(
      await clean(raw, sizes, { rows: 24, columns: 80 }),
      text,
      `in pieces of ${sizes.join()}`,
    )
  }
})

test('a thousand frames of a tall display are read in linear time', async () => {
  const frame = `${ESC}[40A${Array.from({ length: 40 }, (_, row) => `${ESC}[2Krow ${row} ${'#'.repeat(60)}\n`).join('')}`
  const text = await clean(`${'\n'.repeat(40)}${frame.repeat(1000)}`)
  assert.is(text.split('\n').length, 41)
  assert.match(text, /^row 0 #+\nrow 1 /)
})

test('what has gone off the top of the screen stays, in any chunking', async () => {
  const size = { rows: 10, columns: 80 }
  const lines = Array.from({ length: 3000 }, (_, at) => `line ${at}\n`).join('')
  // Each frame leaves fewer lines on the screen than it has found.
  const raw = `${lines}${'row\n'.repeat(6)}${`${ESC}[8A${ESC}[Jrow\n`.repeat(12)}`
  const shown = await copyFromTerminal(raw, size, true)
  for (const sizes of [[Infinity], [1000], [1]]) {
    assert.is(withoutBlanks(await clean(raw, sizes, size)), shown, `in pieces of ${sizes.join()}`)
  }
})

test('the contents of a binary file are no output for a terminal', async () => {
  const nuls = '\0'.repeat(150)
  const raw = `a\n${ESC}[2;1Hb${nuls}\nc\n${ESC}[1;1Hd\n`
  for (const sizes of [[Infinity], [1], [50]]) assert.is(await clean(raw, sizes), 'a\nb\nc\nd\n')
  assert.is(await clean(`${'\x01'.repeat(150)}a\n${ESC}[1;1Hd\n`), 'a\nd\n')
})

test.run()
