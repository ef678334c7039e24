import { createServer } from 'node:net'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Escape, escapes } from '../../helpers/escapes.ts'
import { kernelEscapes } from '../../helpers/kernel-escapes.ts'
import { findObstacle, openPlaces, secret } from '../../helpers/sandbox-places.ts'
import { hear } from '../../helpers/until.ts'

const asRoot = process.getuid?.() === 0
const obstacle = await findObstacle()
if (obstacle !== null) console.log(`SKIP escapes from the sandbox: ${obstacle}`)

function concerns({ user }: Escape): boolean {
  return user === undefined || (user === 'root') === asRoot
}

/** Servers that tell the secret: one on loopback, one with an abstract name. */
async function openServers() {
  const serve = () => createServer((socket) => socket.end(`${secret}\n`))
  const loopback = serve().listen(0, '127.0.0.1')
  await hear(loopback, 'listening')
  const name = `nacre-test-${process.pid}`
  const abstract = serve().listen(`\0${name}`)
  await hear(abstract, 'listening')
  const address = loopback.address()
  return {
    env: { PORT: String(typeof address === 'object' ? address?.port : ''), ABSTRACT: name },
    async close() {
      loopback.close()
      abstract.close()
      await Promise.all([hear(loopback, 'close'), hear(abstract, 'close')])
    },
  }
}

const domainName = () => readFileSync('/proc/sys/kernel/domainname', 'utf8')

if (obstacle === null) {
  for (const escape of [...escapes, ...kernelEscapes].filter(concerns)) {
    test(`stopped: ${escape.name}`, async () => {
      const places = await openPlaces({ socket: escape.socket ?? false })
      const servers = await openServers()
      const changes = { ...escape.changes, env: { ...servers.env, ...escape.changes?.env } }
      try {
        const before = places.observe()
        const domain = domainName()
        const result = await places.run(escape.command, changes)
        const said = `${result.output}\n${JSON.stringify(result.error)}`
        assert.is(result.sandbox?.mechanism, 'bubblewrap', said)
        assert.ok(['exited', 'signaled'].includes(result.status), said)
        assert.is(places.observe(), before, said)
        assert.is(domainName(), domain)
        assert.not.ok(result.output?.includes(secret), said)
        if (escape.stopped) assert.match(result.output ?? '', escape.stopped)
        if (escape.harm) {
          const outside = { ...changes, sandbox: 'off', network: 'on' } as const
          const free = await places.run(escape.command, outside)
          const harmed = () => places.observe() !== before || (free.output ?? '').includes(secret)
          // The end of a process that was killed takes a moment.
          for (let look = 0; look < 500 && !harmed(); look++) await delay(10)
          assert.ok(harmed(), `does nothing without a sandbox either: ${free.output}`)
        }
      } finally {
        await servers.close()
        await places.remove()
      }
    })
  }
}

test.run()
