import { setTimeout as delay } from 'node:timers/promises'
import type { HostAddress } from '../../protocol/request/host-address.ts'
import type { Request } from '../../protocol/request/request.ts'
import { nowMs } from '../../system/clock.ts'
import { markVariable, ownerVariable } from '../../system/process/own-process.ts'
import { type ClientEnvironment, findClient, type HostClient } from '../host/client.ts'
import { composeBootstrapWords } from '../host/script.ts'
import { cancelJobs, describeJobEnd, hasEnded, listJobs, lookEveryMs, patienceMs } from './jobs.ts'

/**
 * Slurm (slurm.schedmd.com): a run is a job, which srun(1) starts and to which it is connected. Its name
 * in the queue is the id of the run.
 */
export function createSlurmClient(
  { partition }: HostAddress & { kind: 'slurm' },
  environment: ClientEnvironment,
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

      async describeEnd(runId, heard) {
        // A command that has told its success has ended by itself.
        if (heard.code === 0) return null
        const deadline = nowMs() + patienceMs
        for (;;) {
          const [job] = (await listJobs(environment, { name: runId })) ?? []
          if (job === undefined || nowMs() > deadline) return null
          if (hasEnded(job)) return describeJobEnd(job, heard)
          await delay(lookEveryMs)
        }
      },
    },
    sendsVariables: true,
    close: async () => undefined,
  }
}

/** The words by which srun(1) and sbatch(1) are told what a run may have. */
export function composeJob(request: Request, partition: string | null): string[] {
  const { id, cores, memory, timeoutMs, sbatch } = request
  return [
    // Of an option that is there twice the last one counts: by its own nacre hears of the job.
    ...sbatch,
    `--job-name=${id}`,
    '--nodes=1',
    '--ntasks=1',
    ...(partition === null ? [] : [`--partition=${partition}`]),
    ...(cores === null ? [] : [`--cpus-per-task=${cores}`]),
    ...(memory === null ? [] : [`--mem=${memory}`]),
    // Slurm counts in minutes, and its end of a job is harder than nacre's.
    ...(timeoutMs === null ? [] : [`--time=${Math.ceil(timeoutMs / 60_000) + 1}`]),
  ]
}
