import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openHistory } from '../../lib/modes/repl/history.ts'

function withFile(use: (file: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'nacre-history-'))
  try {
    use(join(folder, 'state/history'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('two nacres see what the other has added', () =>
  withFile((file) => {
    const one = openHistory(file)
    const other = openHistory(file)
    one.add('first')
    other.add('second')
    one.add('many\nlines')
    one.add('first')
    assert.equal(other.list(), ['second', 'many\nlines', 'first'])
  }))

test('a line that was cut does not hide the others', () =>
  withFile((file) => {
    const history = openHistory(file)
    history.add('before')
    appendFileSync(file, '"cut\n')
    history.add('after')
    assert.equal(history.list(), ['before', 'after'])
  }))

test('a history that has grown too long is cut to its newest 10,000, for its user only', () =>
  withFile((file) => {
    const history = openHistory(file)
    history.add('0')
    const more = Array.from({ length: 20_001 }, (_, index) => JSON.stringify(`${index + 1}`))
    appendFileSync(file, `${more.join('\n')}\n`)
    assert.is(history.list().length, 10_000)
    assert.is(readFileSync(file, 'utf8').trim().split('\n').length, 10_000)
    assert.is(history.list().at(-1), '20001')
    assert.is(statSync(file).mode & 0o777, 0o600)
  }))

test('where nothing can be written it is told once, and kept until the end', () =>
  withFile((file) => {
    writeFileSync(join(file, '../..', 'blocked'), '')
    const history = openHistory(join(file, '../..', 'blocked/history'))
    assert.match(history.add('first') ?? '', 'History is not kept: EEXIST')
    assert.is(history.add('second'), null)
    assert.equal(history.list(), ['first', 'second'])
  }))

test.run()
