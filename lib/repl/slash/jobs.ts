import { existsSync } from 'node:fs'
import { quoteWord } from '../../protocol/words.ts'
import type { Result } from '../../protocol/result/result.ts'
import { describeDamaged, formatDuration } from '../../render/messages.ts'
import { nowMs } from '../../system/clock.ts'
import { programWords } from '../../system/runtime.ts'
import type { NumberedJob } from '../run-command.ts'
import { renderEnd } from '../screen/block.ts'
import { oneLine } from '../screen/text.ts'
import { viewArtifact, viewResult, viewRun } from '../viewer/view-text.ts'
import type { SlashContext } from './slash-command.ts'

export function numbers({ runner }: SlashContext): string[] {
  return runner.jobs().map(({ number }) => `%${number}`)
}

export function runningNumbers({ runner }: SlashContext): string[] {
  return runner.runningJobs().map(({ number }) => `%${number}`)
}

/** Jobs of this nacre by number; those of others by their ids. */
export async function listJobs(
  _: string,
  { executor, runner, print, style }: SlashContext,
): Promise<void> {
  const own = runner.jobs().map(({ number, run, command, startedMs, result }) => {
    const state = result
      ? renderEnd(result, style)
      : `${style.green('running')} · ${formatDuration(Math.round((nowMs() - startedMs) / 1000) * 1000)}`
    return { id: run.id, line: `%${number}  ${state}  ${oneLine(command)}` }
  })
  const known = new Set(own.map(({ id }) => id))
  const others = (await executor.jobs.list())
    .filter(({ id }) => !known.has(id))
    .map(
      ({ id, status, command }) =>
        `${id}  ${status === 'running' ? style.green(status) : style.dim(status)}  ${oneLine(command)}`,
    )
  print([
    ...(own.length + others.length === 0
      ? ['No jobs.']
      : [...own.map(({ line }) => line), ...others]),
    ...describeDamaged(await executor.jobs.listDamaged()),
  ])
}

/** The job that is meant: by its number, else the newest that runs. */
function findJob(rest: string, { runner }: SlashContext): NumberedJob | null {
  const wanted = /^%?(\d+)$/.exec(rest.trim())?.[1]
  if (wanted === undefined) return (rest.trim() === '' && runner.runningJobs().at(-1)) || null
  return runner.jobs().find(({ number }) => number === Number(wanted)) ?? null
}

export async function attach(rest: string, context: SlashContext): Promise<void> {
  const job = findJob(rest, context)
  const id = rest.trim()
  if (!job && isJobId(id)) return attachToOther(id, context)
  if (!job) return context.print(['No such job goes on; /jobs lists them.'])
  if (job.result)
    return context.print([`%${job.number} has ended; /view %${job.number} shows its output.`])
  await context.runner.attach(job)
}

/** A job that another nacre holds is shown by a program of its own, on your terminal like any other. */
async function attachToOther(id: string, { runner }: SlashContext): Promise<void> {
  const words = ['job', 'attach', id]
  const command = [...programWords(process), ...words].map(quoteWord).join(' ')
  await runner.run({ command, injected: false, shownAs: ['nacre', ...words].join(' ') })
}

/** Its artifact may not be on disk yet, or not to its end: what the result shows whole is not read there. */
async function readOther(id: string, { executor }: SlashContext): Promise<Result> {
  const result = await executor.jobs.show(id)
  const isKept = result.truncation && result.artifact && existsSync(result.artifact.path)
  return isKept ? result : { ...result, artifact: null }
}

function isJobId(text: string): boolean {
  return text.startsWith('run_')
}

export async function killJob(rest: string, context: SlashContext): Promise<void> {
  const job = findJob(rest, context)
  if (job?.result) return context.print([`%${job.number} has ended.`])
  if (job) return void (await job.run.stop('kill'))
  const id = rest.trim()
  if (!isJobId(id)) return context.print(['No such job goes on; /jobs lists them.'])
  await context.executor.jobs.kill(id)
}

export async function view(rest: string, context: SlashContext): Promise<void> {
  const words = rest
    .trim()
    .split(/\s+/)
    .filter((word) => word !== '')
  const follows = words.includes('-f')
  const id = words.find((word) => word !== '-f') ?? ''
  const last = context.state.runs.at(-1)
  const job = id === '' && !follows ? null : findJob(id, context)
  if (job?.result) return viewResult(job.result, context)
  if (job) return viewRun(job.run, follows, context)
  if (id === '') {
    return last ? viewResult(last.result, context) : context.print(['Nothing has run yet.'])
  }
  const run = context.state.runs.find(({ result }) => result.id === id)
  if (run) return viewResult(run.result, context)
  if (isJobId(id)) return viewResult(await readOther(id, context), context)
  await viewArtifact(id, context)
}
