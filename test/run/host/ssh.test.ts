import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor, type Executor } from '../../../lib/executor/executor.ts'
import type { RequestInput } from '../../../lib/protocol/request/request.ts'
import type { Result } from '../../../lib/protocol/result/result.ts'
import { findSshObstacle, makeClientFolder, startServer } from '../../helpers/ssh-host.ts'

const obstacle = findSshObstacle()
if (obstacle !== null) console.log(`SKIP runs on a host of ssh: ${obstacle}`)

interface Box {
  folder: string
  executor: Executor
  run: (command: string, changes?: Partial<RequestInput>) => Promise<Result>
}

/** A server whose banner and login say things that are not the command's. */
function onBox(name: string, check: (box: Box) => Promise<void>): void {
  if (obstacle !== null) return
  test(name, async () => {
    const server = await startServer('', ['Banner /etc/hostname', 'MaxSessions 50'])
    const folder = makeClientFolder(server)
    const executor = createExecutor({
      stateDir: null,
      environment: { ...process.env, PATH: `${folder}:${process.env['PATH']}` },
    })
    const run: Box['run'] = (command, changes) =>
      executor.run({ command, origin: 'print', host: 'box', guard: false, ...changes })
    try {
      await check({ folder, executor, run })
    } finally {
      await executor.close()
      await server.close()
    }
  })
}

const commands = [
  'echo out; echo err >&2; exit 3',
  'printf "no newline"',
  'printf "a\\0b\\377c" | od -c',
  'cat',
  'seq 1 20000 | tail -2',
  'kill -TERM $$',
  'false | true; echo "${PIPESTATUS[@]}"',
  'echo "it\'s" "$HOME" `echo x` $((1+2)) \\\\ !x',
  'nosuchprogram',
  'if',
  'test -t 0 || echo no terminal',
  'echo $0',
]

onBox('commands give there what bash gives here', async ({ run }) => {
  const check = async (command: string) => {
    const there = await run(command, { streams: 'separate' })
    const here = spawnSync('bash', ['-c', command], { input: '', encoding: 'utf8' })
    // The shell that waits there sees an end by a signal as 128 + its number.
    const status = here.status ?? 128 + constants.signals[here.signal ?? 'SIGTERM']
    assert.is(there.exitCode, status, `${command}: ${JSON.stringify(there)}`)
    assert.is(there.stdout, here.stdout, command)
    assert.is(there.stderr, here.stderr, command)
    assert.is(there.host, 'box')
  }
  await Promise.all(commands.map(check))
})

onBox('input, variables and directory come along', async ({ run }) => {
  const result = await run('cat; echo "$MINE"; pwd', {
    stdin: { kind: 'text', text: 'given\n' },
    env: { MINE: "it's" },
    cwd: '/usr',
  })
  assert.is(result.output ?? result.stdout, "given\nit's\n/usr\n")
  const missing = await run('true', { cwd: '/does not/exist' })
  assert.is(missing.status, 'not_started')
  assert.is(missing.error?.message, 'Working directory does not exist: /does not/exist')
})

onBox('a stop ends everything there', async ({ run }) => {
  const result = await run(
    'trap "" TERM; (setsid sh -c "trap : TERM; while :; do sleep 7461; done" &); sleep 7462',
    { timeoutSeconds: 4 },
  )
  assert.is(result.status, 'stopped')
  assert.is(result.reason, 'timeout')
  assert.equal(findProcesses('sleep\u0000746'), [])
})

onBox('a child that goes on holds up nobody', async ({ run }) => {
  const result = await run('sleep 7463 & echo started')
  assert.is(result.stdout ?? result.output, 'started\n')
  for (const pid of findProcesses('sleep\u00007463')) process.kill(pid, 'SIGKILL')
})

onBox('a run on a terminal has a terminal there', async ({ run }) => {
  const result = await run('tty; stty size', { pty: true, columns: 100, rows: 30 })
  assert.match(result.output ?? '', /^\/dev\/pts\/\d+\n30 100\n$/)
})

onBox('a lost connection is a result', async ({ executor, folder }) => {
  const run = await executor.start({
    command: 'echo begun; sleep 7464',
    origin: 'print',
    host: 'box',
    guard: false,
  })
  for await (const line of run.lines()) {
    assert.is(line, 'begun')
    break
  }
  // The server's process of this connection; what listens stays.
  const config = join(folder, 'config')
  const listening = findProcesses(config)
  const connections = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, parent = 0]) => listening.includes(parent))
  for (const [pid = 0] of connections) process.kill(pid, 'SIGKILL')
  const result = await run.ended
  assert.is(result.status, 'lost')
  assert.match(result.error?.message ?? '', /^The connection to box was lost/)
  for (let look = 0; look < 500 && findProcesses('sleep\u00007464').length > 0; look++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  assert.equal(findProcesses('sleep\u00007464'), [], 'the end of its input ends it there')
})

onBox('a host that lets nobody in did not start anything', async ({ folder, run }) => {
  writeFileSync(join(folder, 'authorized'), '')
  const result = await run('echo in')
  assert.is(result.status, 'not_started')
  assert.is(result.error?.code, 'host_unreachable')
  assert.match(
    result.error?.message ?? '',
    /^The host box could not be reached: .*Permission denied/,
  )
})

onBox('a host has the name that the configuration gives it', async ({ folder }) => {
  const executor = createExecutor({
    stateDir: null,
    environment: { ...process.env, PATH: `${folder}:${process.env['PATH']}` },
    hosts: { mine: 'ssh://box' },
  })
  try {
    const result = await executor.run({ command: 'echo in', origin: 'print', host: 'mine' })
    assert.is(result.stdout ?? result.output, 'in\n')
    assert.is(result.host, 'mine')
  } finally {
    await executor.close()
  }
})

onBox('a sandbox does not reach there', async ({ run }) => {
  const result = await run('true', { sandbox: 'workspace' })
  assert.is(result.error?.code, 'sandbox_unavailable')
})

function findProcesses(words: string): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(words)
      } catch {
        return false
      }
    })
    .map(Number)
}

test.run()
