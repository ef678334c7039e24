import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parseRequest } from '../../../lib/protocol/request/parse-request.ts'
import type { Exit, Runner } from '../../../lib/protocol/ports.ts'
import { createFifoPool } from '../../../lib/run/pipe/fifo.ts'
import { createRunning } from '../../../lib/run/running.ts'
import type { Sandbox } from '../../../lib/run/sandbox/sandbox.ts'
import { runInSandbox } from '../../../lib/run/sandbox/sandboxed-runner.ts'

test('a stop that comes while the sandbox is made anew reaches the new one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sandboxed-'))
  const statusFile = join(folder, 'status')
  const gone = `bwrap: Can't bind mount /oldroot/dev/null on /newroot${folder}/gone: No such file\n`
  const stops: string[] = []
  let settle: (exit: Exit) => void = () => {}
  let reachSecond = () => {}
  const second = new Promise<void>((resolve) => (reachSecond = resolve))
  let letSecondStart = () => {}
  const gate = new Promise<void>((resolve) => (letSecondStart = resolve))
  let starts = 0
  /** The first start fails as bwrap's does for a socket that is gone, the second waits at the gate. */
  const runner: Runner = async (_request, sink) => {
    starts++
    writeFileSync(statusFile, '')
    if (starts === 1) {
      await sink.write('output', Buffer.from(gone))
      return createRunning({
        pid: () => 1,
        exited: Promise.resolve({ code: 1, signal: null }),
        stop: async () => ({ survivors: [] }),
      })
    }
    reachSecond()
    await gate
    return createRunning({
      pid: () => 2,
      exited: new Promise((resolve) => (settle = resolve)),
      async stop(reason) {
        stops.push(reason)
        settle({ code: null, signal: 'SIGTERM' })
        return { survivors: [] }
      },
    })
  }
  const unknown = () => {
    throw new Error('no places')
  }
  const sandbox: Sandbox = {
    decide: async () => ({
      use: { mechanism: 'bubblewrap', network: 'on', degraded: false },
      notices: [],
    }),
    confine: async (launch) => launch,
    findPlaces: unknown,
    findPlacesAnew: () => undefined,
    statusFile: () => statusFile,
    close: () => undefined,
  }
  const pipes = createFifoPool()
  const input = { command: 'true', origin: 'print', sandbox: 'workspace' } as const
  const request = parseRequest(input, { cwd: folder })
  const sink = { write: () => undefined }
  const running = await runInSandbox({ sandbox, runner, pipes }, request, sink)
  await second
  await running.stop('cancel')
  letSecondStart()
  assert.is((await running.exited).signal, 'SIGTERM')
  assert.equal(stops, ['cancel'])
  await pipes.close()
  rmSync(folder, { recursive: true })
})

test.run()
