import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readDocument } from '../../lib/config/said.ts'
import { withHome } from '../helpers/home.ts'

const key = fc.stringMatching(/^[a-z_]{1,8}$/)

test(
  'any object is read as JSON.parse reads it, and each key is found in its line',
  withHome(async (home) => {
    const { userFile } = home
    const value = fc.dictionary(
      key,
      fc.oneof(fc.string(), fc.double(), fc.boolean(), fc.constant(null)),
    )
    await fc.assert(
      fc.asyncProperty(fc.dictionary(key, fc.oneof(value, fc.array(value))), async (object) => {
        const text = JSON.stringify(object, null, 1)
        home.write(userFile, text)
        const document = await readDocument(userFile)
        assert.equal(document?.value, JSON.parse(text))
        const lines = text.split('\n')
        for (const name of Object.keys(object)) {
          const line = lines.findIndex((it) => it.startsWith(` ${JSON.stringify(name)}:`)) + 1
          assert.is(document?.placeOf(name), `${userFile}:${line}`)
        }
      }),
      { numRuns: 60 },
    )
  }),
)

test(
  'a path that leads nowhere is where it left the text',
  withHome(async (home) => {
    const { userFile } = home
    home.write(userFile, '{\n"a": [\n1,\n{"b": 2}]}')
    const document = await readDocument(userFile)
    const lineOf = (path: string) => document?.placeOf(path).slice(userFile.length + 1)
    assert.is(lineOf('a'), '2')
    assert.is(lineOf('a[1].b'), '4')
    assert.is(lineOf('a[1].c'), '4')
    assert.is(lineOf('x.y'), '1')
  }),
)

test.run()
