import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readPart } from '../../lib/output/bounds.ts'

const lines = (count: number, from = 1) =>
  Array.from({ length: count }, (_, at) => `line ${at + from}\n`).join('')

test('a reading is bounded by lines and by bytes, in whole lines', () => {
  const text = Buffer.from(lines(5000))
  const part = readPart(text, 0, {})
  assert.is(part.text, lines(2000))
  assert.is(part.moreBytes, text.length - part.cursor)
  assert.is(readPart(text, 0, { maxLines: 9000, maxBytes: 9e9 }).text, lines(2000))
  assert.is(readPart(text, 0, { maxLines: 3 }).text, lines(3))
  assert.is(readPart(text, 0, { maxBytes: 20 }).text, lines(2))
  assert.is(readPart(text, 0, { head: 2, cursor: part.cursor }).text, lines(2, 2001))
})

test('tail gives the last lines and says what it passed over', () => {
  const text = Buffer.from(lines(5000))
  const part = readPart(text, 100, { cursor: 100, tail: 2 })
  assert.is(part.text, lines(2, 4999))
  assert.equal(
    [part.cursor, part.truncatedBefore, part.moreBytes],
    [100 + text.length, text.length - lines(2, 4999).length, 0],
  )
  assert.is(readPart(text, 0, { head: 3, tail: 1 }).text, 'line 3\n')
  assert.is(readPart(text, 0, { tail: 9, maxBytes: 20 }).text, lines(2, 4999))
  assert.is(readPart(Buffer.from('č'.repeat(50)), 0, { tail: 1, maxBytes: 5 }).text, 'čč')
})

test('the cursor leads through a long line, in whole characters', () => {
  const line = `${'č'.repeat(60_000)}\nend\n`
  let cursor = 0
  let text = ''
  for (let more = 1; more > 0;) {
    const part = readPart(Buffer.from(line), 0, { cursor })
    assert.ok(Buffer.byteLength(part.text) <= 51_200)
    text += part.text
    cursor = part.cursor
    more = part.moreBytes
  }
  assert.is(text, line)
})

const anyText = fc
  .array(fc.oneof(fc.string({ unit: 'grapheme', maxLength: 9 }), fc.constant('\n')))
  .map((parts) => parts.join(''))

test('parts in a row are the whole text, each within its bounds', () => {
  const bound = fc.integer({ min: 1, max: 12 })
  fc.assert(
    fc.property(anyText, fc.nat(50), bound, bound, (text, start, maxLines, maxBytes) => {
      const kept = Buffer.from(text)
      let read = ''
      for (let cursor = start, more = kept.length; more > 0;) {
        const part = readPart(kept, start, { cursor, maxLines, maxBytes })
        assert.is(part.truncatedBefore, 0)
        assert.ok(part.cursor > cursor, 'it goes on')
        const bytes = Buffer.byteLength(part.text)
        assert.ok(bytes <= maxBytes || Array.from(part.text).length === 1)
        assert.ok(part.text.replace(/\n$/, '').split('\n').length <= maxLines)
        read += part.text
        cursor = part.cursor
        more = part.moreBytes
      }
      assert.is(read, text)
    }),
  )
})

test('what was asked for, left out, given and left over adds up', () => {
  const optional = fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined })
  fc.assert(
    fc.property(
      fc.tuple(anyText, fc.nat(50), fc.nat(200)),
      fc.record({ head: optional, tail: optional, maxLines: optional, maxBytes: optional }),
      ([text, start, cursor], bounds) => {
        const kept = Buffer.from(text)
        const total = start + kept.length
        const part = readPart(kept, start, {
          cursor,
          ...(JSON.parse(JSON.stringify(bounds)) as object),
        })
        const bytes = Buffer.byteLength(part.text)
        assert.is(part.cursor + part.moreBytes, total)
        assert.is(Math.min(cursor, total) + part.truncatedBefore + bytes, part.cursor)
        assert.ok(text.includes(part.text), 'no character is cut')
      },
    ),
  )
})

test.run()
