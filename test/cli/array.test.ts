import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../helpers/cli.ts'
import { findHolder, openHome } from '../helpers/jobs.ts'
import { hear, until } from '../helpers/until.ts'

test('each line of stdin is a task, and the summary names those that failed', async () => {
  const home = openHome()
  try {
    const commands = 'echo one\n\n  echo two; false\n# nothing\nsleep 0.1; echo "it\'s three"\n'
    const { stdout, stderr, status } = await home.run(['--array', '-', '--jobs', '1'], commands)
    assert.is(stdout.toString(), "one\ntwo\nit's three\n")
    assert.match(
      stderr.toString(),
      /^nacre: 4 tasks: 3 succeeded, 1 failed\nnacre: {3}exit 1 {2}1 {2}task 2\nnacre: slowest: task \d, .*\n$/,
    )
    assert.is(status, 1)
  } finally {
    await home.close()
  }
})

test('a prompt to a model is no task', async () => {
  const home = openHome()
  try {
    const { stderr, status } = await home.run(['--array', '3', '-p', 'hello'])
    assert.is(status, 125)
    assert.match(stderr.toString(), /^nacre: An array runs a command, not a prompt: /)
  } finally {
    await home.close()
  }
})

test('an array in the background is held, waited for, and its tasks are told', async () => {
  const home = openHome()
  try {
    const command = 'echo "task $NACRE_TASK"; exit $((NACRE_TASK == 2))'
    const { stdout } = await home.run(['--array', '3', '--background', '--quiet', '-c', command])
    const id = stdout.toString().trim()
    assert.is((await home.run(['job', 'wait', id, '--quiet'])).status, 1)
    const read = await home.run(['job', 'read', id])
    assert.equal(read.stdout.toString().trim().split('\n').sort(), ['task 1', 'task 2', 'task 3'])
    const tasks = (await home.run(['job', 'tasks', id])).stdout.toString()
    assert.match(tasks, /^TASK .*\n1 +exit 0 .*\n2 +exit 1 .*\n3 +exit 0 .*\n$/)
  } finally {
    await home.close()
  }
})

test('an array leaves no file for a task whose result tells all that it wrote', async () => {
  const home = openHome()
  try {
    const plain = await home.run(['--array', '9', '-c', 'echo "$NACRE_TASK"'])
    assert.is(plain.stdout.toString().trim().split('\n').length, 9)
    const artifacts = join(home.env['XDG_STATE_HOME'] ?? '', 'nacre', 'artifacts')
    assert.equal(existsSync(artifacts) ? readdirSync(artifacts) : [], [])
    const coloured = 'printf "\\033[31m$NACRE_TASK\\033[m\\377\n"'
    const { stdout } = await home.run(['--array', '2', '--jobs', '1', '-c', coloured])
    assert.is(stdout.toString('latin1'), '\x1b[31m1\x1b[m\xff\n\x1b[31m2\x1b[m\xff\n')
  } finally {
    await home.close()
  }
})

test('what has ended survives a kill of its holder, and the rest is named', async () => {
  const home = openHome()
  try {
    const [program = '', ...words] = cliCommand()
    const command =
      'printf "task $NACRE_TASK\\r\\n"; [ "$NACRE_TASK" -le 3 ] || sleep 300; exit "$NACRE_TASK"'
    const given = ['--array', '6', '--jobs', '2', '--output-format', 'stream-json', '-c', command]
    const child = spawn(program, [...words, ...given], {
      env: { ...process.env, ...home.env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let told = ''
    child.stdout.on('data', (bytes: Buffer) => (told += bytes.toString()))
    await until(
      () => told.split('"type":"task"').length === 4,
      () => told,
    )
    const gone = hear(child, 'exit')
    process.kill(await findHolder(home.env['XDG_STATE_HOME'] ?? ''), 'SIGKILL')
    await gone
    const { id } = JSON.parse(told.split('\n')[0] ?? '') as { id: string }
    const shown = await home.json(['job', 'show', id])
    assert.is(shown['status'], 'lost')
    const said =
      'The nacre that held it is gone; 3 of 6 tasks have no result: --array 4-6 runs them'
    assert.equal(shown['error'], { code: 'job_lost', message: said })
    const summary = shown['tasks'] as Record<string, unknown>
    assert.is(summary['left'], '4-6')
    assert.equal(summary['failures'], [1, 2, 3])
    const ends = (await home.run(['job', 'tasks', id])).stdout.toString()
    assert.match(ends, /^TASK .*\n1 +exit 1 .*\n2 +exit 2 .*\n3 +exit 3 .*\n$/)
  } finally {
    await home.close()
  }
})

test('an array goes on when the nacre that shows it is killed', async () => {
  const home = openHome()
  try {
    const [program = '', ...words] = cliCommand()
    const command = '[ "$NACRE_TASK" = 1 ] || sleep 1; echo "task $NACRE_TASK"'
    const child = spawn(program, [...words, '--array', '3', '--jobs', '1', '-c', command], {
      env: { ...process.env, ...home.env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let told = ''
    child.stdout.on('data', (bytes: Buffer) => (told += bytes.toString()))
    await until(() => told === 'task 1\n')
    const gone = hear(child, 'exit')
    child.kill('SIGKILL')
    await gone
    const [job] = await home.list()
    const id = String(job?.['id'])
    assert.is((await home.run(['job', 'wait', id, '--quiet'])).status, 0)
    const read = await home.run(['job', 'read', id])
    assert.is(read.stdout.toString(), 'task 1\ntask 2\ntask 3\n')
  } finally {
    await home.close()
  }
})

test.run()
