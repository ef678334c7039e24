import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { countNewlines, hasControl, hasEncodedControl } from '../../../lib/output/bytes/scan.ts'

const interesting = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0x20, max: 0x7e }) },
  fc.constantFrom(0x09, 0x0a, 0x0d, 0x1b, 0x00, 0x7f, 0x80, 0x9b, 0x9f, 0xa0, 0xc2, 0xff),
)

function look(bytes: Uint8Array, from: number, to: number) {
  return {
    newlines: countNewlines(bytes.subarray(from, to)),
    control: hasControl(bytes, from, to),
  }
}

function expected(bytes: Uint8Array) {
  return {
    newlines: bytes.filter((byte) => byte === 10).length,
    control: bytes.some((byte) => (byte < 0x20 ? byte !== 9 && byte !== 10 : byte === 0x7f)),
  }
}

test('a look sees what is there, from any place to any place', () => {
  const pieces = fc.array(interesting, { maxLength: 1200, size: 'max' })
  fc.assert(
    fc.property(pieces, fc.nat(100), fc.nat(100), (codes, start, beyond) => {
      const bytes = Uint8Array.from(codes)
      const from = Math.min(start, bytes.length)
      const to = Math.max(from, bytes.length - beyond)
      assert.equal(look(bytes, from, to), expected(bytes.subarray(from, to)))
    }),
    { numRuns: 500 },
  )
})

test('each byte is seen for what it is, wherever it stands among others', () => {
  for (let byte = 0; byte < 256; byte++) {
    for (let at = 0; at < 8; at++) {
      const bytes = Buffer.alloc(100, 'x')
      bytes[at + 50] = byte
      assert.equal(look(bytes, 0, bytes.length), expected(bytes), `${byte} at ${at}`)
    }
  }
  assert.is(countNewlines(Buffer.alloc(200_000, '\n')), 200_000)
})

test('an encoded control character is told from other characters of its first byte', () => {
  for (const text of ['\u0080', 'a\u009b', '\u009f']) {
    const bytes = Buffer.from(text)
    assert.is(hasEncodedControl(bytes), true)
    assert.is(hasEncodedControl(bytes.subarray(0, -1)), false)
  }
  assert.is(hasEncodedControl(Buffer.from('\u00a0£é漢')), false)
})

test.run()
