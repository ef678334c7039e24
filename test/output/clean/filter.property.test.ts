import * as fc from 'fast-check'
import stripAnsi from 'strip-ansi'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { clean } from '../clean.ts'
import { copyFromTerminal, withoutBlanks } from '../terminal.ts'

const ESC = '\u001b'
const size = { rows: 60, columns: 400 }
const sizesArbitrary = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 })

/** Pieces of anything: text, controls, sequences whole and broken, bytes that mean nothing. */
const anything = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => Buffer.from(text)),
      fc
        .constantFrom('\n', '\r', '\r\n', '\b', '\t', '\u0085', ESC, `${ESC}[`)
        .map((text) => Buffer.from(text)),
      fc
        .tuple(
          fc.constantFrom('', '?', '>'),
          fc.nat(30),
          fc.constantFrom(...'ABCDEFGHJKLMPSTXbdfmrsuh@'.split('')),
        )
        .map(([prefix, count, final]) => Buffer.from(`${ESC}[${prefix}${count}${final}`)),
      fc
        .constantFrom(
          `${ESC}]0;t\u0007`,
          `${ESC}P1$`,
          `${ESC}\\`,
          `${ESC}7`,
          `${ESC}8`,
          `${ESC}M`,
          `${ESC}c`,
          `${ESC}(B`,
        )
        .map((text) => Buffer.from(text)),
      fc.constantFrom(`${ESC}[?1049h`, `${ESC}[?1049l`).map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
    ),
    { maxLength: 30 },
  )
  .map((pieces) => Buffer.concat(pieces))

const lines = { weight: 2, arbitrary: fc.constantFrom('\n', '\r', '\r\n') }
const letters = { weight: 4, arbitrary: fc.stringMatching(/^[a-z0-9 #=.]{0,12}$/) }
const erasures = fc.constantFrom(
  ...['', '0', '1', '2'].map((which) => `${ESC}[${which}K`),
  ...[`${ESC}[J`, `${ESC}[31m`, `${ESC}[0m`],
)
const move = (...finals: string[]) =>
  fc.constantFrom(...finals).chain((final) => fc.nat(6).map((count) => `${ESC}[${count}${final}`))

/** What moves the cursor without leaving the text that is there, and always writes what it steps back over. */
const movements = fc.array(
  fc.oneof(
    letters,
    lines,
    fc.constantFrom('漢字', '━━╸', 'é', '⠋', 'e\u0301', '✓', '한글', '⏳'),
    fc
      .integer({ min: 1, max: 3 })
      .map((count) => `${'z'.repeat(count)}${'\b'.repeat(count)}${'y'.repeat(count)}`),
    erasures,
    move('A', 'F', 'C', 'D', 'G', 'X', 'P', '@'),
  ),
  { maxLength: 40 },
)
/**
 * Characters of several code points come on lines that were erased: xterm keeps the first code points of one
 * that is half written over, where a terminal shows a blank.
 */
const clusters = fc.array(
  fc.oneof(
    letters,
    fc.constantFrom('\n', '\r\n', `\r${ESC}[2K`, `${ESC}[31m`, `${ESC}[0m`),
    fc.constantFrom(
      ...['🇨🇿', '👍🏽', '👩‍🚀', '\u2764\ufe0f', '\u1100\u1161\u11a8'],
      ...['กำ', 'नमस्ते', 'が', '1\ufe0f\u20e3'],
    ),
    move('F').map((up) => `${up}${ESC}[J`),
  ),
  { maxLength: 40 },
)
const redraws = fc.oneof(movements, clusters).map((parts) => parts.join(''))

test('any chunking gives the same text', async () => {
  await fc.assert(
    fc.asyncProperty(anything, sizesArbitrary, async (raw, sizes) => {
      assert.is(await clean(raw, sizes), await clean(raw))
    }),
    { numRuns: 600 },
  )
})

test('states of a line that are written over each other give the text of one after another', async () => {
  const even = fc.stringMatching(/^[a-z0-9 #=.]{0,12}$/)
  const frame = fc.oneof(
    { weight: 6, arbitrary: fc.constant('\r') },
    { weight: 6, arbitrary: even },
    {
      weight: 3,
      arbitrary: fc.constantFrom('é', '漢字', 'か', '⠋', '\b', `${ESC}[2K`, `${ESC}[K`),
    },
    fc.constantFrom('\n', '\r\n', '\t', 'e\u0301', '\u0301', '🚀', `${ESC}[32m`, '\0', '\u0085'),
    fc.constantFrom('G', '1G', '0G', '2G', '3C', '2D', '1K', '?25l').map((end) => `${ESC}[${end}`),
    fc.constantFrom(`${ESC}[?1049h`, `${ESC}[?1049l`, `${ESC}]0;t\u0007`),
    fc.constantFrom('漢'.repeat(2730), 'か'.repeat(2731)),
    fc.constantFrom('x'.repeat(8191), 'y'.repeat(8192), 'z'.repeat(8193)),
  )
  const frames = fc.array(frame, { maxLength: 40 }).map((parts) => parts.join(''))
  await fc.assert(
    fc.asyncProperty(frames, async (raw) => {
      // A piece of one byte is never written over in the piece.
      assert.is(await clean(raw), await clean(raw, [1]))
    }),
    { numRuns: 600 },
  )
})

test('what is taken for binary data begins at the same byte in any pieces', async () => {
  const noise = fc.uint8Array({ minLength: 300, maxLength: 700, size: 'max' })
  await fc.assert(
    fc.asyncProperty(noise, async (raw) => {
      assert.is(await clean(raw), await clean(raw, [1]))
    }),
    { numRuns: 150 },
  )
})

test('binary data gives the same text in any pieces, and every byte that is none is replaced', async () => {
  const noise = fc.uint8Array({ minLength: 3000, maxLength: 6000, size: 'max' })
  await fc.assert(
    fc.asyncProperty(noise, sizesArbitrary, async (raw, sizes) => {
      const text = await clean(raw)
      assert.is(await clean(raw, sizes), text)
      assert.not.match(text, /[\x00-\x08\x0b-\x1f\x7f-\x9f]/)
    }),
    { numRuns: 10 },
  )
})

test('text is valid UTF-8 without controls but tab and newline', async () => {
  await fc.assert(
    fc.asyncProperty(anything, async (raw) => {
      assert.not.match(await clean(raw), /[\x00-\x08\x0b-\x1f\x7f-\x9f]/)
    }),
    { numRuns: 500 },
  )
})

test('text without controls is not touched', async () => {
  const text = fc
    .array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\n', '\t')))
    .map((parts) => parts.join('').replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, ''))
  await fc.assert(
    fc.asyncProperty(text, sizesArbitrary, async (raw, sizes) => {
      assert.is(await clean(raw, sizes), raw)
    }),
    { numRuns: 500 },
  )
})

test('invalid bytes become what the Encoding Standard makes of them', async () => {
  const bytes = fc.uint8Array({ min: 0xa0, max: 0xff }).map((found) => Buffer.from(found))
  await fc.assert(
    fc.asyncProperty(bytes, sizesArbitrary, async (raw, sizes) => {
      assert.is(await clean(raw, sizes), new TextDecoder('utf-8', { ignoreBOM: true }).decode(raw))
    }),
    { numRuns: 500 },
  )
})

test('agrees with strip-ansi on colours and titles', async () => {
  const part = fc.oneof(
    fc.string({ unit: 'grapheme-ascii' }),
    fc.array(fc.nat(255), { maxLength: 4 }).map((codes) => `${ESC}[${codes.join(';')}m`),
    fc.constantFrom(
      '\n',
      '\u009b31m',
      `${ESC}[K`,
      `${ESC}]0;title\u0007`,
      `${ESC}]8;;http://a.example\u0007`,
    ),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(part), sizesArbitrary, async (parts, sizes) => {
      const raw = parts.join('')
      assert.is(await clean(raw, sizes), stripAnsi(raw))
    }),
    { numRuns: 500 },
  )
})

test('agrees with the screen of xterm on redraws, also where the cursor would go above a low one', async () => {
  await fc.assert(
    fc.asyncProperty(
      redraws,
      sizesArbitrary,
      fc.constantFrom(60, 8, 3),
      async (raw, sizes, rows) => {
        const text = withoutBlanks(await clean(raw, sizes, { ...size, rows }))
        const shown = await copyFromTerminal(raw, { ...size, rows }, true)
        assert.is(text, shown, `${rows} rows: ${JSON.stringify(raw)}`)
      },
    ),
    { numRuns: 900 },
  )
})

test('agrees with the screen of xterm on absolute movement', async () => {
  const part = fc.oneof(
    fc.stringMatching(/^[a-z]{0,8}$/),
    fc.constantFrom('\n', `${ESC}[2J`, `${ESC}[H`, `${ESC}[L`, `${ESC}[M`, `${ESC}[1J`),
    fc
      .tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 20 }))
      .map(([row, column]) => `${ESC}[${row};${column}H`),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 30 }), sizesArbitrary, async (parts, sizes) => {
      const raw = parts.join('')
      const text = withoutBlanks(await clean(raw, sizes, size))
      assert.is(text, await copyFromTerminal(raw, size, true), JSON.stringify(raw))
    }),
    { numRuns: 100 },
  )
})

test.run()
