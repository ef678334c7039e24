import { appendFileSync, chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openHistory, recall } from '../../../lib/repl/line/history.ts'

const directory = mkdtempSync(join(tmpdir(), 'nacre-history-'))
const file = (name: string) => join(directory, name, 'history')
const quiet = () => assert.unreachable()
const texts = (path: string, warn: (sentence: string) => void = quiet) =>
  openHistory(path, warn)
    .list()
    .map(({ kind, text }) => `${kind} ${text}`)

test.after(() => rmSync(directory, { recursive: true }))

test('keeps what was typed, where and how it ended, in a private file', () => {
  const path = file('kept')
  const history = openHistory(path, quiet)
  history.add({ kind: 'command', text: 'make', cwd: '/a' })(2)
  history.add({ kind: 'prompt', text: 'why?', cwd: '/b' })
  assert.equal(openHistory(path, quiet).list(), [
    { kind: 'command', text: 'make', cwd: '/a', exitCode: 2 },
    { kind: 'prompt', text: 'why?', cwd: '/b', exitCode: null },
  ])
  assert.is(statSync(path).mode & 0o777, 0o600)
})

test('has each text once, where it was used last, and none that begins with a space', () => {
  const path = file('once')
  const history = openHistory(path, quiet)
  for (const text of ['a', 'b', 'a', ' secret']) history.add({ kind: 'command', text, cwd: '' })
  assert.equal(texts(path), ['command b', 'command a'])
})

test('never recalls a prompt as a command, nor a command as a prompt', () => {
  const base = { cwd: '', exitCode: null }
  const command = { kind: 'command', text: 'git status', ...base } as const
  const prompt = { kind: 'prompt', text: 'rm the old build folder', ...base } as const
  assert.is(recall(command, true), 'git status')
  assert.is(recall(command, false), '! git status')
  assert.is(recall(prompt, false), 'rm the old build folder')
  assert.is(recall(prompt, true), null)
})

test('passes over what is torn or no entry, and says so', () => {
  const path = file('torn')
  openHistory(path, quiet).add({ kind: 'prompt', text: 'first', cwd: '' })
  appendFileSync(path, '"ls"\n{"kind":"comm')
  const told: string[] = []
  assert.equal(
    texts(path, (sentence) => told.push(sentence)),
    ['prompt first'],
  )
  assert.equal(told, [`2 lines of ${path} cannot be read`])
  assert.equal(texts(file('none')), [])
})

test('says once where nothing can be kept, and goes on', () => {
  if (process.getuid?.() === 0) return console.log('SKIP history that cannot be written: root may')
  const path = file('lost')
  openHistory(path, quiet).add({ kind: 'prompt', text: 'a', cwd: '' })
  chmodSync(path, 0o400)
  const told: string[] = []
  const history = openHistory(path, (sentence) => told.push(sentence))
  history.add({ kind: 'prompt', text: 'b', cwd: '' })
  history.add({ kind: 'prompt', text: 'c', cwd: '' })
  assert.match(told.join('\n'), /^History is not kept.*$/)
  assert.is(history.list().length, 3)
  assert.not.match(readFileSync(path, 'utf8'), /"c"/)
})

test.run()
