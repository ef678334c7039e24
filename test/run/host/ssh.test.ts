import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { describeTools, findTool } from '../../../lib/agent/tools/tools.ts'
import { createExecutor, type Executor } from '../../../lib/executor/executor.ts'
import { createReach } from '../../../lib/executor/reach.ts'
import type { RequestInput } from '../../../lib/protocol/request/request.ts'
import type { Result } from '../../../lib/protocol/result/result.ts'
import { hostCommands, outputProbe, tryEscapes } from '../../helpers/host-commands.ts'
import { findSshObstacle, makeClientFolder, startServer } from '../../helpers/ssh-host.ts'
import { until } from '../../helpers/until.ts'

const obstacle = findSshObstacle()
if (obstacle !== null) console.log(`SKIP runs on a host of ssh: ${obstacle}`)

interface Box {
  folder: string
  executor: Executor
  run: (command: string, changes?: Partial<RequestInput>, signal?: AbortSignal) => Promise<Result>
}

/** A server whose banner and login say things that are not the command's. */
const server =
  obstacle === null ? await startServer('', ['Banner /etc/hostname', 'MaxSessions 50']) : null
const folder = server ? makeClientFolder(server) : ''
const openExecutor = (clientFolder = folder) =>
  createExecutor({
    stateDir: null,
    environment: { ...process.env, PATH: `${clientFolder}:${process.env['PATH']}` },
  })
const executor = openExecutor()
test.after(async () => {
  await executor.close()
  await server?.close()
})

function onBox(name: string, check: (box: Box) => Promise<void>): void {
  if (obstacle !== null) return
  const run: Box['run'] = (command, changes, signal) =>
    executor.run(
      { command, origin: 'print', host: 'box', guard: false, ...changes },
      signal && { signal },
    )
  test(name, () => check({ folder, executor, run }))
}

onBox('commands give there what bash gives here', async ({ run }) => {
  const check = async (command: string) => {
    const there = await run(command, { streams: 'separate' })
    const here = spawnSync('bash', ['-c', command], { input: '', encoding: 'utf8' })
    assert.is(there.exitCode, here.status, `${command}: ${JSON.stringify(there)}`)
    assert.is(there.signal, here.signal, command)
    assert.is(there.stdout, here.stdout, command)
    assert.is(there.stderr, here.stderr, command)
    assert.is(there.host, 'box')
    assert.is(there.cwd, userInfo().homedir)
  }
  await Promise.all(hostCommands.map(check))
  const { command, ...written } = outputProbe
  const { stdout, stderr } = await run(command, { streams: 'separate' })
  assert.equal({ stdout, stderr }, written)
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

onBox('a stop ends everything there that is known', async ({ run }) => {
  const left = await tryEscapes(7800, async (command, allBegan) => {
    const result = await run(command, {}, allBegan)
    assert.equal([result.status, result.reason, result.survivors], ['stopped', 'cancel', []])
  })
  assert.equal(left, ['a daemon without its environment'])
})

onBox('a child that goes on holds up nobody', async ({ run }) => {
  const result = await run('sleep 7463 & echo started')
  assert.is(result.stdout ?? result.output, 'started\n')
  const left = () => findProcesses('sleep\u00007463')
  await until(() => left().length > 0)
  for (const pid of left()) process.kill(pid, 'SIGKILL')
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
  // The end of its input ends it there.
  await until(() => findProcesses('sleep\u00007464').length === 0)
})

onBox('a session keeps its state there', async ({ executor, run }) => {
  const there = (command: string, changes?: Partial<RequestInput>) =>
    run(command, { session: 'work', streams: 'merged', ...changes })
  const first = await there('cd /usr; x=1; f() { echo "f $x"; }; pwd')
  assert.is(first.output, '/usr\n', JSON.stringify(first))
  const second = await there('pwd; f; echo "$MINE"; false', { env: { MINE: "it's" } })
  assert.is(second.output, "/usr\nf 1\nit's\n")
  assert.is(second.exitCode, 1)
  assert.is((await there('echo "[$MINE]"; if')).exitCode, 2)
  const apart = await there('echo out; echo err >&2', { streams: 'separate' })
  assert.is(apart.stdout, 'out\n')
  assert.is(apart.stderr, 'err\n')
  assert.is((await there('pwd', { cwd: '/etc' })).output, '/etc\n')
  assert.is((await there('true', { cwd: '/does not/exist' })).status, 'not_started')
  assert.equal(
    executor.sessions.list().map(({ name, cwd }) => [name, cwd]),
    [['work', '/etc']],
  )
  assert.is((await there('exit 3')).exitCode, 3)
  const fresh = await there('f')
  assert.is(fresh.exitCode, 127)
  assert.match(fresh.notices.join(), /ended with exit status 3: this ran in a fresh one/)
})

onBox('the last words of a shell are heard, though its end is told on stderr first', async () => {
  const client = makeLateClient()
  const late = openExecutor(client.folder)
  const there = (command: string, streams: 'merged' | 'separate') =>
    late.run({ command, origin: 'print', host: 'box', guard: false, session: 'late', streams })
  try {
    for (const streams of ['merged', 'separate'] as const) {
      assert.is((await there('kept=yes', streams)).exitCode, 0)
      const ending = there('echo last $kept; exit 4', streams)
      await until(() => existsSync(client.goneFile))
      // One that takes this for the end has settled by then.
      await Promise.race([ending, delay(200)])
      rmSync(client.goneFile)
      const last = await ending
      assert.equal([last.output ?? last.stdout, last.exitCode], ['last yes\n', 4], streams)
    }
  } finally {
    await late.close()
  }
})

onBox('a stop in a session ends the command, and the shell goes on', async ({ run }) => {
  const there = (command: string, changes?: Partial<RequestInput>) =>
    run(command, { session: 'work', streams: 'merged', ...changes })
  await there('x=kept')
  const stopped = await there('(setsid sleep 7465 &); sleep 7466', { timeoutSeconds: 2 })
  assert.is(stopped.status, 'stopped')
  for (const words of ['sleep\u00007465', 'sleep\u00007466']) {
    assert.equal(findProcesses(words), [], words)
  }
  assert.is((await there('echo $x')).output, 'kept\n')
  const busy = await there('while :; do :; done', { timeoutSeconds: 1 })
  assert.is(busy.status, 'stopped')
  const fresh = await there('echo "[$x]"')
  assert.is(fresh.output, '[]\n', JSON.stringify(fresh))
  assert.match(fresh.notices.join(), /did not survive the stop/)
})

onBox('a connection whose client has been stopped is closed all the same', async ({ folder }) => {
  const own = openExecutor()
  const findClients = () => findProcesses(join(folder, 'client\u0000'))
  const before = findClients()
  await own.run({ command: 'true', origin: 'print', host: 'box', guard: false })
  const client = findClients().find((pid) => !before.includes(pid))
  assert.ok(client)
  process.kill(client, 'SIGSTOP')
  await own.close()
  assert.not(findClients().includes(client))
})

onBox('a login that does not end was waited for without end', async () => {
  const silent = await startServer('', ['ForceCommand cat >/dev/null'])
  const own = openExecutor(makeClientFolder(silent))
  try {
    const input = { command: 'true', origin: 'print', host: 'box', guard: false } as const
    for (const session of [undefined, 'one']) {
      const limits = { timeoutSeconds: 1, ...(session && { session }) }
      const { status, reason, error } = await own.run({ ...input, ...limits })
      assert.equal([status, reason], ['not_started', 'timeout'])
      assert.match(error?.message ?? '', 'its host had not answered when its time was over')
    }
  } finally {
    await own.close()
    await silent.close()
  }
})

onBox('a host that lets nobody in did not start anything', async ({ folder }) => {
  const other = openExecutor()
  const keys = readFileSync(join(folder, 'authorized'))
  writeFileSync(join(folder, 'authorized'), '')
  const result = await other.run({ command: 'echo in', origin: 'print', host: 'box' })
  writeFileSync(join(folder, 'authorized'), keys)
  await other.close()
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

onBox('a model runs on the hosts that it may use, and on no other', async ({ folder }) => {
  const executor = createExecutor({
    stateDir: null,
    environment: { ...process.env, PATH: `${folder}:${process.env['PATH']}` },
    hosts: { mine: 'ssh://box' },
    agentHosts: ['mine'],
  })
  const call = (given: object) =>
    findTool('bash').call(given, {
      executor: createReach(executor, 'conv_test'),
      origin: 'agent',
      fields: { cwd: '/only/here', sandbox: 'auto' },
    })
  try {
    const [tool] = describeTools('/', executor, { origin: 'agent' })
    assert.equal(tool?.inputSchema.properties['host'], { type: 'string', enum: ['mine'] })
    const { content, isError } = await call({ command: 'pwd; exit 0', cwd: '/usr', host: 'mine' })
    assert.not.ok(isError, JSON.stringify(content))
    assert.match(content[0]?.text ?? '', /^\/usr\n/)
    const refused = await call({ command: 'rm -rf /', host: 'mine' })
    assert.match(refused.content[0]?.text ?? '', /^Denied, nothing was run/)
    const other = await call({ command: 'true', host: 'box' }).catch((error: unknown) => error)
    assert.match(String(other), /`host` must be one of mine/)
  } finally {
    await executor.close()
  }
})

/** An ssh that gives on a line of `last` words when the file that tells the shell's end on stderr is removed. */
function makeLateClient(): { folder: string; goneFile: string } {
  const late = join(folder, 'late')
  const goneFile = join(late, 'gone')
  mkdirSync(late)
  const script = `#!/bin/bash
case "$*" in *base64*) ;; *) exec ${folder}/ssh "$@" ;; esac
exec 3>&1 4>&2
{
  ${folder}/ssh "$@" 2>&1 >&5 3>&- 4>&- 5>&- | while IFS= read -r line; do
    printf '%s\\n' "$line" >&4
    case $line in *.run_*:end*) ;; *:end*) echo >${goneFile} ;; esac
  done
} 5>&1 | while IFS= read -r line; do
  case $line in last*)
    until [[ -e ${goneFile} ]]; do sleep 0.01; done
    while [[ -e ${goneFile} ]]; do sleep 0.01; done ;;
  esac
  printf '%s\\n' "$line" >&3
done
`
  writeFileSync(join(late, 'ssh'), script, { mode: 0o755 })
  return { folder: late, goneFile }
}

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
