import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  createByteScanner,
  createScanner,
  createSimdScanner,
  endOfZeros,
} from '../../../lib/output/bytes/scan.ts'

const interesting = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0x20, max: 0x7e }) },
  fc.constantFrom(0x09, 0x0a, 0x0d, 0x1b, 0x00, 0x7f, 0x80, 0x9b, 0x9f, 0xa0, 0xc2, 0xff),
)

function expected(bytes: Uint8Array) {
  return {
    newlines: bytes.filter((byte) => byte === 10).length,
    high: bytes.some((byte) => byte >= 0x80),
    control: bytes.some((byte, at) => {
      if (byte < 0x20) return byte !== 9 && byte !== 10
      return byte === 0x7f || (byte === 0xc2 && /^[\x80-\x9f]$/.test(latin1(bytes[at + 1])))
    }),
  }
}

function latin1(byte: number | undefined): string {
  return byte === undefined ? '' : String.fromCharCode(byte)
}

test('both scanners see what is there, from any place to any place', () => {
  const simd = createSimdScanner()
  if (simd === null) throw new Error('WebAssembly with SIMD is expected here')
  const bytewise = createByteScanner()
  fc.assert(
    fc.property(fc.array(interesting, { maxLength: 100 }), fc.nat(100), (codes, start) => {
      const bytes = Uint8Array.from(codes)
      const from = Math.min(start, bytes.length)
      const answer = expected(bytes.subarray(from))
      assert.equal({ ...simd(bytes, from, bytes.length) }, answer)
      assert.equal({ ...bytewise(bytes, from, bytes.length) }, answer)
    }),
    { numRuns: 500 },
  )
})

test('a piece longer than the module has memory for is seen whole, pairs across its blocks too', () => {
  const simd = createSimdScanner()!
  const bytes = new Uint8Array(200_000).fill(0x20)
  bytes.fill(0x0a, 65_530, 65_534)
  assert.equal(simd(bytes, 0, bytes.length).newlines, 4)
  bytes.set([0xc2, 0x9b], 65_535)
  assert.is(simd(bytes, 0, bytes.length).control, true)
  bytes.set([0xc2, 0xab], 65_535)
  assert.is(simd(bytes, 0, bytes.length).control, false)
  assert.is(simd(bytes, 0, 65_536).control, false)
})

test('a scanner goes over to SIMD after the first quarter of a MiB and tells the same', () => {
  const scan = createScanner()
  const bytes = Buffer.from('one line\n'.repeat(10_000))
  for (let round = 0; round < 6; round++) {
    assert.is(scan(bytes, 0, bytes.length).newlines, 10_000)
  }
})

test('a run of NUL bytes is seen to its end, however long and wherever it begins', () => {
  const length = fc.oneof(fc.nat(40), fc.integer({ min: 16_300, max: 50_000 }))
  fc.assert(
    fc.property(fc.nat(20), length, fc.boolean(), (before, zeros, goesOn) => {
      const bytes = new Uint8Array(before + zeros + (goesOn ? 3 : 0)).fill(0x61)
      bytes.fill(0, before, before + zeros)
      assert.is(endOfZeros(bytes, before), before + zeros)
    }),
  )
})

test.run()
