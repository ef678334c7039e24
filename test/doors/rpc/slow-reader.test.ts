import { readFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { withClient } from '../../helpers/rpc.ts'

/** The most memory that a process has had, in MB (`VmHWM` in proc(5)). */
function peakMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1]) / 1024
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

if (process.platform === 'linux') {
  test('a reader that is slower than the command gets all of it, and memory stays bounded', async () => {
    const megabytes = 200
    let chars = 0
    await withClient(
      async (client) => {
        const before = peakMegabytes(client.pid)
        const result = await client.request('shell.exec', {
          command: `head -c ${megabytes}000000 /dev/zero | tr '\\0' x`,
          stream: true,
          artifact: 'never',
        })
        assert.is(result.exit_code, 0)
        assert.is(chars, megabytes * 1e6)
        const grownBy = peakMegabytes(client.pid) - before
        // The heap of Bun grows by about 100 before it collects; all of it would be more than twice that.
        assert.ok(grownBy < 150, `grew by ${grownBy.toFixed()} MB`)
      },
      {
        async onNotification(notification) {
          if (notification.method !== 'shell.output') return
          chars += notification.params.data.length
          await nextTurn()
        },
      },
    )
  })

  test('a cancel reaches a command whose reader has stopped', async () => {
    const cancelling = new AbortController()
    let pieces = 0
    let resume = () => {}
    await withClient(
      async (client) => {
        const running = client.request(
          'shell.exec',
          { command: 'yes', stream: true },
          { signal: cancelling.signal },
        )
        assert.is((await running).reason, 'cancel')
        assert.ok(pieces > 0)
      },
      {
        async onNotification({ method }) {
          if (method !== 'shell.output' || pieces++ > 0) return
          const stopped = new Promise<void>((resolve) => {
            resume = resolve
          })
          cancelling.abort()
          setImmediate(resume)
          await stopped
        },
      },
    )
  })
} else {
  console.log('SKIP a slow reader: the memory of another process is read from /proc')
}

test.run()
