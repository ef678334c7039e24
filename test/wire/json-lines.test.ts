import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createLineReader } from '../../lib/wire/json-lines.ts'

/** Lines out of bytes given in pieces that share one memory, as a stream may give them. */
function readIn(pieces: readonly Uint8Array[], maxBytes = Infinity) {
  const lines: string[] = []
  let tooLong = 0
  const reader = createLineReader({
    maxBytes,
    onLine: (line) => lines.push(Buffer.from(line).toString('latin1')),
    onTooLong: () => tooLong++,
  })
  const memory = new Uint8Array(1 << 16)
  for (const piece of pieces) {
    memory.set(piece)
    reader.write(memory.subarray(0, piece.length))
    memory.fill(0x7a)
  }
  reader.end()
  return { lines, tooLong }
}

/** Bytes with many LFs among them, cut into pieces. */
const pieces = fc.array(
  fc.array(fc.oneof(fc.constant(10), fc.constant(13), fc.integer({ min: 0, max: 255 })), {
    maxLength: 30,
  }),
  { maxLength: 12 },
)

test('lines are those of the whole, however it is cut', () => {
  fc.assert(
    fc.property(pieces, (cut) => {
      const whole = Buffer.from(cut.flat()).toString('latin1')
      const expected = whole.split('\n').filter((line) => line !== '')
      assert.equal(readIn(cut.map((piece) => Uint8Array.from(piece))).lines, expected)
    }),
  )
})

test('lines over the limit are dropped and counted, the others are not touched', () => {
  fc.assert(
    fc.property(pieces, fc.integer({ min: 1, max: 20 }), (cut, maxBytes) => {
      const all = Buffer.from(cut.flat()).toString('latin1').split('\n')
      const { lines, tooLong } = readIn(
        cut.map((piece) => Uint8Array.from(piece)),
        maxBytes,
      )
      const short = all.filter((line) => line !== '' && line.length <= maxBytes)
      assert.equal(lines, short)
      assert.is(tooLong, all.filter((line) => line.length > maxBytes).length)
    }),
  )
})

test('only LF ends a line', () => {
  const text = Buffer.from('a\u2028b\u2029c\rd\u0085e\n')
  const { lines } = readIn([text])
  assert.equal(lines, [text.subarray(0, -1).toString('latin1')])
})

test.run()
