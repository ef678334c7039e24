import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../helpers/cli.ts'
import { findHolder, type Home, openHome } from '../helpers/jobs.ts'
import { isAlive } from '../helpers/terminal-run.ts'
import { hear, until } from '../helpers/until.ts'

/** What lies between print and the process that holds its run. */
const test = suite<{ home: Home }>('supervise')
test.before.each((context) => {
  context.home = openHome()
})
test.after.each(({ home }) => home.close())

function startCli(home: Home, args: string[]) {
  const [program = '', ...words] = cliCommand()
  const child = spawn(program, [...words, ...args], {
    env: { ...process.env, ...home.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (said.stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (said.stderr += chunk.toString()))
  return { child, said, ended: hear(child, 'close') }
}

const findSupervisor = (home: Home) => findHolder(home.env['XDG_STATE_HOME'] ?? '')

test('every byte of a run that is waited for comes through, however many', async ({ home }) => {
  const command =
    'head -c 3000000 /dev/urandom > bytes; cat bytes; cat bytes >&2; sha1sum < bytes > sum'
  const cwd = home.env['XDG_STATE_HOME'] ?? ''
  const wait = ['--cwd', cwd, '--wait', '60']
  const { stdout, stderr, status } = await home.run(['-c', command, ...wait])
  assert.is(status, 0)
  const { stdout: sum } = await home.run(['-c', 'cat sum', ...wait])
  for (const bytes of [stdout, stderr]) {
    assert.is(`${createHash('sha1').update(bytes).digest('hex')}  -\n`, sum.toString())
  }
})

test('U+2028 and other separators are text in commands, output and messages', async ({ home }) => {
  const text = 'a \u2028 b \u2029 c \u0085 d'
  const wait = ['--wait', '60']
  const { stdout } = await home.run(['-c', `printf '%s' '${text}'`, ...wait])
  assert.is(stdout.toString(), text)
  const events = await home.run(['-c', `echo '${text}'`, ...wait, '--output-format', 'stream-json'])
  const lines = events.stdout.toString().trimEnd().split('\n')
  const last = JSON.parse(lines.at(-1) ?? '') as Record<string, unknown>
  assert.equal([last['type'], last['command']], ['result', `echo '${text}'`])
  const missing = await home.run(['-c', 'true', ...wait, '--cwd', `/no/${text}`])
  assert.match(missing.stderr.toString(), `Working directory does not exist: /no/${text}`)
})

test('what is given on standard input reaches the command byte by byte', async ({ home }) => {
  const given = `first\n${'x'.repeat(300_000)}\u2028\n`
  const { stdout } = await home.run(['-c', 'cat', '--wait', '60'], given)
  assert.is(stdout.toString(), given)
})

test('a Ctrl-C during the wait ends the command as a terminal does, by INT', async ({ home }) => {
  const command = "trap 'echo interrupted; exit 7' INT; echo up; while :; do sleep 0.01; done"
  const { child, said, ended } = startCli(home, ['-c', command, '--wait', '60'])
  await until(
    () => said.stdout.includes('up'),
    () => said.stderr,
  )
  child.kill('SIGINT')
  assert.equal(await ended, [null, 'SIGINT'])
  assert.is(said.stdout, 'up\ninterrupted\n')
})

test('a signal that ends nacre is told as a shutdown, and Ctrl-C as a cancel', async ({ home }) => {
  const signals = { SIGTERM: 'shutdown', SIGHUP: 'shutdown', SIGINT: 'cancel' } as const
  for (const [signal, reason] of Object.entries(signals)) {
    const { child, said, ended } = startCli(home, [
      ...['-c', 'echo up; sleep 300', '--output-format', 'stream-json'],
    ])
    await until(
      () => said.stdout.includes('up'),
      () => said.stderr,
    )
    child.kill(signal as NodeJS.Signals)
    await ended
    assert.match(said.stdout, `"reason":"${reason}"`, signal)
  }
})

test('where its supervisor is killed the caller says so, and what to do', async ({ home }) => {
  const { said, ended } = startCli(home, ['-c', 'echo up; sleep 300', '--wait', '60'])
  await until(
    () => said.stdout.includes('up'),
    () => said.stderr,
  )
  process.kill(await findSupervisor(home), 'SIGKILL')
  assert.equal(await ended, [125, null])
  assert.match(said.stderr, /was killed; `nacre job list`/)
  assert.is((await home.list())[0]?.['owner_alive'], false)
})

test('a caller that is killed while it waits leaves a job that loses nothing', async ({ home }) => {
  const command = 'echo up; read x; seq 1 20000; exit 8'
  const { child, said, ended } = startCli(home, ['-c', command, '--wait', '60', '--open-stdin'])
  await until(
    () => said.stdout.includes('up'),
    () => said.stderr,
  )
  child.kill('SIGKILL')
  await ended
  const id = String((await home.list())[0]?.['job_id'])
  await home.run(['job', 'write', id, '--eof'])
  assert.is((await home.run(['job', 'wait', id])).status, 8)
  const tail = await home.json(['job', 'read', id, '--tail', '1'])
  assert.is(tail['text'], '20000\n')
})

test('a job begun by a run of another nacre outlives the stop of that run', async ({ home }) => {
  const [program = '', ...words] = cliCommand()
  const nacre = [program, ...words].map((word) => `'${word}'`).join(' ')
  const inner = `${nacre} -q -c 'echo up; sleep 300' --background --ready regex:up; echo started; sleep 300`
  const { child, said, ended } = startCli(home, ['-c', inner])
  await until(
    () => said.stdout.includes('started'),
    () => said.stderr,
  )
  child.kill('SIGTERM')
  await ended
  const [job, ...others] = await home.list()
  assert.equal(others, [])
  assert.equal([job?.['status'], job?.['owner_alive']], ['running', true])
  assert.ok(isAlive(Number(job?.['pid'])))
})

test('a job begun in a session ended with that session', async ({ home }) => {
  const [program = '', ...words] = cliCommand()
  const nacre = [program, ...words].map((word) => `'${word}'`).join(' ')
  await home.run([
    '--session',
    'one',
    '-c',
    `${nacre} -q -c 'read line; exit 8' --open-stdin --background`,
  ])
  const [job, ...others] = await home.list()
  assert.equal(others, [])
  assert.is(job?.['status'], 'running')
  await home.run(['job', 'write', String(job?.['job_id']), '--eof'])
  assert.is((await home.run(['job', 'wait', String(job?.['job_id'])])).status, 8)
})

test.run()
