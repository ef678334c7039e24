import { existsSync } from 'node:fs'
import { quoteWord } from '../protocol/words.ts'
import { describeDamaged, formatDuration } from '../render/messages.ts'
import { nowMs } from '../system/clock.ts'
import { programWords } from '../system/runtime.ts'
import type { LineContext } from './context.ts'
import type { NumberedJob } from './run-command.ts'
import { renderEnd } from './screen/block.ts'
import { oneLine } from './screen/text.ts'
import { viewArtifact, viewResult, viewRun } from './viewer/view-text.ts'

const isJobId = (text: string) => text.startsWith('run_')
const noJob = ['No such job goes on; /jobs lists them.']

export function nameJobs(jobs: readonly NumberedJob[]): string[] {
  return jobs.map(({ number }) => `%${number}`)
}

/** Jobs of this nacre by number; those of others by their ids. */
export async function listJobs(_: string, context: LineContext): Promise<void> {
  const { executor, runner, print, style } = context
  const own = runner.jobs().map(({ number, result, shown: { wanted, startedMs } }) => {
    const time = formatDuration(Math.round((nowMs() - startedMs) / 1000) * 1000)
    const state = result ? renderEnd(result, style) : `${style.green('running')} · ${time}`
    return `%${number}  ${state}  ${oneLine(wanted.command)}`
  })
  const known = new Set(runner.jobs().map(({ run }) => run.id))
  const others = (await executor.jobs.list())
    .filter(({ id }) => !known.has(id))
    .map(({ id, status, command }) => {
      const state = status === 'running' ? style.green(status) : style.dim(status)
      return `${id}  ${state}  ${oneLine(command)}`
    })
  const all = [...own, ...others]
  const damaged = describeDamaged(await executor.jobs.listDamaged())
  print([...(all.length === 0 ? ['No jobs.'] : all), ...damaged])
}

/** The job of this number; without one the newest that runs. */
function findJob(text: string, { runner }: LineContext): NumberedJob | null {
  const wanted = /^%?(\d+)$/.exec(text)?.[1]
  if (wanted === undefined) return (text === '' && runner.runningJobs().at(-1)) || null
  return runner.jobs().find(({ number }) => number === Number(wanted)) ?? null
}

export async function attach(rest: string, context: LineContext): Promise<void> {
  const { runner, print } = context
  const id = rest.trim()
  const job = findJob(id, context)
  if (job?.result)
    return print([`%${job.number} has ended; /view %${job.number} shows its output.`])
  if (job) return runner.attach(job)
  if (!isJobId(id)) return print(noJob)
  // A job that another nacre holds is shown by a program of its own, on your terminal like any other.
  const words = ['job', 'attach', id]
  const command = [...programWords(process), ...words].map(quoteWord).join(' ')
  await runner.run({ command, injected: false, shownAs: ['nacre', ...words].join(' ') })
}

export async function killJob(rest: string, context: LineContext): Promise<void> {
  const id = rest.trim()
  const job = findJob(id, context)
  if (job?.result) context.print([`%${job.number} has ended.`])
  else if (job) await job.run.stop('kill')
  else if (isJobId(id)) await context.executor.jobs.kill(id)
  else context.print(noJob)
}

export async function share(rest: string, context: LineContext): Promise<void> {
  const [id = '', act = 'read', ...more] = rest.trim().split(/\s+/)
  if ((act !== 'read' && act !== 'write') || more.length > 0)
    return context.print(['/share %n lets the model read it, /share %n write also write to it.'])
  const wanted = findJob(id, context)?.run.id ?? id
  if (wanted === '' || wanted.startsWith('%')) return context.print(noJob)
  const names = await context.talk.share(wanted, act)
  context.print([`Shared with your next prompt, to ${act}: ${names.join(', ')}`])
}

export async function view(rest: string, context: LineContext): Promise<void> {
  const { executor, state, print } = context
  const words = rest.split(/\s+/).filter((word) => word !== '')
  const follows = words.includes('-f')
  const id = words.find((word) => word !== '-f') ?? ''
  const job = id === '' && !follows ? null : findJob(id, context)
  if (job?.result) return viewResult(job.result, context)
  if (job) return viewRun(job.run, follows, context)
  const run = id === '' ? state.runs.at(-1) : state.runs.find(({ result }) => result.id === id)
  if (run) return viewResult(run.result, context)
  if (id === '') return print(['Nothing has run yet.'])
  if (!isJobId(id)) return viewArtifact(id, context)
  const result = await executor.jobs.show(id)
  // Its artifact may not be on disk yet, or not to its end: what the result shows whole is not read there.
  const isKept = result.truncation && result.artifact && existsSync(result.artifact.path)
  await viewResult(isKept ? result : { ...result, artifact: null }, context)
}
