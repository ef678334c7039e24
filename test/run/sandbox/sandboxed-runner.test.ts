import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parseRequest } from '../../../lib/protocol/request/parse-request.ts'
import type { Exit, Runner } from '../../../lib/protocol/ports.ts'
import { createFifoPool } from '../../../lib/run/pipe/fifo.ts'
import { createRunning } from '../../../lib/run/running.ts'
import type { Sandbox } from '../../../lib/run/sandbox/sandbox.ts'
import { runInSandbox } from '../../../lib/run/sandbox/sandboxed-runner.ts'

const stopAnew = async (lose: (path: string) => void) => {
  const folder = mkdtempSync(join(tmpdir(), 'sandboxed-'))
  const statusFile = join(folder, 'status')
  const around = join(folder, 'around')
  mkdirSync(around)
  const path = join(around, 'socket')
  writeFileSync(path, '')
  lose(path)
  const gone = `bwrap: Can't bind mount /oldroot/dev/null on /newroot${path}: No such file\n`
  const stops: string[] = []
  let settle: (exit: Exit) => void = () => {}
  let reachSecond = () => {}
  const second = new Promise<void>((resolve) => (reachSecond = resolve))
  let letSecondStart = () => {}
  const gate = new Promise<void>((resolve) => (letSecondStart = resolve))
  let starts = 0
  /** The first start fails as bwrap's does for a socket that is lost, the second waits at the gate. */
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
    viewOf: async () => null,
    findPlaces: unknown,
    forgetPlaces: () => undefined,
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
  pipes.close()
  chmodSync(around, 0o700)
  rmSync(folder, { recursive: true })
}

for (const [how, lose] of [
  ['is gone', (path: string) => rmSync(path)],
  ['is behind a closed door', (path: string) => chmodSync(dirname(path), 0o000)],
] as const) {
  test(`a stop while the sandbox is made anew, as something ${how}, reaches the new one`, () =>
    stopAnew(lose))
}

test.run()
