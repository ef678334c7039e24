import { spawnSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../../lib/executor/executor.ts'
import type { Result } from '../../../lib/protocol/result/result.ts'
import {
  endConnections,
  findSshObstacle,
  makeClientFolder,
  type Server,
  startServer,
} from '../../helpers/ssh-host.ts'

const ip = (...words: string[]) => spawnSync('ip', words, { encoding: 'utf8' })

/** Whether two namespaces of the network can be connected here. */
function findNetworkObstacle(): string | null {
  if (process.getuid?.() !== 0) return 'only root makes network namespaces'
  const name = `nacre-try-${process.pid}`
  const { status, stderr, error } = ip('netns', 'add', name)
  if (status !== 0) return `ip netns: ${error?.message ?? stderr.trim()}`
  ip('netns', 'delete', name)
  return null
}

const sshObstacle = findSshObstacle()
const networkObstacle = sshObstacle ?? findNetworkObstacle()
if (sshObstacle !== null) console.log(`SKIP connections that are cut: ${sshObstacle}`)
else if (networkObstacle !== null) console.log(`SKIP packets that are dropped: ${networkObstacle}`)

const executorFor = (server: Server) => {
  const folder = makeClientFolder(server)
  return createExecutor({
    stateDir: null,
    environment: { ...process.env, PATH: `${folder}:${process.env['PATH']}` },
  })
}

const command = 'seq 1 2000; sleep 0.3; seq 2001 4000; echo whole'
const request = { command, origin: 'print', host: 'box', guard: false, maxLines: 9000 } as const

/** Every end is right but a success that is none. */
function checkEnd(result: Result): void {
  const text = result.output ?? result.stdout ?? ''
  assert.ok(['exited', 'lost', 'not_started'].includes(result.status), JSON.stringify(result))
  if (result.status === 'exited') {
    assert.is(result.exitCode, 0)
    assert.is(text.trim().split('\n').length, 4001, 'a success has the whole output')
  }
}

if (sshObstacle === null) {
  test('a server that dies at any moment leaves no hang and no false success', async () => {
    const server = await startServer('', ['MaxSessions 50'])
    const executor = executorFor(server)
    try {
      for (let round = 0; round < 8; round++) {
        const results = [executor.run(request), executor.run(request)]
        await delay(Math.random() * 700)
        endConnections(server)
        for (const result of await Promise.all(results)) checkEnd(result)
      }
      const after = await executor.run(request)
      assert.is(after.exitCode, 0, `the next run has a new connection: ${JSON.stringify(after)}`)
    } finally {
      await executor.close()
      await server.close()
    }
  })
}

if (networkObstacle === null) {
  test('packets that are dropped without a word make a run lost', async () => {
    const name = `nacre-${process.pid}`
    const [here, there] = [`nh${process.pid}`, `nt${process.pid}`]
    const net = `10.231.${process.pid % 250}`
    let server: Server | null = null
    try {
      ip('netns', 'add', name)
      ip('link', 'add', here, 'type', 'veth', 'peer', 'name', there, 'netns', name)
      ip('addr', 'add', `${net}.1/24`, 'dev', here)
      ip('link', 'set', here, 'up')
      ip('-n', name, 'addr', 'add', `${net}.2/24`, 'dev', there)
      ip('-n', name, 'link', 'set', there, 'up')
      ip('-n', name, 'link', 'set', 'lo', 'up')
      server = await startServer('', [], null, { namespace: name, address: `${net}.2` })
      const executor = executorFor(server)
      try {
        const run = await executor.start({
          ...request,
          command: 'echo begun; sleep 7467; echo end',
        })
        for await (const line of run.lines()) {
          assert.is(line, 'begun')
          break
        }
        ip('-n', name, 'link', 'set', there, 'down')
        const result = await run.ended
        assert.is(result.status, 'lost', JSON.stringify(result))
        assert.match(result.error?.message ?? '', /^The connection to box was lost/)
        const next = await executor.run({ ...request, command: 'true' })
        assert.is(next.error?.code, 'host_unreachable', JSON.stringify(next))
      } finally {
        await executor.close()
      }
    } finally {
      spawnSync('ip', ['netns', 'exec', name, 'pkill', '-x', '-f', 'sleep 7467'])
      // It waits for packets that never come, and would hold what the server writes to.
      if (server) endConnections(server)
      await server?.close()
      ip('netns', 'delete', name)
    }
  })
}

test.run()
