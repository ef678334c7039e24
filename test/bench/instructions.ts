import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'

/** What a program took, from its start to its end. Not a number: nobody counts it here. */
export interface Counts {
  /** Instructions that the processor carried out for the program, and for the kernel on its behalf. */
  user: number
  kernel: number
  /** Processor time of both. */
  cpuMs: number
  /** The time that passed. */
  ms: number
}

export interface CountOptions {
  /** Counts the main thread alone, without what it starts; by perf(1) only. */
  alone: boolean
  env: NodeJS.ProcessEnv
  /** Talks with the program until it is to end; its input is ended then. */
  talk?: ((input: Writable, output: Readable) => Promise<void>) | undefined
}

const events = ['instructions:u', 'instructions:k', 'task-clock']

/** Whether perf(1) is there and may count: `kernel.perf_event_paranoid` and virtual machines may say no. */
export function countsInstructions(): boolean {
  const words = ['stat', '-x,', '-e', events.join(), 'true']
  const { status, stderr } = spawnSync('perf', words, { encoding: 'utf8' })
  return status === 0 && events.every((event) => valueOf(event, stderr) > 0)
}

/** Runs a program once and counts with perf(1), or where `byPerf` is false the time alone, by bash. */
export async function count(
  words: readonly string[],
  byPerf: boolean,
  { alone, env, talk }: CountOptions,
): Promise<Counts> {
  const folder = mkdtempSync(join(tmpdir(), 'nacre-bench-'))
  const file = join(folder, 'counts')
  const counter = byPerf
    ? ['perf', 'stat', '-x,', '-o', file, '-e', events.join(), ...(alone ? ['-i'] : []), '--']
    : ['bash', '-c', 'file=$1; shift; "$@" || exit; times >"$file"', '_', file]
  const [program = '', ...args] = [...counter, ...words]
  const startedMs = performance.now()
  try {
    const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
    const ended = new Promise<number | null>((resolve, reject) => {
      child.on('error', reject).on('close', resolve)
    })
    if (talk) await talk(child.stdin, child.stdout)
    child.stdout.resume()
    child.stdin.end()
    const status = await ended
    if (status !== 0) throw new Error(`${words.join(' ')} ended with status ${status}`)
    const ms = performance.now() - startedMs
    const text = readFileSync(file, 'utf8')
    const [user = NaN, kernel = NaN, cpuMs = NaN] = events.map((event) => valueOf(event, text))
    return { user, kernel, cpuMs: byPerf ? cpuMs : alone ? NaN : readTimes(text), ms }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Of the lines of `perf stat -x,`, each with the value, its unit and the name of the event. */
function valueOf(event: string, text: string): number {
  const fields = text.split('\n').map((line) => line.split(','))
  return Number(fields.find((field) => field[2] === event)?.[0])
}

/** Of the second line of `times` in bash: what has been started took, in user and system mode. */
function readTimes(text: string): number {
  const [, children = ''] = text.split('\n')
  const times = [...children.matchAll(/(\d+)m([\d.]+)s/g)]
  return (
    times.reduce((sum, [, minutes, rest]) => sum + Number(minutes) * 60 + Number(rest), 0) * 1000
  )
}
