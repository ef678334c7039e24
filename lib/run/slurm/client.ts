import { setTimeout as delay } from 'node:timers/promises'
import { limits } from '../../protocol/limits.ts'
import { StartError, type StopReport } from '../../protocol/ports.ts'
import type { HostAddress } from '../../protocol/request/host-address.ts'
import type { Request } from '../../protocol/request/request.ts'
import { nowMs } from '../../system/clock.ts'
import { markVariable, ownerVariable } from '../../system/process/own-process.ts'
import { findClient, type HostClient } from '../host/client.ts'
import { composeBootstrapWords } from '../host/script.ts'
import {
  callSlurm,
  describeJobEnd,
  hasEnded,
  listJobs,
  neverBegan,
  type SlurmEnvironment,
} from './jobs.ts'

/** How often, and for how long at most, Slurm is asked for the end of a job that should have one. */
const lookEveryMs = 100
const patienceMs = 8000

/**
 * Slurm (slurm.schedmd.com): a run is a job, which srun(1) starts and to which it is connected. Its name
 * in the queue is the id of the run.
 */
export function createSlurmClient(
  { partition }: HostAddress & { kind: 'slurm' },
  environment: SlurmEnvironment,
): HostClient {
  return {
    connect: async () => undefined,
    compose: (script, terminal, request) => ({
      file: findClient('srun', environment),
      args: [
        ...(request ? composeJob(request, partition) : []),
        // Slurm hands the environment of the caller on, and there each side knows its own marks.
        `--export=ALL,${markVariable}=,${ownerVariable}=`,
        // Informational messages would be taken for the command's own.
        '--quiet',
        ...(terminal ? ['--pty'] : []),
        ...composeBootstrapWords(script),
      ],
    }),
    scheduler: {
      async cancel(runId, graceMs): Promise<StopReport> {
        const named = `--jobname=${runId}`
        const answer = await callSlurm(environment, ['scancel', named])
        if (!answer.ok) return leftBehind(runId, answer.failure)
        const killAtMs = nowMs() + graceMs + limits.killGraceMs
        let killed = false
        for (;;) {
          const jobs = await listJobs(environment, { name: runId })
          if (jobs?.every((job) => hasEnded(job))) return { survivors: [] }
          if (nowMs() > killAtMs + patienceMs) return leftBehind(runId, 'it has not ended')
          if (!killed && nowMs() > killAtMs) {
            // Slurm itself waits for KillWait (30 s, slurm.conf(5)).
            killed = true
            await callSlurm(environment, ['scancel', '--signal=KILL', '--full', named])
          }
          await delay(lookEveryMs)
        }
      },

      async describeEnd(runId, heard, exit) {
        // A command that has told its success has ended by itself.
        if (heard.code === 0) return exit
        const deadline = nowMs() + patienceMs
        for (;;) {
          const [job] = (await listJobs(environment, { name: runId })) ?? []
          if (job === undefined || nowMs() > deadline) return exit
          if (hasEnded(job)) {
            if (!heard.begun && job.state === 'CANCELLED') return neverBegan()
            // Slurm has refused it; the words of srun say why.
            if (!heard.begun && job.state === 'FAILED') return exit
            return describeJobEnd(job, heard) ?? exit
          }
          await delay(lookEveryMs)
        }
      },
    },
    close: async () => undefined,
  }
}

/** The words by which srun(1) and sbatch(1) are told what a run may have. */
export function composeJob(request: Request, partition: string | null): string[] {
  const { id, cores, memory, timeoutMs, sbatch } = request
  return [
    `--job-name=${id}`,
    '--nodes=1',
    '--ntasks=1',
    ...(partition === null ? [] : [`--partition=${partition}`]),
    ...(cores === null ? [] : [`--cpus-per-task=${cores}`]),
    ...(memory === null ? [] : [`--mem=${memory}`]),
    // Slurm counts in minutes, and its end of a job is harder than nacre's.
    ...(timeoutMs === null ? [] : [`--time=${Math.ceil(timeoutMs / 60_000) + 1}`]),
    ...checkWords(sbatch),
  ]
}

/** Words by which nacre hears of a job; another value would leave it deaf. */
const own =
  /^(?:-[JnNoeialu]|--(?:job-name|ntasks|nodes|output|error|input|array|label|unbuffered|pty|export|parsable|wrap|jobid)(?:=|$))/

function checkWords(words: readonly string[]): readonly string[] {
  for (const word of words) {
    const message = !/^--?[a-zA-Z]/.test(word)
      ? `\`sbatch\` takes options, each with its value in one word (--qos=high), not \`${word}\``
      : own.test(word)
        ? `\`sbatch\` cannot take \`${word}\`: nacre sets that itself, to hear of the job`
        : null
    if (message !== null) throw new StartError('invalid_sbatch', message)
  }
  return words
}

function leftBehind(runId: string, why: string): StopReport {
  const notice = `The Slurm job ${runId} may still run (${why}); to end it: scancel --jobname=${runId}`
  return { survivors: [], notices: [notice] }
}
