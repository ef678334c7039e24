import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../../lib/executor/executor.ts'
import type { RequestInput } from '../../../lib/protocol/request/request.ts'
import { hostCommands, outputProbe, tryEscapes } from '../../helpers/host-commands.ts'
import { type Container, findPodmanObstacle, startContainer } from '../../helpers/podman-host.ts'

let container: Container | null = null
let obstacle = findPodmanObstacle()
try {
  if (obstacle === null) container = startContainer()
} catch (error) {
  obstacle = String(error)
}
if (obstacle !== null) console.log(`SKIP runs in a container: ${obstacle}`)

test('a client that tells no size leaves the command with the one that was asked for', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'client-'))
  const client = '#!/bin/sh\nstty rows 0 cols 0\nshift 3\nexec "$@"\n'
  writeFileSync(join(folder, 'podman'), client, { mode: 0o755 })
  const environment = { ...process.env, PATH: `${folder}:${process.env['PATH']}` }
  const executor = createExecutor({ stateDir: null, environment })
  const result = await executor.run({
    command: 'stty size',
    origin: 'print',
    host: 'podman://box',
    guard: false,
    pty: true,
    columns: 90,
    rows: 20,
  })
  await executor.close()
  rmSync(folder, { recursive: true })
  assert.is(result.output, '20 90\n', JSON.stringify(result))
})

if (container !== null) {
  const { folder } = container
  const environment = { ...process.env, PATH: `${folder}:${process.env['PATH']}` }
  const executor = createExecutor({ stateDir: null, environment })
  const run = (
    command: string,
    changes: Partial<RequestInput> = {},
    options: { signal?: AbortSignal } = {},
  ) =>
    executor.run(
      { command, origin: 'print', host: 'podman://box', guard: false, ...changes },
      options,
    )

  test.after(async () => {
    await executor.close()
    container.remove()
  })

  test('a command runs in the container, with its shell and its files', async () => {
    const result = await run('echo out; echo err >&2; cat /etc/passwd; pwd; exit 4', {
      streams: 'separate',
    })
    assert.is(result.status, 'exited')
    assert.is(result.exitCode, 4)
    assert.is(result.stdout, 'out\nroot:x:0:0:root:/root:/bin/sh\n/root\n')
    assert.is(result.stderr, 'err\n')
  })

  test('commands give there what the same shell gives here', async () => {
    const check = async (command: string) => {
      const there = await run(command, { streams: 'separate' })
      const here = spawnSync(join(folder, 'system/bin/busybox'), ['sh', '-c', command], {
        input: '',
        encoding: 'utf8',
      })
      assert.is(there.exitCode, here.status, `${command}: ${JSON.stringify(there)}`)
      assert.is(there.signal, here.signal, command)
      assert.is(there.stdout, here.stdout, command)
      assert.is(there.stderr, here.stderr, command)
      assert.is(there.cwd, '/root')
    }
    // Each call of podman takes a second on a busy machine.
    for (let at = 0; at < hostCommands.length; at += 3) await check(hostCommands[at] ?? '')
    const { command, ...written } = outputProbe
    const { stdout, stderr } = await run(command, { streams: 'separate' })
    assert.equal({ stdout, stderr }, written)
  })

  test('a command is not lost where nobody reads its output any more', async () => {
    const command = 'yes'
    const result = await executor.run(
      { command, origin: 'print', host: 'podman://box', guard: false, streams: 'separate' },
      {
        onEvent: (event) =>
          event.type === 'output' && event.stream === 'stdout' ? 'closed' : undefined,
      },
    )
    assert.equal(
      [result.status, result.signal],
      ['signaled', 'SIGPIPE'],
      `${result.error?.message}`,
    )
  })

  test('a session keeps its state in the container', async () => {
    await run('cd /etc; kept=yes', { session: 'work' })
    const after = await run('pwd; echo "$kept"', { session: 'work', streams: 'merged' })
    assert.is(after.output, '/etc\nyes\n', JSON.stringify(after))
  })

  test('a run on a terminal has one in the container, and its size from the beginning', async () => {
    const result = await run('test -t 0 && test -t 1 && stty size', {
      pty: true,
      timeoutSeconds: 20,
      columns: 90,
      rows: 20,
    })
    assert.is(result.output, '20 90\n', JSON.stringify(result))
  })

  test('input reaches the container', async () => {
    const result = await run('wc -c', { stdin: { kind: 'text', text: 'x'.repeat(5000) } })
    assert.is(result.stdout?.trim() ?? result.output?.trim(), '5000')
  })

  test('a stop ends everything in the container that is known', async () => {
    const left = await tryEscapes(7810, async (command, signal) => {
      const result = await run(command, {}, { signal })
      const { status, reason, survivors } = result
      const told = JSON.stringify(result)
      assert.equal([status, reason, survivors], ['stopped', 'cancel', []], told)
    })
    assert.equal(left, ['a daemon without its environment'])
  })

  test('a container that is not there did not start anything', async () => {
    const result = await run('true', { host: 'podman://none' })
    assert.is(result.error?.code, 'host_unreachable')
    assert.match(result.error?.message ?? '', /podman:\/\/none could not be reached: .*none/)
  })
}

test.run()
