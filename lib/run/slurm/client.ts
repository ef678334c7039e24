import { setTimeout as delay } from 'node:timers/promises'
import { StartError } from '../../protocol/ports.ts'
import type { HostAddress } from '../../protocol/request/host-address.ts'
import type { Request } from '../../protocol/request/request.ts'
import { nowMs } from '../../system/clock.ts'
import { markVariable, ownerVariable } from '../../system/process/own-process.ts'
import { findClient, type HostClient } from '../host/client.ts'
import { composeBootstrapWords } from '../host/script.ts'
import {
  cancelJobs,
  describeJobEnd,
  hasEnded,
  listJobs,
  lookEveryMs,
  neverBegan,
  patienceMs,
  type SlurmEnvironment,
} from './jobs.ts'

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
      cancel: (runId, graceMs) => cancelJobs(environment, { name: runId }, graceMs),

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

/** Words by which nacre hears of a job: another value would leave it deaf. */
const own =
  /^(?:-[JnNoeialu]|--(?:job-name|ntasks|nodes|output|error|input|array|label|unbuffered|pty|export|parsable|wrap|jobid)(?:=|$))/

function checkWords(words: readonly string[]): readonly string[] {
  const wrong = words.find((word) => own.test(word) || !/^--?[a-zA-Z]/.test(word))
  if (wrong === undefined) return words
  const message = `\`sbatch\` cannot take \`${wrong}\`: give options with their value in one word (--qos=high), and none by which nacre itself hears of the job`
  throw new StartError('invalid_sbatch', message)
}
