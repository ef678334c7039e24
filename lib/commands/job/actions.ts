import type { Jobs } from '../../executor/jobs/port.ts'
import { usualSize } from '../../protocol/limits.ts'
import type { JobFilter, Reading } from '../../protocol/result/reading.ts'
import type { Result } from '../../protocol/result/result.ts'
import { describeDamaged, describeStanding } from '../../render/messages.ts'
import { renderJobTable, renderTaskTable } from '../../render/tables.ts'
import type { CommandContext } from '../../doors/command.ts'
import { answer, takeWords, tell, wantsJson, wrongWords } from '../answer.ts'
import { attachToJob } from './attach.ts'

interface ActionInput {
  jobs: Jobs
  /** After the name of the action. */
  words: readonly string[]
  context: CommandContext
}

/** Gives the exit status. */
type Action = (input: ActionInput) => Promise<number>

/** The status by which timeout(1) tells that the time is over and the command is not. */
const stillRunning = 124

export const jobActions: Readonly<Record<string, Action>> = {
  async list({ jobs, words, context }) {
    takeWords(words, 'nacre job list')
    const { status, limit } = context.options as JobFilter
    const entries = await jobs.list({ status, limit })
    const { stdout } = context.streams
    const width = stdout.isTerminal ? columns(context) : Infinity
    await answer(context, { jobs: entries }, renderJobTable(entries, width))
    for (const line of describeDamaged(await jobs.listDamaged())) await tell(context, line)
    return 0
  },

  async show({ jobs, words, context }) {
    const result = await jobs.show(takeId(words, 'show'))
    await answer(context, result, `${describeStanding(result).join('\n')}\n`)
    return 0
  },

  async read({ jobs, words, context }) {
    const output = await jobs.read(takeId(words, 'read'), readingOf(context.options))
    if (output.truncatedBefore > 0 && !wantsJson(context)) {
      await tell(context, `${output.truncatedBefore} bytes before this are not shown`)
    }
    await answer(context, output, output.text)
    if (wantsJson(context)) return 0
    const next = `next: --cursor ${output.cursor}`
    if (output.moreBytes > 0) await tell(context, `${output.moreBytes} bytes more; ${next}`)
    else if (output.status === 'running') await tell(context, `running; ${next}`)
    return 0
  },

  async tasks({ jobs, words, context }) {
    const ends = await jobs.tasks(takeId(words, 'tasks'))
    if (!wantsJson(context)) await answer(context, null, renderTaskTable(ends))
    else for (const end of ends) await answer(context, end, '')
    return 0
  },

  async wait({ jobs, words, context }) {
    const { timeout: timeoutSeconds, ready, any } = context.options as JobWaitOptions
    if (words.length === 0) takeId(words, 'wait')
    const results = await jobs.waitFor(words, { timeoutSeconds, ready, any })
    const [only] = results
    if (results.length > 1 && wantsJson(context)) await answer(context, { jobs: results }, '')
    else for (const result of results) await tellStanding(result, context)
    const waited = any ? results.filter(({ status }) => status !== 'running') : results
    const failed = waited.find((result) => context.exitStatusOf(result) !== 0)
    if (waited.length === 0 || waited.some(({ status }) => status === 'running'))
      return stillRunning
    return context.exitStatusOf((failed ?? only) as Result)
  },

  async write({ jobs, words, context }) {
    const [id = '', ...texts] = words
    const end = context.options['eof'] === true
    const line = context.options['line'] === true
    if (id === '' || (texts.length === 0 && !end && !line)) {
      throw wrongWords('nacre job write <id> <text>')
    }
    await jobs.write(id, `${texts.join(' ')}${line ? '\n' : ''}`, { end })
    return 0
  },

  async attach({ words, context }) {
    const id = takeId(words, 'attach')
    return context.useExecutor(
      async ({ jobs }, signal) => {
        const result = await attachToJob(id, jobs, {
          streams: context.streams,
          signal,
          tell: (line) => void tell(context, line),
        })
        await tellStanding(result, context)
        return context.exitStatusOf(result)
      },
      { configured: false },
    )
  },

  async resume({ jobs, words, context }) {
    await tellStanding(await jobs.resume(takeId(words, 'resume')), context)
    return 0
  },

  async kill({ jobs, words, context }) {
    const result = await jobs.kill(takeId(words, 'kill'))
    await tellStanding(result, context)
    return result.survivors.length > 0 ? 1 : 0
  },
}

interface JobWaitOptions {
  timeout?: number
  ready?: string
  any?: true
}

function readingOf(options: CommandContext['options']): Reading {
  type Limits = { [Name in 'max-lines' | 'max-bytes']?: number }
  const { 'max-lines': maxLines, 'max-bytes': maxBytes, ...rest } = options as Reading & Limits
  const { cursor, stream, head, tail } = rest
  return { cursor, stream, head, tail, maxLines, maxBytes }
}

/** The result for programs; for people how it stands, on stderr. */
async function tellStanding(result: Result, context: CommandContext): Promise<void> {
  if (wantsJson(context)) await answer(context, result, '')
  else for (const line of describeStanding(result)) await tell(context, line)
}

function columns({ environment }: CommandContext): number {
  return process.stdout.columns || Number(environment['COLUMNS']) || usualSize.columns
}

function takeId(words: readonly string[], action: string): string {
  return takeWords(words, `nacre job ${action} <id>`)[0] ?? ''
}
