import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createExecutor } from '../../lib/executor/executor.ts'
import type { RequestInput } from '../../lib/protocol/request/request.ts'
import type { Result } from '../../lib/protocol/result/result.ts'
import { findProgram } from '../../lib/system/look.ts'
import { cliCommand } from '../helpers/cli.ts'
import { hear, until } from '../helpers/until.ts'
import { countUp, createToken, describe, findByWords } from './processes.ts'
import { type StubbornProgram, stubbornPrograms } from './programs.ts'

/** What a run is attached to. */
export const attachments = {
  pipe: {},
  session: { session: 'main' },
  pty: { pty: true },
} as const satisfies Record<string, Partial<RequestInput>>

/** Why a run is stopped: by what its request says, by its caller, or because nacre ends. */
export const causes = [
  'timeout',
  'cancel',
  'interrupt',
  'kill',
  'inactivity',
  'shutdown',
  'SIGINT',
  'SIGTERM',
  'SIGHUP',
] as const

export interface StopTrial {
  program: StubbornProgram
  attachment: keyof typeof attachments
  cause: (typeof causes)[number]
}

export interface StopOutcome {
  /** From the stop to the word that it is done. */
  tookMs: number
  /** What was still there then. */
  alive: string[]
  /** Of these, what nobody was told of. */
  unnamed: string[]
}

/** So that no two of the combinations come twice before each has come once. */
export function listTrials(count: number): StopTrial[] {
  const programs = stubbornPrograms.filter(
    ({ needs, asRoot }) =>
      needs.every((name) => findProgram(name, process.env['PATH'] ?? '')) &&
      (!asRoot || process.getuid?.() === 0),
  )
  const names = Object.keys(attachments) as (keyof typeof attachments)[]
  return Array.from({ length: count }, (_, index) => {
    const round = Math.floor(index / programs.length)
    const program = programs[index % programs.length] as StubbornProgram
    const turn = (index % programs.length) + round
    return {
      program,
      attachment: names[turn % names.length] as keyof typeof attachments,
      cause: causes[(turn + Math.floor(round / 3)) % causes.length] as (typeof causes)[number],
    }
  })
}

/** A limit that is reached after every program is up, on a busy machine too. */
const limitSeconds = 4

export async function tryStop(trial: StopTrial): Promise<StopOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'stress-'))
  const token = createToken()
  const isUp = () => countUp(token) >= trial.program.processes
  try {
    const command = trial.program.command(token, folder)
    const isSignal = trial.cause.startsWith('SIG')
    const stop = isSignal ? stopByCommandLine : stopInProcess
    const { tookMs, told } = await stop(trial, command, folder, isUp)
    const left = findByWords(token)
    const unnamed = left.filter(({ pid }) => !new RegExp(`\\b${pid}\\b`).test(told))
    return { tookMs, alive: left.map(describe), unnamed: unnamed.map(describe) }
  } finally {
    for (const { pid } of findByWords(token)) process.kill(pid, 'SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Stopped {
  tookMs: number
  /** All that was said of the end. */
  told: string
}

async function stopInProcess(
  { attachment, cause }: StopTrial,
  command: string,
  _folder: string,
  isUp: () => boolean,
): Promise<Stopped> {
  const executor = createExecutor({ stateDir: null })
  const abort = new AbortController()
  try {
    const run = await executor.start(
      {
        command,
        origin: 'print',
        guard: false,
        ...attachments[attachment],
        ...(cause === 'timeout' && { timeoutSeconds: limitSeconds }),
        ...(cause === 'inactivity' && { inactivitySeconds: limitSeconds }),
      },
      { signal: abort.signal },
    )
    const beganMs = performance.now()
    await until(isUp, () => command)
    let stoppedMs = performance.now()
    if (cause === 'cancel') abort.abort()
    else if (cause === 'interrupt') abort.abort('SIGINT')
    else if (cause === 'kill') void run.stop('kill')
    else if (cause === 'shutdown') void executor.close()
    else stoppedMs = Math.max(stoppedMs, beganMs + limitSeconds * 1000)
    const result: Result = await run.result
    if (result.status !== 'stopped') throw new Error(`not stopped: ${JSON.stringify(result)}`)
    return { tookMs: performance.now() - stoppedMs, told: JSON.stringify(result) }
  } finally {
    await executor.close()
  }
}

async function stopByCommandLine(
  { attachment, cause }: StopTrial,
  command: string,
  folder: string,
  isUp: () => boolean,
): Promise<Stopped> {
  const [program = '', ...words] = cliCommand()
  const how = { pipe: [], session: ['--session', 'main'], pty: ['--pty'] }[attachment]
  const format = ['--no-guard', '--output-format', 'json']
  const child = spawn(program, [...words, '-c', command, ...how, ...format], {
    env: { ...process.env, XDG_STATE_HOME: join(folder, 'state') },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let told = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (told += text))
  }
  await until(isUp, () => command)
  const stoppedMs = performance.now()
  const ended = hear(child, 'close')
  child.kill(cause as NodeJS.Signals)
  await Promise.race([ended, delay(20_000)])
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
  await ended
  return { tookMs: performance.now() - stoppedMs, told }
}
