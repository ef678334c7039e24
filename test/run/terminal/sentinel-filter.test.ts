import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createSentinelFilter } from '../../../lib/run/terminal/terminal-output.ts'

const sentinel = Buffer.from('\x1b]1123\x07')
/** Text that is full of beginnings of the sentinel. */
const text = fc
  .array(fc.constantFrom('a', '\x1b', '\x1b]', '\x1b]1', '\x1b]11', '\x1b]112', '\x07'))
  .map((parts) => parts.join(''))
  .filter((joined) => !joined.includes(sentinel.toString()))

function cut(bytes: Buffer, sizes: number[]): Buffer[] {
  const chunks: Buffer[] = []
  let at = 0
  for (const size of sizes) {
    chunks.push(bytes.subarray(at, at + size))
    at += size
  }
  return [...chunks, bytes.subarray(at)]
}

const sizes = fc.array(fc.integer({ min: 0, max: 5 }))

test('what comes before the sentinel passes, the rest does not, however it is cut', () => {
  fc.assert(
    fc.property(text, text, sizes, (before, after, sizes) => {
      const whole = Buffer.concat([Buffer.from(before), sentinel, Buffer.from(after)])
      const filter = createSentinelFilter(sentinel)
      const passed = cut(whole, sizes).map((chunk) => Buffer.from(filter.push(chunk)))
      assert.ok(filter.found)
      assert.is(Buffer.concat([...passed, filter.rest()]).toString(), before)
    }),
  )
})

test('without a sentinel everything passes in the end', () => {
  fc.assert(
    fc.property(text, sizes, (whole, sizes) => {
      const filter = createSentinelFilter(sentinel)
      const passed = cut(Buffer.from(whole), sizes).map((chunk) => Buffer.from(filter.push(chunk)))
      assert.not.ok(filter.found)
      assert.is(Buffer.concat([...passed, filter.rest()]).toString(), whole)
    }),
  )
})

test.run()
