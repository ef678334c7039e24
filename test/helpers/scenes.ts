import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findProgram } from '../../lib/system/look.ts'
import { cliCommand } from './cli.ts'
import { keys } from './keys.ts'
import { type ShellName, writeStartFile } from './own-shell.ts'
import { type Screen, settle, withScreen } from './screen.ts'
import { findMarked } from './sessions.ts'
import { until } from './until.ts'

/** Keys, and what the screen shows then; `screen` names what is kept of it there. */
export interface Step {
  type: string
  shows: string | RegExp
  screen?: string
  /** A program that has the terminal then: a shell that is about to start it passes by what is typed for it. */
  runs?: string
}

/** What a person does from an empty screen on; the screen behind the last step is kept too. */
export interface Scene {
  name: string
  steps: readonly Step[]
  /** The keys that lead back to an empty line. */
  leave?: string
  /** Those that can play it, where not all can. */
  shells?: readonly ShellName[]
  /** It stops what runs, or shows such jobs: who has no control groups hears of others' processes then. */
  asRoot?: boolean
}

/** Where scenes are played. */
export interface Stage {
  shell: ShellName
  columns: number
  rows: number
  /** What the person's start file says beside the ordinary. */
  startFile: string
  /** Words before nacre's own: another user. */
  as?: readonly string[]
}

const folder = join(import.meta.dirname, '../../fixtures/screens/scenes')
/** `NACRE_TEST_SCREENS=write` keeps the screens as they are: look at each before it is kept for good. */
const writes = process.env['NACRE_TEST_SCREENS'] === 'write'
/** Nothing changes on a screen for so long before it is written. */
const stillMs = 400
const headMark = '════ '

/**
 * Plays the scenes one after the other in one REPL, and holds each screen against the kept one. The
 * screens of bash are those of every shell and user: of others only what differs is kept.
 */
export async function playScenes(scenes: readonly Scene[], stage: Stage): Promise<void> {
  const { shell, columns, rows, startFile, as = [] } = stage
  const fileOf = (name: ShellName) => join(folder, `${name}-${columns}x${rows}.txt`)
  const ofAll = shell === 'bash' ? new Map<string, string>() : readScreens(fileOf('bash'))
  const own = writes ? new Map<string, string>() : readScreens(fileOf(shell))
  const kept: KeptScreens = { get: (title) => own.get(title) ?? ofAll.get(title), own }
  await withScreen(
    {
      columns,
      rows,
      program: [...as, ...cliCommand()],
      env: {
        SHELL: findProgram(shell, process.env['PATH'] ?? '') ?? '',
        EDITOR: 'sh -c \'printf "!echo edited" > "$1"\' sh',
        PAGER: 'cat',
      },
      prepare: (home) => prepare(home, shell, startFile),
    },
    async (screen) => {
      // What start files say is another test's, and names folders of another length at each run.
      await screen.answers('!echo ready\r', 'ready\n✓ exit 0')
      await clear(screen, 'the start')
      for (const scene of scenes) {
        const isForShell = scene.shells?.includes(shell) ?? true
        if (isForShell && !(scene.asRoot && as.length > 0)) await playScene(scene, screen, kept)
      }
    },
  )
  if (!writes) return
  for (const [title, text] of own) if (ofAll.get(title) === text) own.delete(title)
  writeScreens(fileOf(shell), own)
}

interface KeptScreens {
  get: (title: string) => string | undefined
  own: Map<string, string>
}

/** A small project in which everything is known. */
function prepare(home: string, shell: ShellName, startFile: string): void {
  writeStartFile(home, shell, startFile)
  for (const name of ['code/.git', 'code/sub', 'code/with space'])
    mkdirSync(join(home, name), { recursive: true })
  writeFileSync(join(home, 'code/.git/HEAD'), 'ref: refs/heads/main\n')
  writeFileSync(join(home, 'code/notes.txt'), 'first note\nsecond note\n')
}

async function playScene(
  { name, steps, leave = '' }: Scene,
  screen: Screen,
  kept: KeptScreens,
): Promise<void> {
  for (const [at, step] of steps.entries()) {
    screen.type(step.type)
    await screen.holds(
      () => isShown(step.shows, screen),
      () => `${name}: the screen does not show ${String(step.shows)}`,
    )
    if (step.runs !== undefined) await takesTerminal(step.runs, screen)
    const isLast = at === steps.length - 1
    if (!isLast && step.screen === undefined) continue
    const title = step.screen === undefined ? name : `${name}: ${step.screen}`
    if (writes) {
      await standStill(screen)
      kept.own.set(title, describe(screen))
    } else await compare(title, screen, kept.get(title))
  }
  screen.type(leave)
  await screen.holds(
    () => !screen.isAlternate && /^(?:bash)?>$/.test(screen.page().line),
    () => `${name} has not led back to an empty line`,
  )
  await clear(screen, name)
}

/** Its processes are told by their state, `+` for the group in the foreground, before their words (ps(1)). */
function takesTerminal(command: string, { home }: Screen): Promise<void> {
  const its = new RegExp(`^\\s*\\d+\\s+S\\S*\\+\\s+${command} `)
  return until(
    () => findMarked(home).some((line) => its.test(line)),
    () => findMarked(home).join('\n'),
  )
}

async function clear(screen: Screen, before: string): Promise<void> {
  screen.type(keys.ctrl('l'))
  await screen.holds(
    () => screen.page().line === trimmed(screen).split('\n')[0],
    () => `the screen is not empty after ${before}`,
  )
}

function trimmed(screen: Screen): string {
  return screen.text().replaceAll(/ +$/gm, '')
}

function isShown(wanted: string | RegExp, screen: Screen): boolean {
  const text = trimmed(screen)
  return typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text)
}

async function compare(title: string, screen: Screen, wanted: string | undefined): Promise<void> {
  if (wanted === undefined) throw new Error(`No screen is kept of "${title}":\n${describe(screen)}`)
  await screen.holds(
    () => describe(screen) === wanted || describe(screen, true) === wanted,
    () => `${title}\n──── kept:\n${wanted}\n──── is:\n${describe(screen)}\n────\n`,
  )
}

async function standStill(screen: Screen): Promise<void> {
  let before = ''
  for (;;) {
    const now = describe(screen)
    if (now === before) return
    before = now
    await new Promise((resolve) => setTimeout(resolve, stillMs))
  }
}

/**
 * The screen with what differs from run to run made the same, and where the cursor is. `pushed`: what is
 * left out has pushed as many lines out of the screen.
 */
function describe(screen: Screen, pushed = false): string {
  const { row, column } = screen.cursor()
  const lines = settle(screen.text()).split('\n')
  // A bash that is ended with its command may still come to say so, or not.
  const kept = lines.filter((line) => line !== 'Terminated')
  const above = settle(screen.all()).split('\n').slice(0, -lines.length)
  if (pushed) kept.unshift(...above.slice(above.length - (lines.length - kept.length)))
  const text = kept
    .join('\n')
    .replaceAll(screen.home, '<home>')
    .replaceAll(/\d{4}-\d\d-\d\d\s\d\d:\d\d/g, '<date>')
  const place = screen.showsCursor
    ? `cursor ${row + 1 - lines.length + kept.length}:${column + 1}`
    : 'no cursor'
  return `${screen.isAlternate ? 'the whole screen, ' : ''}${place}\n${text}`
}

function readScreens(file: string): Map<string, string> {
  const parts = readFileSync(file, 'utf8')
    .split(new RegExp(`^${headMark}`, 'm'))
    .slice(1)
  return new Map(
    parts.map((part) => {
      const [title = '', ...lines] = part.split('\n')
      return [title, lines.join('\n').trimEnd()] as const
    }),
  )
}

function writeScreens(file: string, kept: ReadonlyMap<string, string>): void {
  mkdirSync(dirname(file), { recursive: true })
  const parts = [...kept].map(([title, text]) => `${headMark}${title}\n${text.trimEnd()}\n\n`)
  writeFileSync(file, parts.join(''))
}
