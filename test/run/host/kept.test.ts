import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor, type Run } from '../../../lib/executor/executor.ts'
import type { RequestInput } from '../../../lib/protocol/request/request.ts'
import { composeKeptScript } from '../../../lib/run/host/kept.ts'
import { findMarked, markOf, openHome } from '../../helpers/jobs.ts'
import {
  endConnections,
  findSshObstacle,
  makeClientFolder,
  startServer,
} from '../../helpers/ssh-host.ts'
import { hear, until } from '../../helpers/until.ts'

const obstacle = findSshObstacle()
if (obstacle !== null) console.log(`SKIP background jobs on a host of ssh: ${obstacle}`)

/** The folder in which lies what a command over there writes, as its first line tells. */
const tellFolder = 'readlink /proc/self/fd/1'
async function readFolder(run: Run): Promise<string> {
  for await (const line of run.lines()) return dirname(line)
  throw new Error(JSON.stringify(run.look()))
}

if (obstacle === null) {
  const server = await startServer()
  const executor = createExecutor({
    stateDir: null,
    environment: { ...process.env, PATH: `${makeClientFolder(server)}:${process.env['PATH']}` },
  })
  const start = (command: string, changes?: Partial<RequestInput>) =>
    executor.start({
      command,
      origin: 'print',
      host: 'box',
      mode: 'background',
      streams: 'separate',
      guard: false,
      ...changes,
    })
  test.after(async () => {
    await executor.close()
    await server.close()
  })

  test('a background job there is found again, and not a byte is missing or told twice', async () => {
    const go = join(server.folder, 'cut')
    const command = `cat; i=0; until [ -e '${go}' ]; do i=$((i + 1)); echo "out $i"; echo "err $i" >&2; sleep 0.02; done; trap "exit 7" INT; kill -INT $$`
    const stdin = { kind: 'text', text: 'given\n' } as const
    const run = await start(command, { stdin, maxLines: 100_000, maxBytes: 10_000_000 })
    for (let cut = 0; cut < 3; cut++) {
      const before = run.read({ stream: 'stdout' }).cursor
      await until(() => run.read({ stream: 'stdout' }).cursor > before)
      await delay(Math.random() * 300)
      endConnections(server)
    }
    // It has something to say behind each cut, however long a new connection takes.
    writeFileSync(go, '')
    const result = await run.ended
    assert.is(result.exitCode, 7, JSON.stringify(result))
    const count = String(result.stdout).split('\n').length - 2
    const lines = (name: string) => Array.from({ length: count }, (_, at) => `${name} ${at + 1}\n`)
    assert.is(result.stdout, `given\n${lines('out').join('')}`)
    assert.is(result.stderr, lines('err').join(''))
  })

  test('nothing of it is left there when it has ended', async () => {
    const run = await start(`${tellFolder}; cd /does/not/exist`)
    const folder = await readFolder(run)
    const result = await run.ended
    assert.is(result.exitCode, 1)
    assert.not.ok(existsSync(folder))
    const refused = await (await start('true', { cwd: '/does/not/exist' })).ended
    assert.is(refused.error?.code, 'cwd_not_found')
  })

  test('nothing of it is left there when the connection is lost at its very end', async () => {
    for (let round = 0; round < 3; round++) {
      const run = await start(tellFolder)
      const folder = await readFolder(run)
      endConnections(server)
      const result = await run.ended
      assert.is(result.exitCode, 0, JSON.stringify(result))
      assert.not.ok(existsSync(folder))
    }
  })

  test('the next nacre takes up a job there whose nacre was killed, at the very byte', async () => {
    const home = openHome()
    home.env['PATH'] = `${server.folder}:${process.env['PATH']}`
    const begin = async (command: string) => {
      const ready = ['--background', '--ready', 'regex:^5$']
      return String((await home.json(['--host', 'box', ...ready, '-c', command]))['job_id'])
    }
    const ownerOf = (id: string) => {
      const record = JSON.parse(readFileSync(join(home.dir, `${id}.json`), 'utf8')) as {
        owner: { pid: number }
      }
      return record.owner.pid
    }
    const killOwner = async (id: string) => {
      const owner = ownerOf(id)
      process.kill(owner, 'SIGKILL')
      await until(() => !existsSync(`/proc/${owner}`))
    }
    try {
      // It does not come to its end before its nacre is killed, and goes on while the next one takes it up.
      const go = join(server.folder, 'go')
      const pause = `[ "$i" != 20 ] || until [ -e '${go}' ]; do sleep 0.1; done; sleep 0.1`
      const id = await begin(`for i in $(seq 1 40); do echo "$i"; ${pause}; done; exit 7`)
      const before = await home.json(['job', 'read', id])
      await killOwner(id)
      writeFileSync(go, '')
      const rest = await home.json(['job', 'read', id, '--cursor', String(before['cursor'])])
      const result = await home.json(['job', 'wait', id])
      assert.equal([result['exit_code'], result['host']], [7, 'box'], JSON.stringify(result))
      const whole = Array.from({ length: 40 }, (_, at) => `${at + 1}\n`).join('')
      assert.is((await home.json(['job', 'read', id]))['text'], whole)
      const told = `${String(before['text'])}${String(rest['text'])}`
      assert.ok(whole.startsWith(told), JSON.stringify([before, rest]))
      const left = await begin(`echo 5; MINE=${markOf(7497)} setsid sleep 7497 & sleep 7497`)
      await killOwner(left)
      // A list does not wait for a machine that is silent, and who takes the job up goes on with it.
      process.kill(server.pid, 'SIGSTOP')
      try {
        const job = (await home.list()).find((it) => it['job_id'] === left)
        assert.is(job?.['status'], 'running')
      } finally {
        process.kill(server.pid, 'SIGCONT')
      }
      await until(() => existsSync(`/proc/${ownerOf(left)}`))
      assert.is((await home.json(['job', 'kill', left]))['reason'], 'kill')
      assert.equal(findMarked('MINE', markOf(7497)), [])
    } finally {
      await home.close()
    }
  })

  test('a stop while the connection is lost ends it there', async () => {
    const run = await start(`${tellFolder}; setsid sleep 7494 & sleep 7494`, {
      env: { MINE: markOf(7494) },
    })
    const folder = await readFolder(run)
    endConnections(server)
    const result = await run.stop('kill')
    assert.is(result.status, 'stopped')
    assert.equal(result.survivors, [])
    assert.equal(findMarked('MINE', markOf(7494)), [])
    await until(() => !existsSync(folder))
  })
}

test('what nobody follows any more is ended in time', async () => {
  const script = `${tellFolder}; NACRE_RUN=run_left MINE=${markOf(7495)} sleep 7495`
  const kept = {
    script,
    name: 'left',
    mark: 'run_left',
    stop: { signals: ['TERM'], graceSeconds: 1 },
    patienceSeconds: 2,
  }
  const child = spawn('sh', ['-c', composeKeptScript(kept, 'c')])
  let said = ''
  child.stdout.on('data', (bytes: Buffer) => (said += bytes.toString()))
  await until(() => /\/out\n/.test(said) && findMarked('MINE', markOf(7495)).length === 1)
  const folder = dirname(said.split('\n').at(-2) ?? '')
  assert.ok(existsSync(folder), said)
  const ended = hear(child, 'exit')
  child.stdin.end()
  await ended
  assert.equal(findMarked('MINE', markOf(7495)), [])
  assert.not.ok(existsSync(folder))
})

test.run()
