import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import xterm from '@xterm/headless'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { clean, manySizes } from './clean.ts'

const folder = join(import.meta.dirname, '../../fixtures/output')
const names = readdirSync(folder)
  .filter((name) => name.endsWith('.raw'))
  .map((name) => name.slice(0, -'.raw'.length))
const size = { rows: 30, columns: 100 }

/** Everything a terminal holds at the end, without trailing blanks. */
async function terminalText(raw: Buffer): Promise<string> {
  const terminal = new xterm.Terminal({
    rows: size.rows,
    cols: size.columns,
    scrollback: 10_000,
    allowProposedApi: true,
    logLevel: 'off',
  })
  await new Promise<void>((resolve) => {
    terminal.write(raw, resolve)
  })
  const { normal } = terminal.buffer
  const lines = Array.from({ length: normal.length }, (_, at) =>
    normal.getLine(at)!.translateToString(),
  )
  terminal.dispose()
  return withoutBlanks(lines.join('\n'))
}

const withoutBlanks = (text: string) => text.replace(/ +$/gm, '').replace(/\n+$/, '')

for (const name of names) {
  test(name, async () => {
    const raw = readFileSync(join(folder, `${name}.raw`))
    const text = readFileSync(join(folder, `${name}.txt`), 'utf8')
    assert.is(await clean(raw, [Infinity], size), text)
    for (const sizes of manySizes) assert.is(await clean(raw, sizes, size), text)
    assert.is(withoutBlanks(text), await terminalText(raw), 'what an emulated terminal shows')
  })
}

test('there are recordings', () => {
  assert.ok(names.length >= 12)
})

test.run()
