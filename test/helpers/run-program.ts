import { spawn, type StdioOptions } from 'node:child_process'
import { constants } from 'node:os'

export interface Finished {
  stdout: Buffer
  stderr: Buffer
  /** 128+n where a signal ended it, as a shell has it. */
  status: number
}

export interface ProgramOptions {
  cwd?: string
  env?: Record<string, string | undefined>
  /** What it reads; without it `/dev/null`. */
  input?: string | Buffer
  stdio?: StdioOptions
}

/** Runs a program to the end of its output. */
export function runProgram(
  program: string,
  args: string[],
  { cwd, env, input, stdio }: ProgramOptions = {},
): Promise<Finished> {
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: stdio ?? [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  const stdout: Buffer[] = []
  const stderr: Buffer[] = []
  child.stdout?.on('data', (chunk: Buffer) => stdout.push(chunk))
  child.stderr?.on('data', (chunk: Buffer) => stderr.push(chunk))
  // A program need not read what it is given.
  child.stdin?.on('error', () => undefined)
  child.stdin?.end(input)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      resolve({
        stdout: Buffer.concat(stdout),
        stderr: Buffer.concat(stderr),
        status: code ?? 128 + signalNumber(signal),
      })
    })
  })
}

function signalNumber(signal: string | null): number {
  return constants.signals[signal as NodeJS.Signals] ?? 0
}
