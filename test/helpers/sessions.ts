import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execFileSync, spawn } from 'node:child_process'
import * as assert from 'uvu/assert'
import { parseRequest } from '../../lib/protocol/request/parse-request.ts'
import type { Exit, OutputSink, Running } from '../../lib/protocol/ports.ts'
import type { RequestInput } from '../../lib/protocol/request/request.ts'
import { createFifoPool } from '../../lib/run/pipe/fifo.ts'
import { createPipeRunner } from '../../lib/run/pipe/pipe.ts'
import { createPrepareLaunch } from '../../lib/run/launch.ts'
import { createSessionRunner, type SessionRunnerOptions } from '../../lib/run/session/sessions.ts'
import { hear, until } from './until.ts'

export interface Collected extends Exit {
  output: string
  stdout: string
  stderr: string
}

export interface SessionBench {
  sessions: ReturnType<typeof createSessionRunner>
  /** A directory of its own, gone at the end. */
  directory: string
  start: (command: string, more?: Partial<RequestInput>) => Promise<Started>
  run: (command: string, more?: Partial<RequestInput>) => Promise<Collected>
}

export interface Started {
  running: Running
  /** Settles when the run has written this. */
  wrote: (text: string) => Promise<void>
  collected: Promise<Collected>
}

/** Runs a test with sessions of its own, and checks that nothing is left of them afterwards. */
export async function withSessions(
  test: (bench: SessionBench) => Promise<void>,
  options: Partial<SessionRunnerOptions> = {},
): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'nacre-test-'))
  const directory = join(root, 'work')
  const outerTmp = process.env['TMPDIR']
  const tmp = join(root, 'tmp')
  // Node opens descriptors of its own for the first process that it waits for.
  await hear(spawn('mkdir', [directory, tmp]), 'close')
  process.env['TMPDIR'] = tmp
  const descriptors = countDescriptors()
  const pipes = createFifoPool()
  const environment = { ...process.env, NACRE_TEST: root }
  const prepare = createPrepareLaunch({ environment, toTerminal: false })
  const uninherited = new Set<number>()
  const fresh = createPipeRunner({ prepare, pipes, uninherited })
  const sessions = createSessionRunner({ prepare, pipes, uninherited, fresh, ...options })
  const start = async (command: string, more: Partial<RequestInput> = {}): Promise<Started> => {
    const input: RequestInput = { command, origin: 'rpc', session: 'main', shell: 'bash', ...more }
    const request = parseRequest({ streams: 'separate', ...input }, { cwd: directory })
    const collector = createCollector()
    const running = await sessions.runner(request, collector.sink)
    const collected = running.exited.then((exit) => ({ ...exit, ...collector.texts() }))
    return { running, wrote: (text) => collector.wrote(text), collected }
  }
  try {
    await test({
      sessions,
      directory,
      start,
      run: async (command, more) => (await start(command, more)).collected,
    })
  } finally {
    await sessions.closeAll()
    pipes.close()
    if (outerTmp === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = outerTmp
  }
  assert.equal(readdirSync(tmp), [], 'temporary files are left')
  rmSync(root, { recursive: true })
  assert.equal(findMarked(root), [], 'processes are left')
  // What was left to a background job closes once the event loop has seen its end.
  await until(
    () => countDescriptors() <= descriptors,
    () => 'descriptors are left',
  )
}

function createCollector() {
  const chunks: Record<string, Buffer[]> = { output: [], stdout: [], stderr: [] }
  const textOf = (name: string) => Buffer.concat(chunks[name] ?? []).toString()
  const all = () => Object.keys(chunks).map(textOf).join('')
  const sink: OutputSink = {
    write(stream, bytes) {
      chunks[stream]?.push(Buffer.from(bytes))
    },
  }
  return {
    sink,
    texts: () => ({
      output: textOf('output'),
      stdout: textOf('stdout'),
      stderr: textOf('stderr'),
    }),
    wrote: (text: string) =>
      until(
        () => all().includes(text),
        () => `wanted ${text}, written:\n${all()}`,
      ),
  }
}

function countDescriptors(): number {
  return process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0
}

/** Processes that carry this test's variable. */
export function findMarked(mark: string): string[] {
  const text = execFileSync('ps', ['-eo', 'pid=,stat=,args=', 'e'], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  return text.split('\n').filter((line) => line.includes(`NACRE_TEST=${mark}`))
}
