import { join } from 'node:path'
import { openJobs } from '../executor/jobs/jobs.ts'
import type { Follower, Jobs } from '../executor/jobs/port.ts'
import { messageOf, wrongUsage } from '../protocol/errors.ts'
import { limits, usualSize } from '../protocol/limits.ts'
import { fields, option, toggle } from '../protocol/request/fields.ts'
import {
  type JobFilter,
  jobFilter,
  type Reading,
  readingParams,
} from '../protocol/result/reading.ts'
import type { Result } from '../protocol/result/result.ts'
import * as shape from '../protocol/shape/shape.ts'
import { describeDamaged, describeStanding } from '../render/messages.ts'
import { renderJobTable, renderTaskTable } from '../render/tables.ts'
import { programWords } from '../system/runtime.ts'
import type { CommandContext } from '../doors/command.ts'
import { typeIntoRun } from '../doors/terminal.ts'
import { answer, answerFlags, createCommand, fieldFlags, tell, wantsJson } from './actions.ts'

/** The status by which timeout(1) tells that the time is over and the command is not. */
const stillRunning = 124

export const command = createCommand({
  name: 'job',
  description: 'The jobs of every nacre of this user',
  flags: answerFlags,
  actions: {
    list: {
      words: [],
      description: 'all jobs, those that run and those that ended lately',
      flags: fieldFlags(jobFilter),
      async run(_, context) {
        const jobs = jobsOf(context)
        const { status, limit } = context.options as JobFilter
        const entries = await jobs.list({ status, limit })
        const { stdout } = context.streams
        const width = stdout.isTerminal ? columns(context) : Infinity
        await answer(context, { jobs: entries }, renderJobTable(entries, width))
        for (const line of describeDamaged(await jobs.listDamaged())) await tell(context, line)
        return 0
      },
    },
    show: {
      words: ['<id>'],
      description: 'how one stands',
      ids: 'jobs',
      async run([id = ''], context) {
        const result = await jobsOf(context).show(id)
        await answer(context, result, `${describeStanding(result).join('\n')}\n`)
        return 0
      },
    },
    read: {
      words: ['<id>'],
      description: 'what it wrote (since --cursor)',
      flags: fieldFlags(readingParams),
      ids: 'jobs',
      async run([id = ''], context) {
        const { cursor: from, stream, head, tail, maxLines, maxBytes } = context.options as Reading
        const reading = { cursor: from, stream, head, tail, maxLines, maxBytes }
        const output = await jobsOf(context).read(id, reading)
        await answer(context, output, output.text)
        if (wantsJson(context)) return 0
        const { truncatedBefore, moreBytes, status, cursor } = output
        if (truncatedBefore > 0) {
          await tell(context, `${truncatedBefore} bytes before this are not shown`)
        }
        const next = `next: --cursor ${cursor}`
        if (moreBytes > 0) await tell(context, `${moreBytes} bytes more; ${next}`)
        else if (status === 'running') await tell(context, `running; ${next}`)
        return 0
      },
    },
    tasks: {
      words: ['<id>'],
      description: 'how each task of an array has ended',
      ids: 'jobs',
      async run([id = ''], context) {
        const ends = await jobsOf(context).tasks(id)
        if (!wantsJson(context)) await answer(context, null, renderTaskTable(ends))
        else for (const end of ends) await answer(context, end, '')
        return 0
      },
    },
    wait: {
      words: ['<id>…'],
      description: 'wait for its end; its exit status, or 124 while it runs on',
      flags: [
        option('ready', fields.ready, 'Until it is ready, not to its end'),
        toggle('any', 'For the first of several, not for all'),
        option(
          'timeout',
          shape.number('', { minimum: 0, unit: 'seconds' }),
          `At most so long (default and most ${limits.jobWaitSeconds})`,
        ),
      ],
      ids: 'jobs',
      async run(ids, context) {
        const { timeout: timeoutSeconds, ready, any } = context.options as JobWaitOptions
        const results = await jobsOf(context).waitFor(ids, { timeoutSeconds, ready, any })
        const [only] = results
        if (results.length > 1 && wantsJson(context)) await answer(context, { jobs: results }, '')
        else for (const result of results) await tellStanding(result, context)
        const waited = any ? results.filter(({ status }) => status !== 'running') : results
        const failed = waited.find((result) => context.exitStatusOf(result) !== 0)
        if (waited.length === 0 || waited.some(({ status }) => status === 'running'))
          return stillRunning
        return context.exitStatusOf((failed ?? only) as Result)
      },
    },
    write: {
      words: ['<id>', '[<text>…]'],
      description: 'type into it (one with --pty or --open-stdin)',
      flags: [
        toggle('line', 'End the text with a newline'),
        toggle('eof', 'End the input after the text'),
      ],
      ids: 'running',
      async run([id = '', ...texts], context) {
        const end = context.options['eof'] === true
        const line = context.options['line'] === true
        if (texts.length === 0 && !end && !line) {
          throw wrongUsage('Usage: nacre job write <id> <text>')
        }
        await jobsOf(context).write(id, `${texts.join(' ')}${line ? '\n' : ''}`, { end })
        return 0
      },
    },
    attach: {
      words: ['<id>'],
      description:
        'show what it writes from now on, and type into one with a terminal; Ctrl-] leaves it',
      ids: 'running',
      run([id = ''], context) {
        return context.useExecutor(
          async ({ jobs }, signal) => {
            const result = await attachToJob(id, jobs, signal, context)
            await tellStanding(result, context)
            return context.exitStatusOf(result)
          },
          { configured: false },
        )
      },
    },
    kill: {
      words: ['<id>'],
      description: 'stop it and everything that it started',
      ids: 'running',
      async run([id = ''], context) {
        const result = await jobsOf(context).kill(id)
        await tellStanding(result, context)
        return result.survivors.length > 0 ? 1 : 0
      },
    },
  },
  details: ['An id may be shortened to its beginning, with or without `run_`.'],
  examples: [
    "nacre -c 'npm run dev' --background --ready port:3000",
    'nacre job list --output-format json',
    'nacre job read k5x2 --cursor 1024',
    'nacre job wait k5x2 --timeout 60',
    'nacre job write k5x2 yes --line',
    'nacre job attach k5x2',
    'nacre job kill k5x2',
  ],
})

function jobsOf({ environment, stateDir }: CommandContext): Jobs {
  const words = () => [...programWords(process), 'supervise']
  return openJobs(join(stateDir, 'jobs'), { words, environment })
}

interface JobWaitOptions {
  timeout?: number
  ready?: string
  any?: true
}

/** The result for programs; for people how it stands, on stderr. */
async function tellStanding(result: Result, context: CommandContext): Promise<void> {
  if (wantsJson(context)) await answer(context, result, '')
  else for (const line of describeStanding(result)) await tell(context, line)
}

function columns({ environment }: CommandContext): number {
  return process.stdout.columns || Number(environment['COLUMNS']) || usualSize.columns
}

/** Ctrl-], which telnet(1) has for the same. */
const leaveKey = '\u001D'

/** Lines of what it wrote before, where the window does not say how many fit. */
const usualLines = 10

/**
 * Shows what a job writes until it ends, `signal` aborts or a person leaves it by the key. What is typed
 * goes to a job that has a terminal, and so does the size of the window. Gives how it stands then.
 */
async function attachToJob(
  given: string,
  jobs: Jobs,
  signal: AbortSignal,
  context: CommandContext,
): Promise<Result> {
  const { streams } = context
  const { stdout, stderr } = streams
  const leaving = new AbortController()
  const either = AbortSignal.any([signal, leaving.signal])
  let isShown = false
  const follower: Follower = {
    id: null,
    notify(method, params) {
      // What the job wrote before is part of the text that is shown first.
      if (!isShown || method !== 'shell.output') return
      const { stream, data } = params as { stream: string; data: string }
      return (stream === 'stderr' ? stderr : stdout).write(data)
    },
  }
  const { id } = await jobs.show(given)
  const entry = (await jobs.list({ status: 'running' })).find((job) => job.id === id)
  const size = stdout.isTerminal ? stdout.size() : null
  const followed = jobs.follow(id, follower, either)
  followed.catch(() => undefined)
  const before = await jobs.read(id, { tail: size ? size.rows - 1 : usualLines })
  await stdout.write(before.text)
  isShown = true
  const stopTyping = entry?.pty && streams.input === 'terminal' ? type() : () => undefined
  try {
    return await followed
  } finally {
    stopTyping()
  }

  function type(): () => void {
    const resize = (columns: number, rows: number) =>
      void jobs.resize(id, columns, rows).catch((error: unknown) => tell(context, messageOf(error)))
    if (size) resize(size.columns, size.rows)
    return typeIntoRun(
      {
        resize,
        async write(text) {
          const at = text.indexOf(leaveKey)
          await jobs.write(id, at < 0 ? text : text.slice(0, at))
          if (at >= 0) leaving.abort()
        },
      },
      streams,
    )
  }
}
