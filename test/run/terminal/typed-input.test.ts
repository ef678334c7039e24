import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startTerminal } from '../../helpers/terminal-run.ts'
import { hear } from '../../helpers/until.ts'

test('a given text is typed, echoed, and ended', async () => {
  for (const text of ['', 'one\ntwo\n', 'no end of line']) {
    const stdin = { kind: 'text', text } as const
    const run = await startTerminal('test -t 0; tty=$?; stty -echo; cat; exit $tty', { stdin })
    assert.is((await run.exited).code, 0, JSON.stringify(text))
    assert.ok(run.text().endsWith(text.replaceAll('\n', '\r\n')), JSON.stringify(run.text()))
  }
})

test('a descriptor is typed to its end, whatever its size, and stays open', async () => {
  const path = join(tmpdir(), `typed-${process.pid}`)
  const lines = Array.from({ length: 40_000 }, (_, index) => `line ${index}\n`).join('')
  writeFileSync(path, lines)
  const fd = openSync(path, 'r')
  const run = await startTerminal('stty -echo; wc -c', { stdin: { kind: 'descriptor', fd } })
  assert.is((await run.exited).code, 0)
  assert.match(run.text(), String(lines.length))
  assert.is(readFileSync(fd, 'utf8'), '')
  closeSync(fd)
  rmSync(path)
})

test('an input without end keeps neither the run nor nacre from ending', async () => {
  const fixture = join(import.meta.dirname, '../../../fixtures/programs/type-stdin.ts')
  const command = 'read x; echo "got $x"'
  const child = spawn(process.execPath, ['--import', 'tsx', fixture, command], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.write('one\n')
  child.stdout.setEncoding('utf8')
  let text = ''
  for await (const piece of child.stdout) text += piece
  assert.match(text, 'got one')
  if (child.exitCode === null) await hear(child, 'exit')
  assert.is(child.exitCode, 0)
  child.stdin.destroy()
})

test.run()
