import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../lib/executor/executor.ts'
import { cliCommand } from '../helpers/cli.ts'
import { findFreePorts } from '../helpers/free-port.ts'
import { type Home, openHome } from '../helpers/jobs.ts'
import { isAlive } from '../helpers/terminal-run.ts'
import { hear, until } from '../helpers/until.ts'

const test = suite<{ home: Home }>('job')
test.before.each((context) => {
  context.home = openHome()
})
test.after.each(({ home }) => home.close())

test('a background start answers at once, with how to come back to it', async ({ home }) => {
  const { stdout, stderr, status } = await home.run(['-c', 'echo out; sleep 60', '--background'])
  assert.is(status, 0)
  const [job] = await home.list()
  assert.is(stdout.toString(), `${String(job?.['job_id'])}\n`)
  const said = stderr.toString()
  assert.is(job?.['status'], 'running')
  assert.match(said, `Running as job ${String(job?.['job_id'])} (process ${String(job?.['pid'])})`)
  assert.match(said, /Its output: \/.*\.log\n/)
  for (const word of ['read', 'wait', 'kill']) {
    assert.match(said, `nacre job ${word} ${String(job?.['job_id'])}`)
  }
})

test('a background start that waits until it is ready gives the id alone, and no id where that has ended', async ({
  home,
}) => {
  const start = async (command: string) => {
    const words = ['-c', command, '--background', '--ready', 'regex:^up', '--quiet']
    const { stdout, stderr, status } = await home.run(words)
    return [stdout.toString(), stderr.toString(), status]
  }
  const [id, ...rest] = await start('echo up; sleep 60')
  assert.equal([id, ...rest], [`${String((await home.list())[0]?.['job_id'])}\n`, '', 0])
  assert.equal(await start('echo failed; exit 3'), ['', 'failed\n', 3])
})

test('the list of jobs tells which record is damaged', async ({ home }) => {
  const { job_id: id } = await home.json(['-c', 'true', '--wait', '0'])
  await home.run(['job', 'wait', String(id)])
  const record = join(home.dir, 'ended', `${String(id)}.json`)
  writeFileSync(record, '{"command":null}')
  const list = await home.run(['job', 'list'])
  assert.is(list.status, 0)
  assert.is(list.stderr.toString(), `nacre: A damaged record is left out; remove it: ${record}\n`)
  const request = { jsonrpc: '2.0', id: 1, method: 'shell.list' }
  const { stdout } = await home.run(['--rpc'], `${JSON.stringify(request)}\n`)
  const answer = stdout.toString()
  assert.ok(answer.includes(`"damaged":["${record}"]`), answer)
})

test('the exit status of a job is exact, and that of `wait`', async ({ home }) => {
  const cases: [command: string, status: number, fields: object][] = [
    ['exit 0', 0, { status: 'exited', exit_code: 0, signal: null }],
    ['exit 7', 7, { status: 'exited', exit_code: 7, signal: null }],
    ['kill -SEGV $$', 139, { status: 'signaled', exit_code: null, signal: 'SIGSEGV' }],
    ['no-such-program-here', 127, { status: 'exited', exit_code: 127, signal: null }],
  ]
  for (const [command, wanted, fields] of cases) {
    const { job_id: id } = await home.json(['-c', command, '--wait', '0'])
    const waited = await home.run(['job', 'wait', String(id), '--output-format', 'json'])
    assert.is(waited.status, wanted, command)
    const result = JSON.parse(waited.stdout.toString()) as Record<string, unknown>
    for (const [name, value] of Object.entries(fields)) assert.is(result[name], value, command)
    assert.is((await home.run(['job', 'wait', String(id)])).status, wanted, 'after its end')
  }
})

test('what ends while its caller waits is no job', async ({ home }) => {
  const { stdout, stderr, status } = await home.run([
    '-c',
    'echo out; echo err >&2; exit 3',
    '--wait',
    '60',
  ])
  assert.is(status, 3)
  assert.is(stdout.toString(), 'out\n')
  assert.is(stderr.toString(), 'err\n')
  assert.equal(await home.list(), [])
})

test('a while is waited for, its output live, then it goes on', async ({ home }) => {
  const { stdout, status } = await home.run(['-c', 'echo early; sleep 60', '--wait', '3'])
  assert.is(status, 0)
  assert.is(stdout.toString(), 'early\n')
  assert.is((await home.list())[0]?.['status'], 'running')
})

test('at its deadline a run goes on as a job', async ({ home }) => {
  const options = ['--timeout', '0.5', '--on-timeout', 'background']
  const result = await home.json(['-c', 'echo early; read x; exit 5', ...options, '--open-stdin'])
  assert.is(result['status'], 'running')
  const id = String(result['job_id'])
  await home.run(['job', 'write', id, '--eof'])
  assert.is((await home.run(['job', 'wait', id])).status, 5)
})

test('ready: a line, a port, a pause', async ({ home }) => {
  const line = await home.json([
    '-c',
    'echo a; echo up; cat',
    '--ready',
    'regex:^up$',
    '--open-stdin',
  ])
  assert.is(line['status'], 'running')
  assert.is(line['output'], 'a\nup\n')

  const quiet = await home.json(['-c', 'echo once; sleep 60', '--ready', 'quiet:2000'])
  assert.is(quiet['status'], 'running')
  assert.is(quiet['output'], 'once\n')
  const ended = await home.json(['-c', 'exit 4', '--ready', 'regex:never'])
  assert.is(ended['exit_code'], 4)
})

const listen =
  'require("node:net").createServer().listen(Number(process.argv[1]), () => console.log("listening"))'

test('ready: a port on which a process of the run listens', async ({ home }) => {
  const [port] = await findFreePorts(1)
  const command = `(setsid ${process.execPath} -e '${listen}' ${port}); sleep 60`
  const listening = await home.json(['-c', command, '--ready', `port:${port}`])
  assert.is(listening['status'], 'running')
})

test('ready: a port on which another server listens already is not that of the run', async ({
  home,
}) => {
  const server = createServer().listen(0)
  await until(() => server.listening)
  const { port } = server.address() as AddressInfo
  try {
    const ended = await home.json(['-c', 'sleep 1; exit 4', '--ready', `port:${port}`])
    assert.is(ended['exit_code'], 4)
  } finally {
    server.close()
  }
})

test('ready: a line that never ends was looked at as a whole again with each piece', async ({
  home,
}) => {
  const endless = "head -c 100000 /dev/zero | tr '\\0' x; sleep 0.06"
  const command = `for i in {1..30}; do ${endless}; done; echo; echo up; sleep 60`
  const started = await home.json(['-c', command, '--ready', 'regex:x{1,100}R|^up$'])
  assert.equal([started['status'], started['notices']], ['running', []])
})

test('ready: a pattern that never comes to an end holds nobody up', async ({ home }) => {
  const command = `echo ${'a'.repeat(40)}!; sleep 60`
  const started = await home.json(['-c', command, '--ready', 'regex:^(a+)+$'])
  assert.is(started['status'], 'running')
  assert.match(String(started['notices']), /the pattern of `ready` takes more than 1000 ms/)
})

test('reading with a cursor misses nothing and repeats nothing', async ({ home }) => {
  const id = await home.start(
    'for i in $(seq 3000); do echo line $i; done; echo up; read; echo last é',
    '--open-stdin',
  )
  let text = ''
  const read = async (cursor: unknown) => {
    const part = await home.json(['job', 'read', id, '--cursor', String(cursor)])
    text += String(part['text'])
    return part
  }
  let first = await read(0)
  while (Number(first['more_bytes']) > 0) first = await read(first['cursor'])
  await home.run(['job', 'write', id, '--line'])
  await home.run(['job', 'wait', id])
  const second = await read(first['cursor'])
  const wanted = `${Array.from({ length: 3000 }, (_, i) => `line ${i + 1}\n`).join('')}up\nlast é\n`
  assert.is(text, wanted)
  assert.is(first['status'], 'running')
  assert.is(second['status'], 'exited')
  assert.is(second['cursor'], Buffer.byteLength(wanted))
  const { stdout, stderr } = await home.run(['job', 'read', id])
  assert.is(stdout.toString(), wanted.split('\n').slice(0, 2000).join('\n') + '\n')
  const cursor = stdout.length
  const more = Buffer.byteLength(wanted) - cursor
  assert.is(stderr.toString(), `nacre: ${more} bytes more; next: --cursor ${cursor}\n`)
})

test('the list answers while thousands of lines flow', async ({ home }) => {
  const id = await home.start('echo up; while :; do echo flood; done')
  let cursor = 0
  for (let turn = 0; turn < 5; turn++) {
    assert.is((await home.list())[0]?.['status'], 'running')
    const read = await home.json(['job', 'read', id, '--cursor', String(cursor)])
    assert.ok(Number(read['cursor']) > cursor)
    cursor = Number(read['cursor'])
  }
  assert.is((await home.json(['job', 'kill', id]))['reason'], 'kill')
})

test('a job is written to, and says when it waits for that', async ({ home }) => {
  const id = await home.start('echo up; read -r x; echo "got $x"; cat; exit 9', '--open-stdin')
  await until(async () => {
    const shown = await home.json(['job', 'show', id])
    return shown['waiting_for_input'] === 'line'
  })
  assert.is((await home.run(['job', 'write', id, 'it is', '--line'])).status, 0)
  assert.is((await home.run(['job', 'write', id, 'rest', '--eof'])).status, 0)
  assert.is((await home.run(['job', 'wait', id])).status, 9)
  assert.is((await home.json(['job', 'read', id]))['text'], 'up\ngot it is\nrest')
  const late = await home.run(['job', 'write', id, 'x'])
  assert.is(late.status, 125)
  assert.match(late.stderr.toString(), /takes no input any more|has ended/)
})

test('a job on a terminal is typed into', async ({ home }) => {
  const id = await home.start('stty -echo; echo up; read -r x; echo "got $x"', '--pty')
  await home.run(['job', 'write', id, 'typed', '--line'])
  assert.is((await home.run(['job', 'wait', id])).status, 0)
  assert.match(String((await home.json(['job', 'read', id]))['text']), 'got typed')
})

test('a job without an open input says how it is given one', async ({ home }) => {
  const id = await home.start('echo up; sleep 60')
  const { status, stderr } = await home.run(['job', 'write', id, 'x'])
  assert.is(status, 125)
  assert.match(stderr.toString(), 'with an open stdin')
})

test('kill ends everything and keeps the first reason', async ({ home }) => {
  const id = await home.start('trap "" TERM; setsid sleep 77 & echo $!; echo up; wait')
  const pid = Number(/^\d+/.exec(String((await home.json(['job', 'read', id]))['text']))?.[0])
  assert.ok(isAlive(pid))
  const killed = await home.json(['job', 'kill', id])
  assert.is(killed['status'], 'stopped')
  assert.is(killed['reason'], 'kill')
  assert.not.ok(isAlive(pid))
  assert.is((await home.json(['job', 'kill', id]))['reason'], 'kill')
})

test('wait is bounded, and says that the job runs on', async ({ home }) => {
  const id = await home.start('echo up; sleep 60')
  const { status, stderr } = await home.run(['job', 'wait', id, '--timeout', '0.1'])
  assert.is(status, 124)
  assert.match(stderr.toString(), 'running after')
})

test("the standard input of the call is the command's", async ({ home }) => {
  const { stdout, status } = await home.run(['-c', 'cat; exit 6', '--wait', '60'], 'given')
  assert.is(stdout.toString(), 'given')
  assert.is(status, 6)
})

test('ids may be shortened; unknown and ambiguous ones are told in a sentence', async ({
  home,
}) => {
  const id = await home.start('echo up; sleep 60')
  assert.is((await home.json(['job', 'show', id.slice(4, 10)]))['id'], id)
  assert.is((await home.json(['job', 'show', id.slice(0, 10)]))['id'], id)
  await home.start('echo up; sleep 60')
  const ambiguous = await home.run(['job', 'show', 'run_'])
  assert.is(ambiguous.status, 125)
  assert.match(ambiguous.stderr.toString(), '2 jobs begin with `run_`')
  const unknown = await home.run(['job', 'read', 'zzzzzzzzzz'])
  assert.is(unknown.status, 125)
  assert.is(
    unknown.stderr.toString(),
    'nacre: There is no job `zzzzzzzzzz`; the list of jobs (nacre job list) has their ids\n',
  )
  const action = await home.run(['job', 'lst'])
  assert.match(action.stderr.toString(), 'did you mean `list`?')
})

test('a job whose record is damaged is told with its file, and is no success', async ({ home }) => {
  const id = String((await home.json(['-c', 'echo up', '--wait', '0']))['job_id'])
  await home.run(['job', 'wait', id])
  const file = join(home.dir, 'ended', `${id}.json`)
  // The record of a job that ends is there twice for a moment.
  await until(() => !existsSync(join(home.dir, `${id}.json`)))
  const half = readFileSync(file, 'utf8').replace('"duration_ms"', '"duration"')
  for (const text of ['{"id":', half]) {
    writeFileSync(file, text)
    for (const action of ['show', 'read', 'wait', 'kill']) {
      const { status, stderr } = await home.run(['job', action, id])
      assert.is(status, 125, action)
      const said = `nacre: The record of job \`${id}\` is damaged; remove it: ${file}\n`
      assert.is(stderr.toString(), said)
    }
  }
})

test('a denied command, a missing directory and wrong words are answered as without a job', async ({
  home,
}) => {
  assert.is((await home.run(['-c', 'rm -rf /', '--background'])).status, 126)
  const missing = await home.run(['-c', 'true', '--background', '--cwd', '/no/such/folder'])
  assert.is(missing.status, 125)
  assert.match(missing.stderr.toString(), 'Working directory does not exist: /no/such/folder')
  const wrong = await home.run(['-c', 'true', '--ready', 'moon:full'])
  assert.is(wrong.status, 125)
  assert.match(wrong.stderr.toString(), '`ready` must be')
  assert.equal(await home.list(), [])
})

test('Ctrl-C during the wait stops the run', async ({ home }) => {
  const [program = '', ...words] = cliCommand()
  const child = spawn(program, [...words, '-c', 'echo $$; sleep 60', '--wait', '60'], {
    env: { ...process.env, ...home.env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [text] = (await hear(child.stdout, 'data')) as [Buffer]
  const pid = Number(text.toString())
  const exited = hear(child, 'exit')
  child.kill('SIGINT')
  assert.equal(await exited, [null, 'SIGINT'])
  assert.not.ok(isAlive(pid))
  assert.equal(await home.list(), [])
})

test('nobody else can read a job, and nothing is left but its record', async ({ home }) => {
  const id = await home.start('echo up; sleep 60')
  assert.is(statSync(home.dir).mode & 0o777, 0o700)
  for (const name of readdirSync(home.dir)) {
    assert.is(statSync(join(home.dir, name)).mode & 0o077, 0, name)
  }
  const secret = await home.start('echo up; sleep 60', '--env', 'TOKEN=hidden-value')
  for (const name of readdirSync(home.dir).filter((it) => !it.endsWith('.sock'))) {
    assert.not.match(readFileSync(join(home.dir, name), 'latin1'), 'hidden-value')
  }
  for (const job of [id, secret]) await home.run(['job', 'kill', job])
  await until(() => !readdirSync(home.dir).some((name) => /\.(sock|new)$/.test(name)))
  const left = [id, secret].flatMap((job) => [`${job}.json`, `${job}.text`])
  assert.equal(readdirSync(home.dir), ['ended'])
  assert.equal(readdirSync(join(home.dir, 'ended')).sort(), left.sort())
  assert.ok(existsSync(home.dir))
})

test('no more than 64 jobs are alive', async ({ home }) => {
  const { env } = home
  const executor = createExecutor({
    stateDir: join(env['XDG_STATE_HOME'] ?? '', 'nacre'),
    isHolder: true,
  })
  try {
    const start = () =>
      executor.run({ command: 'sleep 600', origin: 'rpc', waitSeconds: 0, login: false })
    for (let count = 0; count < 64; count++) assert.is((await start()).status, 'running')
    const refused = await home.json(['-c', 'sleep 60', '--background'])
    assert.is(refused['status'], 'not_started')
    assert.is((refused['error'] as { code: string }).code, 'too_many_jobs')
    const jobs = await home.list()
    assert.is(jobs.length, 64)
    assert.ok(jobs.every((job) => job['origin'] === 'rpc' && job['owner_alive'] === true))
    const killed = await home.json(['job', 'kill', String(jobs[0]?.['job_id'])])
    assert.is(killed['reason'], 'kill')
    assert.is((await start()).status, 'running')
  } finally {
    await executor.close()
  }
  const ended = await home.list()
  assert.ok(ended.every((job) => job['status'] === 'stopped'))
})

test('help shows how', async ({ home }) => {
  const { stdout, status } = await home.run(['job', '--help'])
  assert.is(status, 0)
  for (const word of ['list', 'show', 'read', 'wait', 'write', 'kill']) {
    assert.match(stdout.toString(), `nacre job ${word}`)
  }
  assert.match((await home.run(['--help'])).stdout.toString(), 'nacre job list|show')
})

test.run()
