import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findProgram } from '../../lib/system/programs.ts'
import { cliCommand } from './cli.ts'
import { keys } from './keys.ts'
import { keepFishQuiet, type ShellName } from './own-shell.ts'
import { type Screen, settle, withScreen } from './screen.ts'

/** Keys, and what the screen shows then; `screen` names what is kept of it there. */
export interface Step {
  type: string
  shows: string | RegExp
  screen?: string
}

/** What a person does from an empty screen on; the screen behind the last step is kept too. */
export interface Scene {
  name: string
  steps: readonly Step[]
  /** The keys that lead back to an empty line. */
  leave?: string
  /** It looks the same whatever the shell, or says what that shell says. */
  everyShell?: boolean
  /** It is played as root and as another user. */
  everyUser?: boolean
}

/** Where scenes are played. */
export interface Stage {
  shell: ShellName
  columns: number
  rows: number
  /** Words before nacre's own: another user. */
  as?: readonly string[]
  /** Part of the name of its file. */
  name: string
}

const folder = join(import.meta.dirname, '../../fixtures/screens/scenes')
/** `NACRE_TEST_SCREENS=write` keeps the screens as they are: look at each before it is kept for good. */
const writes = process.env['NACRE_TEST_SCREENS'] === 'write'
/** Nothing changes on a screen for so long before it is written. */
const stillMs = 400
const headMark = '════ '

/** Plays the scenes one after the other in one REPL, and holds each screen against the kept one. */
export async function playScenes(scenes: readonly Scene[], stage: Stage): Promise<void> {
  const file = join(folder, `${stage.name}.txt`)
  const kept = writes ? new Map<string, string>() : readScreens(file)
  const { shell, columns, rows, as = [] } = stage
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
      prepare,
    },
    async (screen) => {
      await screen.shows('~/code')
      for (const scene of scenes) await playScene(scene, screen, kept)
    },
  )
  if (writes) writeScreens(file, kept)
}

/** A small project in which everything is known. */
function prepare(home: string): void {
  keepFishQuiet(home)
  mkdirSync(join(home, 'config/fish'), { recursive: true })
  writeFileSync(join(home, 'config/fish/config.fish'), 'set -g fish_greeting\n')
  for (const name of ['code/.git', 'code/sub', 'code/with space'])
    mkdirSync(join(home, name), { recursive: true })
  writeFileSync(join(home, 'code/.git/HEAD'), 'ref: refs/heads/main\n')
  writeFileSync(join(home, 'code/notes.txt'), 'first note\nsecond note\n')
}

async function playScene(
  { name, steps, leave = '' }: Scene,
  screen: Screen,
  kept: Map<string, string>,
): Promise<void> {
  for (const [at, step] of steps.entries()) {
    screen.type(step.type)
    await screen.holds(
      () => isShown(step.shows, screen),
      () => `${name}: the screen does not show ${String(step.shows)}`,
    )
    const isLast = at === steps.length - 1
    if (!isLast && step.screen === undefined) continue
    const title = step.screen === undefined ? name : `${name}: ${step.screen}`
    if (writes) {
      await standStill(screen)
      kept.set(title, describe(screen))
    } else await compare(title, screen, kept.get(title))
  }
  screen.type(leave)
  await screen.holds(
    () => !screen.isAlternate && /^(?:bash)?>$/.test(screen.page().line),
    () => `${name} has not led back to an empty line`,
  )
  screen.type(keys.ctrl('l'))
  await screen.holds(
    () => screen.page().line === trimmed(screen).split('\n')[0],
    () => `the screen is not empty after ${name}`,
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
    () => describe(screen) === wanted,
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

/** The screen with what differs from run to run made the same, and where the cursor is. */
function describe(screen: Screen): string {
  const { row, column } = screen.cursor()
  const lines = settle(screen.text()).split('\n')
  // A bash that is ended with its command may still come to say so, or not.
  const kept = lines.filter((line) => line !== 'Terminated')
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
