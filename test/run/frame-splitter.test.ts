import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createFrameSplitter } from '../../lib/run/frame-splitter.ts'

const nonce = '123456789'
const mark = (name: string, ...fields: string[]) =>
  `\u001B]${[nonce, name, ...fields].join(';')}\u0007`

function read(chunks: readonly Buffer[]): (string | string[])[] {
  const reader = createFrameSplitter({ head: `\u001B]${nonce};`, end: 7, longest: 1000 })
  const found: (string | string[])[] = []
  const give = (bytes: Uint8Array) => {
    const text = Buffer.from(bytes).toString('latin1')
    const last = found.at(-1)
    if (text === '') return
    if (typeof last === 'string') found[found.length - 1] = last + text
    else found.push(text)
  }
  for (const chunk of chunks) {
    for (const piece of reader.read(chunk)) {
      if (piece.kind === 'bytes') give(piece.bytes)
      else found.push(piece.text.split(';'))
    }
  }
  give(reader.held)
  return found
}

test('marks are found wherever the stream is cut, and nothing else is lost', () => {
  const text = fc.constantFrom(
    'a',
    'line\n',
    '\u001B[31m',
    '\u001B]',
    `\u001B]${nonce}`,
    '\u001B',
    ';',
    '\u0007',
  )
  const part = fc.oneof(
    fc.array(text, { maxLength: 5 }).map((parts) => parts.join('')),
    fc.constantFrom(['C'], ['D', '0', '/a b'], ['B', '12']),
  )
  fc.assert(
    fc.property(
      fc.array(part),
      fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
      (parts, sizes) => {
        // A bell that ends a begun mark of somebody else would make one of it.
        const whole = parts
          .map((one) => (typeof one === 'string' ? `${one}.` : mark(one[0] ?? '', ...one.slice(1))))
          .join('')
        const bytes = Buffer.from(whole)
        const chunks: Buffer[] = []
        for (let at = 0; at < bytes.length;) {
          const size = sizes.next().value ?? 1
          chunks.push(bytes.subarray(at, at + size))
          at += size
        }
        assert.equal(read(chunks), read([bytes]))
        const marks = read([bytes]).filter((one) => typeof one !== 'string')
        assert.is(marks.length >= parts.filter((one) => typeof one !== 'string').length, true)
      },
    ),
  )
})

test('a mark with another number is output', () => {
  assert.equal(read([Buffer.from('\u001B]987;C\u0007x')]), ['\u001B]987;C\u0007x'])
})

test.run()
