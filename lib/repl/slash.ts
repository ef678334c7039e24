import { quoteWord } from '../protocol/words.ts'
import { messageOf } from '../protocol/errors.ts'
import { fields } from '../protocol/request/fields.ts'
import { describeDamaged } from '../render/messages.ts'
import type { LineContext } from './context.ts'
import { attach, killJob, listJobs, nameJobs, share, view } from './jobs.ts'
import { recall } from './line/history.ts'
import { outputLines } from './screen/block.ts'
import { countOf, formatBytes, oneLine, wrap } from './screen/text.ts'

export interface SlashCommand {
  name: string
  /** What stands after the name in the help. */
  hint?: string
  description: string
  /** Words that may follow the name. */
  complete?: (context: LineContext) => readonly string[] | Promise<readonly string[]>
  run(rest: string, context: LineContext): void | Promise<void>
}

const sandboxModes = fields.sandbox.enum

/** Every slash command, in the order of the help. They work in both modes and from the palette. */
export const slashCommands: readonly SlashCommand[] = [
  { name: 'help', description: 'what can be typed', run: help },
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
    complete: ({ runner }) => nameJobs(runner.runningJobs()),
    run: attach,
  },
  {
    name: 'kill',
    hint: '[%n|run]',
    description: 'stop a job',
    complete: ({ runner }) => nameJobs(runner.runningJobs()),
    run: killJob,
  },
  {
    name: 'view',
    hint: '[-f] [%n|run|artifact]',
    description: 'all output of the last command, a job or an artifact; -f follows',
    complete: ({ runner }) => ['-f', ...nameJobs(runner.jobs())],
    run: view,
  },
  {
    name: 'share',
    hint: '[%n|run|artifact] [read|write]',
    description: 'let the model read it; write: also type into it and stop it',
    complete: ({ runner }) => nameJobs(runner.jobs()),
    run: share,
  },
  { name: 'artifacts', description: 'outputs that are kept on disk', run: listArtifacts },
  { name: 'again', description: 'run the last command again', run: again },
  { name: 'copy', description: 'the output of the last command to the clipboard', run: copyOutput },
  {
    name: 'cd',
    hint: '[directory]',
    description: 'go to another directory',
    run: (rest, { runLine }) => runLine(composeCd(rest), false),
  },
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
  ['Ctrl-C', 'interrupts the command, Ctrl-Z suspends it; Ctrl-B and /kill end it'],
  ['Ctrl-B', 'lets the command go on in the background; Ctrl-] if a program reads keys'],
  ['Alt-Enter', 'another line; unfinished quotes and loops go on by themselves'],
  ['Ctrl-X Ctrl-E', 'the line in $EDITOR'],
] as const

/** In two columns, or one below the other in a window that has no room for them. */
function help(_: string, { style, display, print }: LineContext): void {
  const rows = [
    ...keyHelp,
    ...slashCommands.map(
      ({ name, hint = '', description }) => [`/${name} ${hint}`.trim(), description] as const,
    ),
  ]
  const width = Math.max(...rows.map(([name]) => name.length)) + 2
  const room = display.columns - width
  const lines = rows.flatMap(([name, text]) => {
    if (room < width) return [style.salmon(name), `  ${text}`]
    const [first = '', ...rest] = wrap(text, room)
    const more = rest.map((line) => ' '.repeat(width) + line)
    return [style.salmon(name.padEnd(width)) + first, ...more]
  })
  print(lines)
}

async function listArtifacts(_: string, { executor, print }: LineContext): Promise<void> {
  const list = (await executor.artifacts?.list()) ?? []
  const lines = list.slice(0, 30).map(({ id, bytes, createdAt, command }) => {
    const when = createdAt.slice(0, 16).replace('T', ' ')
    return `${id}  ${when}  ${formatBytes(bytes)}  ${oneLine(command)}`
  })
  const damaged = describeDamaged((await executor.artifacts?.listDamaged()) ?? [])
  print([...(lines.length === 0 ? ['No artifacts.'] : lines), ...damaged])
}

async function again(_: string, { state, runLine, print }: LineContext): Promise<void> {
  const last = state.runs.findLast(({ result }) => result.origin === 'repl')
  if (!last) return print(['Nothing has run yet.'])
  await runLine(last.result.command, last.injected)
}

function copyOutput(_: string, { state, display, print }: LineContext): void {
  if (display.isPlain) return print(['A terminal that only prints has no clipboard.'])
  const last = state.runs.at(-1)
  if (!last) return print(['Nothing has run yet.'])
  const lines = outputLines(last.result)
  if (lines.length === 0) return print(['The last command has written nothing.'])
  display.copy(lines.join('\n'))
  const part = last.result.artifact ? ' (what is shown of it)' : ''
  print([`Copied ${countOf(lines.length, 'line')}${part}.`])
}

function chooseSandbox(rest: string, { state, print }: LineContext): void {
  const wanted = rest.trim()
  const mode = sandboxModes.find((known) => known === wanted)
  if (wanted !== '' && !mode)
    return print([`No such sandbox: ${wanted}; ${sandboxModes.join(', ')}`])
  if (mode) state.sandbox = mode
  const next = mode ? '; your next command gets a new shell in it' : ''
  print([`Sandbox: ${state.sandbox ?? state.configuredSandbox}${next}`])
}

function showApprovals(rest: string, { approvals, print, style }: LineContext): void {
  const place = /^forget\s+(\d+)$/.exec(rest.trim())?.[1]
  try {
    if (place !== undefined) {
      return print([approvals.remove(Number(place) - 1) ? 'Forgotten.' : `There is no ${place}.`])
    }
    const list = approvals.list()
    if (list.length === 0) return print(['Nothing is allowed beforehand.'])
    print([
      `${countOf(list.length, 'approval')} · /guard forget <n> takes one back`,
      ...list.map(({ match }, index) => `${index + 1}  ${oneLine(match)} …`),
    ])
  } catch (error) {
    print([style.red(`Remembered approvals cannot be used: ${messageOf(error)}`)])
  }
}

function listHistory(rest: string, { history, state, print, style }: LineContext): void {
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

/** `/cd` as the shell itself would have it, quotes and all. */
function composeCd(rest: string): string {
  const wanted = rest.trim()
  if (wanted === '') return 'cd'
  const isBare = /^[^\s'"\\$`~*?[]*$/.test(wanted) || wanted === '-' || /^~|["'\\$]/.test(wanted)
  return `cd ${isBare ? wanted : quoteWord(wanted)}`
}
