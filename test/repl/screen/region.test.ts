import xterm from '@xterm/headless'
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { fit } from '../../../lib/repl/screen/text.ts'
import { createRegion } from '../../../lib/repl/screen/region.ts'

const columns = 12
const line = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.constantFrom('日本語', 'e\u0301', '', 'exactly 12 w', '\u001B[31mred\u001B[0m'),
)
const frame = fc.array(
  line.map((text) => fit(text, columns)),
  { minLength: 1, maxLength: 6 },
)

/** What a terminal shows, line by line, without what is blank at the end. */
async function show(text: string): Promise<string[]> {
  const terminal = new xterm.Terminal({ cols: columns, rows: 10, allowProposedApi: true })
  await new Promise<void>((resolve) => terminal.write(text, resolve))
  const { active } = terminal.buffer
  const lines = Array.from({ length: active.length }, (_, row) =>
    (active.getLine(row)?.translateToString(true) ?? '').trimEnd(),
  )
  terminal.dispose()
  while (lines.at(-1) === '') lines.pop()
  return lines
}

test('frames drawn one over another leave what the last one alone would', () =>
  fc.assert(
    fc.asyncProperty(fc.array(frame, { minLength: 1, maxLength: 5 }), async (frames) => {
      const region = createRegion()
      const draw = (lines: string[]) => region.draw({ lines, cursor: null }, columns)
      const all = await show(frames.map(draw).join(''))
      const alone = createRegion().draw({ lines: frames.at(-1) ?? [], cursor: null }, columns)
      assert.equal(all, await show(alone))
    }),
    { numRuns: 200 },
  ))

test('what is printed above stays, and erasing takes the region only', () =>
  fc.assert(
    fc.asyncProperty(frame, frame, async (first, second) => {
      const region = createRegion()
      const text =
        region.draw({ lines: first, cursor: null }, columns) +
        region.erase(columns) +
        'printed\r\n' +
        region.draw({ lines: second, cursor: { row: 0, column: 0 } }, columns) +
        region.erase(columns)
      assert.equal(await show(text), ['printed'])
    }),
    { numRuns: 100 },
  ))

test.run()
