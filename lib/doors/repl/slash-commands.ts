import { existsSync } from 'node:fs'
import type { Result } from '../../protocol/result/result.ts'
import { messageOf } from '../../protocol/errors.ts'
import { fields } from '../../protocol/request/fields.ts'
import { quoteWord } from '../../protocol/words.ts'
import { formatDuration } from '../../render/messages.ts'
import { nowMs } from '../../system/clock.ts'
import { programWords } from '../../system/runtime.ts'
import { outputLines, renderEnd } from './screen/block.ts'
import { countOf, formatBytes } from './screen/columns.ts'
import { recall } from './line/history.ts'
import { viewArtifact, viewResult, viewRun } from './viewer/open-viewer.ts'
import type { NumberedJob } from './command/run-command.ts'
import type { SlashCommand, SlashContext } from './slash-command.ts'

const sandboxModes = fields.sandbox.values

/** Every slash command, in the order of the help. They work in both modes and from the palette. */
export const slashCommands: readonly SlashCommand[] = [
  {
    name: 'help',
    description: 'what can be typed',
    run: (_, context) => context.print(helpLines(context)),
  },
  {
    name: 'bash',
    description: 'bash mode: every line runs',
    run: (_, { state }) => void (state.bash = true),
  },
  { name: 'jobs', description: 'what goes on, and what has ended lately', run: listJobs },
  {
    name: 'attach',
    hint: '[%n|run]',
    description: 'show a job on its terminal again',
    complete: runningNumbers,
    run: attach,
  },
  {
    name: 'kill',
    hint: '[%n|run]',
    description: 'stop a job',
    complete: runningNumbers,
    run: killJob,
  },
  {
    name: 'view',
    hint: '[-f] [%n|run|artifact]',
    description: 'all output of the last command, a job or an artifact; -f follows',
    complete: (context) => ['-f', ...numbers(context)],
    run: view,
  },
  { name: 'artifacts', description: 'outputs that are kept on disk', run: listArtifacts },
  { name: 'again', description: 'run the last command again', run: again },
  { name: 'copy', description: 'the output of the last command to the clipboard', run: copyOutput },
  { name: 'cd', hint: '[directory]', description: 'go to another directory', run: changeDirectory },
  {
    name: 'model',
    hint: '[provider/name]',
    description: 'show or choose the model',
    complete: ({ talk }) => talk.listModels(),
    run: (rest, { talk }) => talk.chooseModel(rest.trim()),
  },
  {
    name: 'resume',
    hint: '[conversation]',
    description: 'pick a conversation, or go on with one',
    run: (rest, { talk }) => talk.resume(rest.trim()),
  },
  {
    name: 'export',
    hint: '[file]',
    description: 'write the conversation as Markdown, or as JSON into a .json file',
    run: (rest, { talk }) => talk.export(rest.trim()),
  },
  {
    name: 'usage',
    description: 'tokens and cost of the conversation',
    run: (_, { talk }) => talk.tellUsage(),
  },
  {
    name: 'sandbox',
    hint: sandboxModes.join('|'),
    description: 'show or choose the sandbox of your shell',
    complete: () => sandboxModes,
    run: chooseSandbox,
  },
  {
    name: 'guard',
    hint: '[forget <n>]',
    description: 'what you have allowed; forget takes it back',
    complete: () => ['forget'],
    run: showApprovals,
  },
  { name: 'history', hint: '[words]', description: 'what was typed', run: listHistory },
  { name: 'clear', description: 'empty the screen', run: (_, { display }) => display.clear() },
  { name: 'quit', description: 'leave nacre', run: (_, { state }) => void (state.quit = true) },
]

const keyHelp = [
  ['!command', 'runs it in your shell; !! keeps it from the model'],
  ['!', 'on an empty line: bash mode; exit, Esc or Ctrl-D leaves it'],
  ['Tab, →', 'completes as your shell does; takes the grey suggestion'],
  ['Up, Ctrl-R', 'history: what begins like the line; search in all'],
  ['Ctrl-P', 'palette: commands and history'],
  ['Ctrl-O, v', 'all output of the last command'],
  ['Ctrl-C', 'interrupts the command, Ctrl-Z suspends it; a third Ctrl-C kills'],
  ['Ctrl-B', 'lets the command go on in the background; Ctrl-] in a full screen'],
  ['Alt-Enter', 'another line; unfinished quotes and loops go on by themselves'],
  ['Ctrl-X Ctrl-E', 'the line in $EDITOR'],
] as const

function helpLines({ style }: SlashContext): string[] {
  const names = slashCommands.map(({ name, hint = '' }) => `/${name} ${hint}`.trim())
  const rows = [
    ...keyHelp,
    ...slashCommands.map(({ description }, index) => [names[index] ?? '', description] as const),
  ]
  return rows.map(([name, text]) => `${style.salmon(name.padEnd(30))} ${text}`)
}

function numbers({ runner }: SlashContext): string[] {
  return runner.jobs().map(({ number }) => `%${number}`)
}

function runningNumbers({ runner }: SlashContext): string[] {
  return runner
    .jobs()
    .filter(({ result }) => result === null)
    .map(({ number }) => `%${number}`)
}

/** Jobs of this nacre by number; those of others by their ids. */
async function listJobs(
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
  print(
    own.length + others.length === 0 ? ['No jobs.'] : [...own.map(({ line }) => line), ...others],
  )
}

/** The job that is meant: by its number, else the newest that runs. */
function findJob(rest: string, { runner }: SlashContext): NumberedJob | null {
  const wanted = /^%?(\d+)$/.exec(rest.trim())?.[1]
  const jobs = runner.jobs()
  if (wanted !== undefined) return jobs.find(({ number }) => number === Number(wanted)) ?? null
  return rest.trim() === '' ? (jobs.findLast(({ result }) => result === null) ?? null) : null
}

async function attach(rest: string, context: SlashContext): Promise<void> {
  const job = findJob(rest, context)
  const id = rest.trim()
  if (!job && isJobId(id)) return attachToOther(id, context)
  if (!job) return context.print(['No such job goes on; /jobs lists them.'])
  if (job.result)
    return context.print([`%${job.number} has ended; /view %${job.number} shows its output.`])
  await context.runner.attach(job)
}

/** A job that another nacre holds is shown by a program of its own, on your terminal like any other. */
async function attachToOther(id: string, { runLine }: SlashContext): Promise<void> {
  await runLine([...programWords(process), 'job', 'attach', id].map(quoteWord).join(' '), false)
}

/** Its artifact may not be on disk yet; then it is what the result shows. */
async function readOther(id: string, { executor }: SlashContext): Promise<Result> {
  const result = await executor.jobs.show(id)
  const isKept = result.artifact && existsSync(result.artifact.path)
  return isKept ? result : { ...result, artifact: null }
}

function isJobId(text: string): boolean {
  return text.startsWith('run_')
}

async function killJob(rest: string, context: SlashContext): Promise<void> {
  const job = findJob(rest, context)
  if (job?.result) return context.print([`%${job.number} has ended.`])
  if (job) return void (await job.run.stop('kill'))
  const id = rest.trim()
  if (!isJobId(id)) return context.print(['No such job goes on; /jobs lists them.'])
  await context.executor.jobs.kill(id)
}

async function view(rest: string, context: SlashContext): Promise<void> {
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

async function listArtifacts(_: string, { executor, print }: SlashContext): Promise<void> {
  const list = (await executor.artifacts?.list()) ?? []
  if (list.length === 0) return print(['No artifacts.'])
  print(
    list.slice(0, 30).map(({ id, bytes, createdAt, command }) => {
      const when = createdAt.slice(0, 16).replace('T', ' ')
      return `${id}  ${when}  ${formatBytes(bytes)}  ${oneLine(command)}`
    }),
  )
}

async function again(_: string, { state, runLine, print }: SlashContext): Promise<void> {
  const last = state.runs.at(-1)
  if (!last) return print(['Nothing has run yet.'])
  await runLine(last.result.command, last.injected)
}

function copyOutput(_: string, { state, display, print }: SlashContext): void {
  const last = state.runs.at(-1)
  if (!last) return print(['Nothing has run yet.'])
  const lines = outputLines(last.result)
  display.copy(lines.join('\n'))
  print([
    `Copied ${countOf(lines.length, 'line')}${last.result.artifact ? ' (what is shown of it)' : ''}.`,
  ])
}

/** As the shell itself would, quotes and all. */
async function changeDirectory(rest: string, { runLine }: SlashContext): Promise<void> {
  const wanted = rest.trim()
  const bare = /^[^\s'"\\$`~*?[]*$/.test(wanted) || wanted === '-' || /^~|["'\\$]/.test(wanted)
  await runLine(wanted === '' ? 'cd' : `cd ${bare ? wanted : quoteWord(wanted)}`, false)
}

function chooseSandbox(rest: string, { state, print }: SlashContext): void {
  const wanted = rest.trim()
  const mode = sandboxModes.find((known) => known === wanted)
  if (wanted !== '' && !mode)
    return print([`No such sandbox: ${wanted}; ${sandboxModes.join(', ')}`])
  if (mode) state.sandbox = mode
  print([
    `Sandbox: ${state.sandbox ?? state.configuredSandbox}${mode ? '; your next command gets a new shell in it' : ''}`,
  ])
}

function showApprovals(rest: string, { approvals, print, style }: SlashContext): void {
  const place = /^forget\s+(\d+)$/.exec(rest.trim())?.[1]
  try {
    if (place !== undefined) {
      return print([approvals.remove(Number(place) - 1) ? 'Forgotten.' : `There is no ${place}.`])
    }
    const list = approvals.list()
    if (list.length === 0) return print(['Nothing is allowed beforehand.'])
    print([
      `${countOf(list.length, 'approval')} · /guard forget <n> takes one back`,
      ...list.map(({ approval: { command, cwd, rule }, lasting }, index) => {
        const how = style.dim(`${rule}, ${lasting ? 'always' : 'until nacre ends'}, in ${cwd}`)
        return `${index + 1}  ${oneLine(command)}  ${how}`
      }),
    ])
  } catch (error) {
    print([style.red(`Remembered approvals cannot be used: ${messageOf(error)}`)])
  }
}

function listHistory(rest: string, { history, state, print, style }: SlashContext): void {
  const words = rest.trim().toLowerCase()
  const found = history.list().filter(({ text }) => text.toLowerCase().includes(words))
  if (found.length === 0) return print(['Nothing found.'])
  print(
    found.slice(-50).map((entry) => {
      const text = oneLine(recall(entry, false) ?? entry.text)
      const failed = entry.exitCode ? style.red(`  ✗ ${entry.exitCode}`) : ''
      const place = entry.cwd === '' || entry.cwd === state.cwd ? '' : style.dim(`  ${entry.cwd}`)
      return text + failed + place
    }),
  )
}

function oneLine(text: string): string {
  return text.replaceAll('\n', ' ⏎ ')
}
