import { existsSync, readFileSync } from 'node:fs'
import type { Exit, OutputSink, Runner, Running } from '../../lib/protocol/ports.ts'
import { parseRequest } from '../../lib/protocol/request/parse-request.ts'
import type { Request } from '../../lib/protocol/request/request.ts'
import { createPtyRunner, type PtyRunnerParts } from '../../lib/run/terminal/pty.ts'
import { createPrepareLaunch } from '../../lib/run/launch.ts'
import { until } from './until.ts'

/** A request for a terminal run, as a front door would make it, but for a shorter grace between TERM and KILL. */
export function terminalRequest(command: string, changes: Partial<Request> = {}): Request {
  const request = parseRequest(
    {
      command,
      origin: 'print',
      pty: true,
      env: { TERM: 'xterm' },
      shell: 'bash',
      guard: false,
      hardening: false,
      artifact: 'never',
      killAfterSeconds: 0.2,
    },
    { cwd: process.cwd() },
  )
  return { ...request, ...changes }
}

export function createTestRunner(changes: Partial<PtyRunnerParts> = {}): Runner {
  return createPtyRunner({
    prepare: createPrepareLaunch({ environment: process.env, toTerminal: false }),
    ...changes,
  })
}

export interface TerminalRun {
  running: Running
  exited: Promise<Exit>
  bytes(): Buffer
  text(): string
  /** Settles when the output so far contains the text. */
  shown(text: string): Promise<void>
}

export async function startTerminal(
  command: string,
  { runner = createTestRunner(), ...changes }: Partial<Request> & { runner?: Runner } = {},
): Promise<TerminalRun> {
  const chunks: Buffer[] = []
  const sink: OutputSink = {
    write(_stream, bytes) {
      chunks.push(Buffer.from(bytes))
    },
  }
  const running = await runner(terminalRequest(command, changes), sink)
  const bytes = () => Buffer.concat(chunks)
  const text = () => bytes().toString()
  return {
    running,
    exited: running.exited,
    bytes,
    text,
    shown: (wanted) =>
      until(
        () => text().includes(wanted),
        () => `wanted ${wanted}, shown:\n${text()}`,
      ),
  }
}

/** Whether a process runs; one that has ended and was not waited for does not. */
export function isAlive(pid: number): boolean {
  if (!existsSync('/proc/self')) {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  }
  const state = readState(pid)
  return state !== '' && state !== 'Z' && state !== 'X'
}

/** The letter of proc(5): `S` asleep, `R` on a processor, … Empty: gone. */
export function readState(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2)[0] ?? ''
  } catch {
    return ''
  }
}
