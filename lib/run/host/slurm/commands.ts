import { callProgram } from '../call.ts'
import { jobColumns, readJobs, type SlurmJob } from './states.ts'

/** Slurm's own programs, which find their cluster by the environment of nacre. */
export interface SlurmCommands {
  find: (name: string) => string
  environment: Readonly<Record<string, string | undefined>>
}

/** What a program of Slurm has said. */
interface SlurmAnswer {
  ok: boolean
  stdout: string
  /** Its last line, where it failed. */
  failure: string
}

/** A controller that does not answer is asked again by Slurm's programs for longer than anybody waits. */
const answerMs = 20_000

/** Runs one of them to its end. `input` is its standard input. Rejects with `StartError` where it is missing. */
export async function callSlurm(
  { find, environment }: SlurmCommands,
  [name = '', ...args]: readonly string[],
  input = '',
): Promise<SlurmAnswer> {
  const call = { file: find(name), args }
  const { code, stdout, stderr } = await callProgram(call, {
    mostMs: answerMs,
    input,
    env: environment,
  })
  const said = stderr.trim().split('\n').at(-1) ?? ''
  return { ok: code === 0, stdout, failure: said || `${name} gave no answer` }
}

/**
 * Jobs as Slurm knows them now, for a few minutes after their end too (MinJobAge, slurm.conf(5)). Null
 * where it does not answer.
 */
export async function listJobs(
  slurm: SlurmCommands,
  which: { name: string } | { id: string },
): Promise<SlurmJob[] | null> {
  const chosen = 'name' in which ? `--name=${which.name}` : `--jobs=${which.id}`
  const words = ['--noheader', '--states=all', '--array', chosen, `--Format=${jobColumns}`]
  const answer = await callSlurm(slurm, ['squeue', ...words])
  if (answer.ok) return readJobs(answer.stdout)
  // It has forgotten the job.
  return /Invalid job id/.test(answer.failure) ? [] : null
}
