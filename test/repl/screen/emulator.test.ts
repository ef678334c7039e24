import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createEmulator, createFlood, type Emulator } from '../../../lib/repl/screen/emulator.ts'

const rows = 10

function open(): Emulator {
  const nothing = () => undefined
  return createEmulator({
    columns: 40,
    rows,
    onAnswer: nothing,
    onModes: nothing,
    onDrawn: nothing,
  })
}

/** The end of a text that comes in pieces of such a size, all at once or none before the last is drawn. */
async function show(text: Buffer, size: number, atOnce: boolean): Promise<string[]> {
  const emulator = open()
  for (let at = 0; at < text.length; at += size) {
    void emulator.write(text.subarray(at, at + size))
    if (!atOnce) await emulator.settle()
  }
  await emulator.settle()
  const { lines } = emulator.tail(rows)
  emulator.close()
  return lines
}

const pieces = {
  'lines of text': [
    'one\r\n',
    'a longer line, which the terminal wraps since it is too narrow\r\n',
    'é',
  ],
  'lines with colours': [
    '\u001B[1m',
    '\u001B[38;5;209mred',
    '\u001B[0m',
    '日本\r\n',
    'x\u001B[K\r\n',
  ],
}

for (const [name, words] of Object.entries(pieces)) {
  test(`what is passed over of a flood leaves its end as it is: ${name}`, () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...words), { minLength: 5, maxLength: 40 }),
        fc.integer({ min: 1000, max: 200_000 }),
        fc.boolean(),
        async (said, size, isPlain) => {
          const once = Buffer.from(said.join(''))
          const told = Array.from({ length: 200_000 / once.length }, () => once)
          // Its colours still hold at an end that sets none.
          const text = Buffer.concat([
            ...told,
            Buffer.from('plain\r\n'.repeat(isPlain ? 20_000 : 0)),
          ])
          assert.equal(await show(text, size, true), await show(text, 8000, false))
        },
      ),
      { numRuns: 10 },
    ))
}

test('all that came behind a title that nobody ended was drawn', async () => {
  let drawn = 0
  const flood = createFlood(
    async (bytes) => {
      drawn += bytes.length
    },
    () => true,
  )
  flood.add(Buffer.from('\u001B]0;'))
  for (let count = 0; count < 64; count++) flood.add(Buffer.alloc(64 * 1024, 'text '))
  await flood.settle()
  // Of four megabytes.
  assert.ok(drawn < 512 * 1024, String(drawn))
})

test.run()
