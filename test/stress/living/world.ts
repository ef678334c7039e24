import type { ShellName } from '../../helpers/own-shell.ts'
import type { Screen } from '../../helpers/screen.ts'
import type { Pattern } from './checks.ts'
import { createRandom, type Random } from './random.ts'
import { chooseSetting, noiseOf } from './setting.ts'
import { type Words, words } from './words.ts'

/** What a person knows who has done all this: what the shell, the screen and the files must hold. */
export interface World {
  screen: Screen
  shell: ShellName
  /** Whether sudo asks for a secret. */
  mayAskSudo: boolean
  /** Whether there is a host to go to by ssh. */
  hasBox: boolean
  /** What a new shell may say at any time. */
  noise: RegExp | null
  random: Random
  say: Words
  bash: boolean
  /** Where the shell stands, below `~`. */
  place: string
  variable: string
  exported: string
  /** Of a function and an alias; empty: there are none. */
  defined: string
  /** Files that a suspended `cat` writes, the newest last. */
  suspended: string[]
  jobs: Job[]
  jobCount: number
  /** The command before, to be repeated. */
  last: { command: string; shows: Pattern[] } | null
  columns: number
  rows: number
  count: number
  /** Lines above the prompt that are accounted for. */
  seen: number
}

/** A command that goes on in the background until something is written to its fifo. */
export interface Job {
  number: number
  command: string
  fifo: string
}

/** One thing that people do, and what must be so afterwards. */
export interface Action {
  name: string
  weight: number
  may?: (world: World) => boolean
  act: (world: World) => Promise<void>
}

export function createWorld(
  screen: Screen,
  { shell, seed, hasBox }: { shell: ShellName; seed: number; hasBox: boolean },
): World {
  const setting = chooseSetting(seed)
  return {
    screen,
    shell,
    mayAskSudo: setting.isUser,
    hasBox,
    noise: noiseOf(setting),
    random: createRandom(seed),
    say: words[shell],
    bash: false,
    place: 'code',
    variable: '',
    exported: '',
    defined: '',
    suspended: [],
    jobs: [],
    jobCount: 0,
    last: null,
    columns: 80,
    rows: 24,
    count: 0,
    seen: 0,
  }
}

/** A word that nobody has said before. */
export function next(world: World, name: string): string {
  world.count++
  return `${name}${world.count}`
}

export function takeJob(world: World): Job {
  const [job] = world.jobs.splice(world.random.below(world.jobs.length), 1)
  if (!job) throw new RangeError('there is no job')
  return job
}

/** What dies with its shell. */
export function loseShell(world: World): void {
  world.variable = ''
  world.exported = ''
  world.defined = ''
  world.suspended = []
  world.last = null
}

/** What a shell does not hand on to the one that takes its place: all but its directory and its exports. */
export function leaveShell(world: World): void {
  const { exported } = world
  loseShell(world)
  world.exported = exported
}

const sizes = [
  [80, 24],
  [40, 10],
  [200, 60],
  [61, 17],
] as const

export function resize(world: World): void {
  const [columns, rows] = world.random.pick(sizes)
  world.screen.resize(columns, rows)
  Object.assign(world, { columns, rows })
}
