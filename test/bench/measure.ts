import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'

export interface Measured {
  ms: number
  /** Highest resident memory of the program itself, not of what it starts; 0 where /proc is missing. */
  peakBytes: number
  /** False: it was ended by the limit, or failed. */
  finished: boolean
  stdout: string
}

export interface MeasureOptions {
  env?: Record<string, string | undefined>
  limitMs?: number
}

/** Runs a program once, alone, and measures it from outside. */
export function measure(words: readonly string[], options: MeasureOptions = {}): Promise<Measured> {
  const [program = '', ...args] = words
  const startedMs = performance.now()
  const child = spawn(program, args, {
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  })
  let peakBytes = 0
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (stdout.length < 1_000_000) stdout += text
  })
  const watch = setInterval(() => {
    peakBytes = Math.max(peakBytes, readPeakBytes(child.pid ?? 0))
  }, 10)
  const limit = setTimeout(
    () => process.kill(-(child.pid ?? 0), 'SIGKILL'),
    options.limitMs ?? 60_000,
  )
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      clearInterval(watch)
      clearTimeout(limit)
      resolve({ ms: performance.now() - startedMs, peakBytes, finished: code === 0, stdout })
    })
  })
}

/** VmHWM of proc(5): it only grows, so the last look is the peak but for the last 10 ms. */
function readPeakBytes(pid: number): number {
  try {
    const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))
    return Number(line?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}

/** The median of several runs, taken in turns with the others so that all see the same machine. */
export async function compareMedians<Name extends string>(
  programs: Record<Name, readonly string[]>,
  rounds: number,
  options: MeasureOptions = {},
): Promise<Record<Name, number>> {
  const names = Object.keys(programs) as Name[]
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]]))
  for (let round = 0; round < rounds; round++) {
    for (const name of names) times[name]?.push((await measure(programs[name], options)).ms)
  }
  const medians = names.map((name) => [name, median(times[name] ?? [])] as const)
  return Object.fromEntries(medians) as Record<Name, number>
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
