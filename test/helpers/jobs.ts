import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJobs } from '../../lib/executor/jobs/jobs.ts'
import { describeProcess, readVariable } from '../../lib/system/process/process-table.ts'
import { runCli } from './run-cli.ts'
import { type Finished } from './run-program.ts'
import { until } from './until.ts'

/** A user's nacres with a state folder of their own. */
export interface Home {
  /** The folder of the jobs. */
  dir: string
  env: Record<string, string>
  run(args: string[], input?: string): Promise<Finished>
  /** Runs with `--output-format json`; the object that comes back. */
  json(args: string[], input?: string): Promise<Record<string, unknown>>
  /** Starts a job that has printed `up`, and gives its id. */
  start(command: string, ...options: string[]): Promise<string>
  list(): Promise<Record<string, unknown>[]>
  /** Ends all that is left, and removes the folder. */
  close(): Promise<void>
}

export function openHome(): Home {
  const state = mkdtempSync(join(tmpdir(), 'jobs-'))
  const env = { XDG_STATE_HOME: state }
  const run = (args: string[], input?: string) =>
    runCli(args, { env, ...(input === undefined ? {} : { input }) })

  async function json(args: string[], input?: string) {
    const { stdout, stderr } = await run([...args, '--output-format', 'json'], input)
    if (stdout.length === 0) throw new Error(`no answer: ${stderr.toString()}`)
    return JSON.parse(stdout.toString()) as Record<string, unknown>
  }
  async function list() {
    return (await json(['job', 'list']))['jobs'] as Record<string, unknown>[]
  }

  return {
    dir: join(state, 'nacre', 'jobs'),
    env,
    run,
    json,
    list,
    async start(command, ...options) {
      const ready = ['--background', '--ready', 'regex:^up$']
      const result = await json(['-c', command, ...ready, ...options])
      if (result['status'] !== 'running') throw new Error(`ended: ${JSON.stringify(result)}`)
      return String(result['job_id'])
    },
    async close() {
      await endJobs(state)
      rmSync(state, { recursive: true })
    },
  }
}

/** Ends the jobs of nacres with this `XDG_STATE_HOME`, and waits until these have ended too. */
export async function endJobs(state: string): Promise<void> {
  const jobs = openJobs(join(state, 'nacre', 'jobs'))
  for (const { id } of await jobs.list({ status: 'running' })) await jobs.kill(id)
  await until(() => findMarked('XDG_STATE_HOME', state).length === 0)
}

/** A value for what a test is to find again, which no other run of the tests has. */
export function markOf(number: number): string {
  return `${process.pid}-${number}`
}

/** The processes in whose environment a variable has this value. */
export function findMarked(name: string, value: string): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => pid !== process.pid && readVariable(pid, name) === value)
}

/** The process that holds the only run of this home, once there is one. */
export async function findHolder(state: string): Promise<number> {
  const isOne = (pid: number) => describeProcess(pid).includes(' supervise ')
  const find = () => findMarked('XDG_STATE_HOME', state).find(isOne)
  await until(() => find() !== undefined)
  return find() ?? 0
}
