import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../../helpers/cli.ts'
import { testTogether } from '../../helpers/together.ts'
import { until } from '../../helpers/until.ts'

/** A folder of clients, at the front of the PATH. */
const bin = mkdtempSync(join(tmpdir(), 'clients-'))

interface Answer {
  id: number
  result?: { status: string; stdout: string; error?: { code: string } }
  error?: { message: string }
}

/** Eight commands at once, half of them in sessions, under a limit of open files. */
async function askAll(limit: number, fields: object = {}): Promise<Answer[]> {
  const lines = Array.from({ length: 8 }, (_, id) => {
    const session = id % 2 === 0 ? { session: `s${id}` } : {}
    const params = { command: `sleep 0.2; echo ${id}`, shell: 'bash', ...session, ...fields }
    return JSON.stringify({ jsonrpc: '2.0', id, method: 'shell.exec', params })
  })
  const line = `ulimit -n ${limit}; exec "$@"`
  const words = ['-c', line, '_', ...cliCommand(), '--rpc']
  const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}` }
  const child = spawn('bash', words, { env })
  let [told, wrong] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (told += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (wrong += text))
  const closed = once(child, 'close')
  child.stdin.write(lines.map((text) => `${text}\n`).join(''))
  const answers = () => told.split('\n').slice(0, -1)
  // After its end of input it would not wait as long as a busy machine takes.
  await until(
    () => answers().length === lines.length || child.exitCode !== null,
    () => told,
  )
  child.stdin.end()
  const [status] = (await closed) as [number | null]
  assert.is(wrong, '')
  assert.is(status, 0)
  return answers().map((text) => JSON.parse(text) as Answer)
}

async function tryLimit(limit: number): Promise<void> {
  const answers = await askAll(limit)
  assert.is(answers.length, 8)
  for (const { id, result, error } of answers) {
    assert.is(error, undefined, error?.message)
    if (result?.status === 'exited') assert.is(result.stdout, `${id}\n`)
    else assert.is(result?.error?.code, 'too_many_files', JSON.stringify(result))
  }
  if (limit === 200) assert.ok(answers.every(({ result }) => result?.status === 'exited'))
}

for (const few of [
  [24, 26, 27, 28],
  [30, 41, 200],
]) {
  const trials = few.map((limit) => [
    `a server that may open ${limit} files runs what it can and says what it cannot`,
    () => tryLimit(limit),
  ])
  testTogether(Object.fromEntries(trials))
}

test('a session on a host without descriptors for its client ended nacre', async () => {
  const client = '#!/bin/sh\nwhile [ "$1" != box ]; do shift; done; shift; exec "$@"\n'
  writeFileSync(join(bin, 'docker'), client, { mode: 0o755 })
  for (const limit of [40, 50, 60]) {
    const answers = await askAll(limit, { host: 'docker://box' })
    assert.equal(new Set(answers.map(({ id }) => id)).size, 8)
  }
})

test.after(() => rmSync(bin, { recursive: true }))

test.run()
