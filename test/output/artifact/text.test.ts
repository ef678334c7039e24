import { spawnSync } from 'node:child_process'
import { createWriteStream, promises } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { ArtifactText } from '../../../lib/output/artifact/text.ts'
import { clean } from '../clean.ts'
import { withFolder } from '../temporary.ts'
import { hear } from '../../helpers/until.ts'

/** Opens a file that holds these bytes. */
async function withText(
  raw: Uint8Array | string,
  use: (text: ArtifactText, path: string) => Promise<void>,
) {
  await withFolder(async (dir) => {
    const path = join(dir, 'raw')
    await promises.writeFile(path, raw)
    const text = new ArtifactText(await promises.open(path))
    try {
      await use(text, path)
    } finally {
      await text.close()
    }
  })
}

test('any line of a long file is the one that sed prints', async () => {
  const lines = Array.from({ length: 200_000 }, (_, at) => `${at + 1} ${'x'.repeat((at * 7) % 90)}`)
  await withText(`${lines.join('\n')}\n`, async (text, path) => {
    for (const line of [199_999, 1, 77_777, 200_000, 123_456, 2, 150_001]) {
      const oracle = spawnSync('sed', ['-n', `${line}p`, path], { encoding: 'utf8' })
      assert.is((await text.read({ line, limit: 1 })).text, oracle.stdout)
    }
    assert.is(await text.countLines(), 200_000)
    const { text: end, from, to } = await text.read({ tail: 2 })
    assert.equal([end, from, to], [`${lines.slice(-2).join('\n')}\n`, 199_999, 200_000])
  })
})

/** Stretches of output of every kind, long enough that there are landmarks between and within them. */
const stretch = fc.oneof(
  fc.nat(9000).map((count) => 'plain line\n'.repeat(count)),
  fc.nat(9000).map((count) => '\u001b[32mgreen\u001b[0m čeština 漢字\n'.repeat(count)),
  fc.nat(3000).map((count) => Array.from({ length: count }, (_, at) => `\r${at}%`).join('')),
  fc.nat(60).map((count) => `${'row\n'.repeat(40)}${'\u001b[40A\u001b[Jrow\n'.repeat(count)}`),
  fc.nat(400_000).map((count) => '日'.repeat(count)),
  fc.constant(`\n\u001b[2J\u001b[Hscreen\n${'after\n'.repeat(100)}`),
  fc.constant('\u001b[?1049hvim\u001b[?1049l'),
)

test('what is read from landmarks is what cleaning the whole gives', async () => {
  const stretches = fc.array(stretch, { minLength: 2, maxLength: 6 })
  const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(stretches, places, async (parts, shares) => {
      const raw = parts.join('')
      const whole = await clean(raw)
      const lines = whole.split(/(?<=\n)/)
      await withText(raw, async (text) => {
        for (const share of [1, ...shares]) {
          const at = Math.floor(share * (lines.length - 1))
          const part = await text.read({ offset: at, limit: 3 })
          const wanted = lines.slice(at, at + 3).join('')
          assert.ok(wanted.startsWith(part.text), `line ${at + 1}`)
          assert.ok(part.text === wanted || part.column! > 1 || Buffer.byteLength(wanted) > 51_200)
          const column = Math.floor(Array.from((lines[at] ?? '').trimEnd()).length * share) + 1
          const rest = await text.read({ line: at + 1, column, limit: 1, maxBytes: 100 })
          assert.ok(
            Array.from(lines.slice(at).join(''))
              .slice(column - 1, column + 99)
              .join('')
              .startsWith(rest.text.slice(0, 20)),
            `line ${at + 1}, column ${column}`,
          )
        }
        assert.is(await text.countLines(), whole === '' ? 0 : lines.length)
        const tail = await text.read({ tail: 2 })
        assert.ok(lines.slice(-2).join('').endsWith(tail.text))
        assert.ok(tail.text !== '' || whole === '')
      })
    }),
    { numRuns: 6 },
  )
})

test('a file that grows is read on from what is known of it', () =>
  withText('one\n', async (text, path) => {
    assert.is(await text.countLines(), 1)
    const more = createWriteStream(path, { flags: 'a' })
    more.end('two\n'.repeat(100_000))
    await hear(more, 'close')
    assert.is(await text.countLines(), 100_001)
    assert.is((await text.read({ offset: 100_000 })).text, 'two\n')
  }))

test.run()
