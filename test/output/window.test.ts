import { spawnSync } from 'node:child_process'
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { Window, type WindowOptions } from '../../lib/output/window.ts'

const defaults: WindowOptions = {
  head: null,
  tail: null,
  maxLines: 2000,
  maxBytes: 51_200,
  truncate: 'tail',
}

function show(text: string, options: Partial<WindowOptions> = {}, size = Infinity) {
  const window = new Window({ ...defaults, ...options })
  // The filter never parts a character.
  const characters = size === Infinity ? [text] : Array.from(text)
  for (let at = 0; at < characters.length; at += size) {
    window.write(Buffer.from(characters.slice(at, at + size).join('')))
  }
  return window.render()
}

const numbered = (count: number) =>
  Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join('')

test('what fits is shown as it was written', () => {
  for (const text of ['', 'a', 'a\n', '\n', '\n\n', 'a\n\nb', numbered(2000)]) {
    assert.equal(show(text), { text, truncation: null })
  }
})

test('tail keeps the last lines', () => {
  const { text, truncation } = show(numbered(3000))
  assert.is(text, numbered(3000).slice(text.length * -1))
  assert.ok(text.startsWith('line 1001\n'))
  assert.equal(truncation, {
    direction: 'tail',
    truncatedBy: 'lines',
    totalLines: 3000,
    totalBytes: numbered(3000).length,
    outputLines: 2000,
    outputBytes: text.length,
    shownRanges: [[1001, 3000]],
  })
})

test('the byte limit falls on whole lines', () => {
  const { text, truncation } = show(numbered(100), { maxBytes: 30 })
  assert.is(text, 'line 98\nline 99\nline 100\n')
  assert.is(truncation?.truncatedBy, 'bytes')
  assert.equal(truncation?.shownRanges, [[98, 100]])
  assert.is(show(numbered(100), { maxBytes: 25 }).text, 'line 98\nline 99\nline 100\n')
  assert.is(show(numbered(100), { maxBytes: 24 }).text, 'line 99\nline 100\n')
})

test('a single line over the byte limit keeps its end, cut at a character border', () => {
  const { text, truncation } = show(`${'ž'.repeat(100)}\n`, { maxBytes: 10 })
  assert.is(text, `${'ž'.repeat(4)}\n`)
  assert.equal(truncation?.shownRanges, [[1, 1]])
  assert.is(show(`first\n${'x'.repeat(5000)}END`, { maxBytes: 1000 }).text, `${'x'.repeat(997)}END`)
})

test('a long line is cut to its first 2,000 characters', () => {
  const { text, truncation } = show(`a\n${'č'.repeat(2500)}\nb\n`)
  assert.is(text, `a\n${'č'.repeat(2000)}… [500 chars omitted]\nb\n`)
  assert.equal(truncation, {
    direction: 'head',
    truncatedBy: 'bytes',
    totalLines: 3,
    totalBytes: 5005,
    outputLines: 3,
    outputBytes: Buffer.byteLength(text),
    shownRanges: [[1, 3]],
  })
  assert.is(show('x'.repeat(2000)).truncation, null)
  assert.is(show('x'.repeat(2001)).text, `${'x'.repeat(2000)}… [1 chars omitted]`)
})

test('head-tail keeps 80 lines of each end', () => {
  assert.is(show(numbered(160), { truncate: 'head-tail' }).truncation, null)
  const { text, truncation } = show(numbered(1000), { truncate: 'head-tail' })
  const lines = text.split('\n')
  assert.is(lines.length, 162)
  assert.is(lines[79], 'line 80')
  assert.is(lines[80], '… [840 lines omitted] …')
  assert.is(lines[81], 'line 921')
  assert.equal(truncation?.shownRanges, [
    [1, 80],
    [921, 1000],
  ])
  assert.is(truncation?.direction, 'head-tail')
})

test('the mark between both ends is one of the lines that `max_lines` allows', () => {
  const { text, truncation } = show(numbered(1000), { truncate: 'head-tail', maxLines: 160 })
  assert.is(text.trimEnd().split('\n').length, 160)
  assert.equal(truncation?.shownRanges, [
    [1, 79],
    [921, 1000],
  ])
})

test('a line that alone is over the byte limit keeps its end', () => {
  const long = `${'č'.repeat(100_000)}END`
  const cut = `… [98003 chars omitted]${'č'.repeat(1997)}END`
  for (const size of [Infinity, 1000]) {
    assert.is(show(long, {}, size).text, cut)
    const { text, truncation } = show(`a\n${long}\nb\n`, {}, size)
    assert.is(text, `a\n${cut}\nb\n`)
    assert.is(truncation?.direction, 'tail')
  }
})

test('middle keeps both ends within the limits', () => {
  const { text, truncation } = show(numbered(100), { truncate: 'middle', maxLines: 5 })
  assert.is(text, 'line 1\nline 2\n… [96 lines omitted] …\nline 99\nline 100\n')
  assert.equal(truncation?.shownRanges, [
    [1, 2],
    [99, 100],
  ])
  assert.is(show(numbered(100), { truncate: 'middle', maxLines: 2 }).text, 'line 99\nline 100\n')
})

test('none shows everything, long lines too', () => {
  const text = `${numbered(10_000)}${'x'.repeat(100_000)}`
  assert.equal(show(text, { truncate: 'none' }), { text, truncation: null })
})

test('head keeps the start of a long stream, tail the end of that', () => {
  assert.is(show(numbered(100_000), { head: 2 }).text, 'line 1\nline 2\n')
  assert.is(show(numbered(100), { head: 10, tail: 2 }).text, 'line 9\nline 10\n')
  const { truncation } = show(numbered(100), { head: 10, tail: 2 })
  assert.equal(truncation?.shownRanges, [[9, 10]])
  assert.is(truncation?.truncatedBy, 'lines')
  assert.is(show(numbered(3), { head: 5, tail: 4 }).truncation, null)
  const both = show(numbered(5000), { head: 3000 })
  assert.is(both.truncation?.direction, 'head')
  assert.equal(both.truncation?.shownRanges, [[1, 2000]])
})

test('head and tail give what head and tail of the system give', () => {
  for (const [head, tail] of [
    [3, null],
    [null, 3],
    [5, 2],
    [2, 5],
    [50, 50],
  ] as const) {
    for (const input of [numbered(10), numbered(10).trimEnd(), '\n\n\n', 'x', '']) {
      const commands = [
        head === null ? 'cat' : `head -n ${head}`,
        tail === null ? 'cat' : `tail -n ${tail}`,
      ]
      const oracle = spawnSync('bash', ['-c', commands.join(' | ')], { input, encoding: 'utf8' })
      assert.is(show(input, { head, tail }).text, oracle.stdout)
    }
  }
})

const line = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.integer({ min: 0, max: 3000 }).map((length) => 'ž'.repeat(length)),
)
const textArbitrary = fc
  .array(line, { maxLength: 60 })
  .map((lines) => lines.map((text) => text.replaceAll('\n', ' ')).join('\n'))
const optionsArbitrary = fc.record({
  head: fc.option(fc.integer({ min: 1, max: 50 })),
  tail: fc.option(fc.integer({ min: 1, max: 50 })),
  maxLines: fc.integer({ min: 1, max: 50 }),
  maxBytes: fc.integer({ min: 1, max: 6000 }),
  truncate: fc.constantFrom('tail', 'head-tail', 'middle'),
})

test('limits are never exceeded, and truncation is null exactly when nothing is missing', () => {
  fc.assert(
    fc.property(
      textArbitrary,
      optionsArbitrary,
      fc.integer({ min: 1, max: 500 }),
      (input, options, size) => {
        const { text, truncation } = show(input, options, size)
        const lines = text.split('\n').length - (text.endsWith('\n') || text === '' ? 1 : 0)
        assert.ok(lines <= options.maxLines, `${lines} lines`)
        assert.ok(Buffer.byteLength(text) <= options.maxBytes, `${Buffer.byteLength(text)} bytes`)
        assert.is(truncation === null, text === input)
        assert.not.match(text.replaceAll('\ufffd', ''), input.includes('\ufffd') ? /$^/ : /\ufffd/)
        if (truncation === null) return
        assert.is(truncation.outputBytes, Buffer.byteLength(text))
        for (const [from, to] of truncation.shownRanges)
          assert.ok(from >= 1 && from <= to && to <= truncation.totalLines)
        assert.equal(show(input, options), { text, truncation }, 'any chunking gives the same')
      },
    ),
    { numRuns: 1500 },
  )
})

test('shown ranges name the lines that are shown', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 400 }), optionsArbitrary, (count, options) => {
      const input = numbered(count)
      const { text, truncation } = show(input, { ...options, maxBytes: options.maxBytes + 50 })
      const ranges =
        truncation === null ? (count === 0 ? [] : [[1, count]]) : truncation.shownRanges
      const all = input.split(/(?<=\n)/)
      const shown = ranges.flatMap(([from, to]) => all.slice(from! - 1, to))
      assert.is(text.replace(/… .*\n/, ''), shown.join(''))
    }),
    { numRuns: 1000 },
  )
})

test('totals are those of wc', () => {
  fc.assert(
    fc.property(textArbitrary, (input) => {
      const { truncation } = show(input, { maxBytes: 3000, maxLines: 3 })
      if (truncation === null) return
      const wc = spawnSync('wc', ['-lc'], { input, encoding: 'utf8' })
        .stdout.trim()
        .split(/\s+/)
        .map(Number)
      assert.is(truncation.totalBytes, wc[1])
      // wc counts newlines; an unfinished line is a line here.
      assert.is(truncation.totalLines, wc[0]! + (input.endsWith('\n') ? 0 : 1))
    }),
    { numRuns: 60 },
  )
})

test('a gigabyte costs no more memory than its limits', () => {
  const window = new Window(defaults)
  const chunk = Buffer.from(numbered(6000))
  const before = process.memoryUsage().arrayBuffers
  for (let written = 0; written < 1e9; written += chunk.length) window.write(chunk)
  assert.ok(process.memoryUsage().arrayBuffers - before < 2e6)
  assert.ok(window.render().text.endsWith('line 6000\n'))
})

test.run()
