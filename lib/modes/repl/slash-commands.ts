import { resolve } from 'node:path'
import { messageOf } from '../../protocol/errors.ts'
import { fields } from '../../protocol/fields.ts'
import { formatDuration } from '../../render/messages.ts'
import { countOf, formatBytes } from './columns.ts'
import { isDirectory } from './is-directory.ts'
import { pagesOfArtifact } from './pages.ts'
import { viewPages, viewResult } from './open-viewer.ts'
import type { SlashCommand, SlashContext } from './slash-command.ts'

/** Every slash command, in the order of the help. */
export const slashCommands: readonly SlashCommand[] = [
  {
    name: 'help',
    description: 'what can be typed',
    run: (_, context) => context.print(helpLines(context)),
  },
  {
    name: 'bash',
    description: 'bash mode: every line runs in one shell',
    run: (_, { state }) => void (state.bash = true),
  },
  { name: 'pty', hint: '<command>', description: 'run a command on a terminal', run: runOnPty },
  { name: 'jobs', description: 'what runs, and what has ended lately', run: listJobs },
  {
    name: 'attach',
    hint: '[id]',
    description: 'show a program on its terminal again',
    run: attach,
  },
  { name: 'kill', hint: '[id]', description: 'stop a job', run: killJob },
  {
    name: 'view',
    hint: '[artifact]',
    description: 'all output of the last command, or an artifact',
    run: view,
  },
  { name: 'artifacts', description: 'outputs that are kept on disk', run: listArtifacts },
  { name: 'cd', hint: '[directory]', description: 'go to another directory', run: changeDirectory },
  {
    name: 'model',
    hint: '[provider/name]',
    description: 'show or choose the model',
    run: (rest, { talk }) => talk.chooseModel(rest.trim()),
  },
  {
    name: 'resume',
    hint: '[conversation]',
    description: 'list conversations, or go on with one',
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
    hint: fields.sandbox.values.join('|'),
    description: 'show or choose the sandbox',
    run: chooseSandbox,
  },
  { name: 'guard', hint: '[forget <n>]', description: 'remembered approvals', run: showApprovals },
  { name: 'history', hint: '[words]', description: 'what was typed', run: listHistory },
  { name: 'clear', description: 'empty the screen', run: (_, { display }) => display.clear() },
  { name: 'quit', description: 'leave nacre', run: (_, { state }) => void (state.quit = true) },
]

const keyHelp = [
  ['!command', 'runs it; !&command on a terminal; !! keeps it from the model'],
  ['!', 'on an empty line: bash mode'],
  ['Tab', 'completes programs, paths and slash commands'],
  ['Ctrl-R', 'searches the history; Ctrl-P lists commands'],
  ['Ctrl-O, v', 'all output of the last command'],
  ['Esc, Ctrl-C', 'stop the command; Ctrl-B sends it to the background'],
  ['\\ Enter', 'another line; Alt-Enter and Shift-Enter too'],
] as const

function helpLines({ style }: SlashContext): string[] {
  const names = slashCommands.map(({ name, hint = '' }) => `/${name} ${hint}`.trim())
  const rows = [
    ...keyHelp,
    ...slashCommands.map(({ description }, index) => [names[index] ?? '', description] as const),
  ]
  return rows.map(([name, text]) => `${style.salmon(name.padEnd(30))} ${text}`)
}

function runOnPty(command: string, { runner, print }: SlashContext): Promise<void> | void {
  if (command.trim() === '') return print(['Say what to run: /pty <command>'])
  return runner.run({ command, injected: true, terminal: true, session: false })
}

async function listJobs(_: string, { executor, print, style }: SlashContext): Promise<void> {
  const jobs = await executor.jobs.list()
  if (jobs.length === 0) return print(['No jobs.'])
  print(
    jobs.map(({ id, status, durationMs, command }) => {
      const state = status === 'running' ? style.green(status) : style.dim(status)
      return `${id}  ${state}  ${formatDuration(durationMs)}  ${command.replaceAll('\n', ' ⏎ ')}`
    }),
  )
}

/** The job that is meant: by the beginning of its id, or the newest that runs. */
async function findJob(rest: string, { executor }: SlashContext): Promise<string | null> {
  const wanted = rest.trim()
  const alive = await executor.jobs.list({ status: 'running' })
  const found = alive.filter(({ id }) => id.startsWith(wanted) || id.startsWith(`run_${wanted}`))
  return found.at(-1)?.id ?? null
}

async function attach(rest: string, context: SlashContext): Promise<void> {
  const id = rest.trim() || context.runner.attachable().at(-1)
  const shown = id !== undefined && (await context.runner.attach(id))
  if (!shown) context.print(['No program runs on a terminal in the background.'])
}

async function killJob(rest: string, context: SlashContext): Promise<void> {
  const id = await findJob(rest, context)
  if (id === null) return context.print(['No such job runs; /jobs lists them.'])
  await context.executor.jobs.kill(id)
}

async function view(rest: string, context: SlashContext): Promise<void> {
  const id = rest.trim()
  const last = context.state.runs.at(-1)
  if (id === '') {
    if (last) await viewResult(last.result, context)
    else context.print(['Nothing has run yet.'])
    return
  }
  const { artifacts } = context.executor
  if (!artifacts) return context.print(['No artifacts are kept.'])
  const info = await artifacts.find(id)
  await viewPages(info.command, pagesOfArtifact(info.id, artifacts), context)
}

async function listArtifacts(_: string, { executor, print }: SlashContext): Promise<void> {
  const list = (await executor.artifacts?.list()) ?? []
  if (list.length === 0) return print(['No artifacts.'])
  print(
    list.slice(0, 30).map(({ id, bytes, createdAt, command }) => {
      const when = createdAt.slice(0, 16).replace('T', ' ')
      return `${id}  ${when}  ${formatBytes(bytes)}  ${command.replaceAll('\n', ' ⏎ ')}`
    }),
  )
}

function changeDirectory(rest: string, { state, environment, print }: SlashContext): void {
  const wanted = rest.trim() || '~'
  const home = environment['HOME'] ?? '/'
  const named =
    wanted === '-' ? (state.previousCwd ?? state.cwd) : wanted.replace(/^~(?=\/|$)/, home)
  const target = resolve(state.cwd, named)
  if (!isDirectory(target)) {
    return print([`Not a directory: ${target}`])
  }
  state.previousCwd = state.cwd
  state.cwd = target
}

function chooseSandbox(rest: string, { state, print }: SlashContext): void {
  const wanted = rest.trim()
  const mode = fields.sandbox.values.find((known) => known === wanted)
  if (wanted !== '' && !mode)
    return print([`No such sandbox: ${wanted}; ${fields.sandbox.values.join(', ')}`])
  if (mode) state.sandbox = mode
  print([`Sandbox: ${state.sandbox ?? state.configuredSandbox}`])
}

function showApprovals(rest: string, { approvals, print, style }: SlashContext): void {
  const place = /^forget\s+(\d+)$/.exec(rest.trim())?.[1]
  try {
    if (place !== undefined) {
      return print([approvals.remove(Number(place) - 1) ? 'Forgotten.' : `There is no ${place}.`])
    }
    const list = approvals.list()
    if (list.length === 0) return print(['No approvals are remembered.'])
    print([
      `${countOf(list.length, 'approval')} · /guard forget <n> removes one`,
      ...list.map(({ approval: { command, cwd, rule }, lasting }, index) => {
        const how = style.dim(`${rule}, ${lasting ? 'always' : 'this session'}, in ${cwd}`)
        return `${index + 1}  ${command}  ${how}`
      }),
    ])
  } catch (error) {
    print([style.red(`Remembered approvals cannot be used: ${messageOf(error)}`)])
  }
}

function listHistory(rest: string, { history, print }: SlashContext): void {
  const words = rest.trim().toLowerCase()
  const found = history.list().filter((text) => text.toLowerCase().includes(words))
  print(
    found.length === 0
      ? ['Nothing found.']
      : found.slice(-50).map((text) => text.replaceAll('\n', ' ⏎ ')),
  )
}
