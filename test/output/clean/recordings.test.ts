import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { clean, manySizes } from '../clean.ts'
import { copyFromTerminal, withoutBlanks } from '../terminal.ts'

const folder = join(import.meta.dirname, '../../../fixtures/output')
const names = readdirSync(folder)
  .filter((name) => name.endsWith('.raw'))
  .map((name) => name.slice(0, -'.raw'.length))
const size = { rows: 30, columns: 100 }

for (const name of names) {
  test(name, async () => {
    const raw = readFileSync(join(folder, `${name}.raw`))
    const text = readFileSync(join(folder, `${name}.txt`), 'utf8')
    assert.is(await clean(raw, [Infinity], size), text)
    for (const sizes of manySizes) assert.is(await clean(raw, sizes, size), text)
    assert.is(withoutBlanks(text), await copyFromTerminal(raw, size), 'what a person would copy')
  })
}

test('there are recordings', () => {
  assert.ok(names.length >= 30)
})

test.run()
