import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { keys } from './keys.ts'
import { findProgram } from '../../lib/system/programs.ts'
import { type Screen, settle, withScreen } from './screen.ts'
import { findMarked } from './sessions.ts'
import { keepFishQuiet, type ShellName } from './own-shell.ts'

/** A life in the REPL: actions drawn at random from what people do, and what the screen must show then. */
export interface Life {
  shell: ShellName
  seed: number
  actions: number
  /** Hears what is done, before it is done. */
  onAction?: (told: string) => void
}

interface Job {
  number: number
  command: string
  fifo: string
}

/** What a person knows who has done all this: what the shell, the screen and the files must hold. */
interface World {
  screen: Screen
  random: Random
  say: Words
  bash: boolean
  /** Where the shell stands, below `~`. */
  place: string
  variable: string
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
  told: string[]
}

/** A line as it is, or lines that match. */
type Pattern = string | RegExp

interface Action {
  name: string
  weight: number
  may?: (world: World) => boolean
  act: (world: World) => Promise<void>
}

interface Random {
  below(limit: number): number
  pick<Item>(items: readonly Item[]): Item
}

interface Words {
  set: (value: string) => string
  get: string
  fail: string
  die: string
  read: string
  pid: string
  loop: string[]
}

const posix: Words = {
  set: (value) => `x=${value}`,
  get: 'echo "x is $x"',
  fail: '(exit 3)',
  die: 'kill -9 $$',
  read: 'read -r y; echo "got $y"',
  pid: 'echo "pid $$"',
  loop: ['for i in a b; do', 'echo $i', 'done'],
}
const words: Record<ShellName, Words> = {
  bash: posix,
  zsh: posix,
  fish: {
    // By itself it leaves the status of the command before.
    set: (value) => `set -g x ${value}; true`,
    get: 'echo "x is $x"',
    fail: 'sh -c "exit 3"',
    die: 'kill -9 $fish_pid',
    read: 'read y; echo "got $y"',
    pid: 'echo "pid $fish_pid"',
    loop: ['for i in a b', 'echo $i', 'end'],
  },
}

const ok = '✓ exit 0 · <time>'
/** Any lines, or none. */
const anything = /(?:.*\n)*?/
const sizes = [
  [80, 24],
  [40, 10],
  [200, 60],
  [61, 17],
] as const

const actions: readonly Action[] = [
  {
    name: 'echo',
    weight: 12,
    async act(world) {
      const token = next(world, 'tok')
      await run(world, `echo ${token}`, [token, ok])
    },
  },
  {
    name: 'fail',
    weight: 3,
    act: (world) => run(world, world.say.fail, ['✗ exit 3 · <time>']),
  },
  {
    name: 'not found',
    weight: 2,
    act: (world) =>
      run(world, next(world, 'nosuch'), [anything, '✗ exit 127 · <time> (command not found)']),
  },
  {
    name: 'set a variable',
    weight: 4,
    async act(world) {
      const value = next(world, 'v')
      await run(world, world.say.set(value), [ok])
      world.variable = value
    },
  },
  {
    name: 'look at the variable',
    weight: 8,
    act: (world) => run(world, world.say.get, [`x is ${world.variable}`.trimEnd(), ok]),
  },
  {
    name: 'change the directory',
    weight: 5,
    async act(world) {
      const place = world.random.pick(['code', 'code/sub', 'code/with space'])
      const path = `${world.screen.home}/${place}`
      await run(world, `cd "${path}"`, [ok], () => (world.place = place))
    },
  },
  {
    name: '/cd',
    weight: 2,
    async act(world) {
      const place = world.random.pick(['code', 'code/sub', 'code/with space'])
      say(world, `/cd ~/${place.replace(' ', '\\ ')}\r`)
      world.place = place
      const path = `~/${place.replace(' ', '\\ ')}`
      await shows(world, [`${mark(world)} /cd ${path}`, `! cd ${path}`, ok])
    },
  },
  {
    name: 'pwd',
    weight: 4,
    act: (world) => run(world, 'pwd', [`${world.screen.home}/${world.place}`, ok]),
  },
  {
    name: 'bash mode',
    weight: 4,
    may: ({ bash }) => !bash,
    async act(world) {
      const way = world.random.pick(['!', '/bash'])
      world.bash = true
      say(world, `${way}\r`)
      await shows(world, way === '!' ? [] : ['> /bash'])
    },
  },
  {
    name: 'leave bash mode',
    weight: 3,
    may: ({ bash }) => bash,
    async act(world) {
      world.bash = false
      world.screen.type(world.random.pick(['exit\r', 'quit\r', keys.escape, keys.ctrl('d')]))
      await shows(world, [])
    },
  },
  {
    name: 'Ctrl-C on a program',
    weight: 4,
    async act(world) {
      const token = next(world, 'begun')
      const command = `echo ${token}; sleep 300`
      type(world, command)
      await world.screen.shows(new RegExp(`^${token}\n(?:.*\n)*running`, 'm'))
      await interrupt(world)
      await shows(world, [`! ${command}`, token, anything, /✗ exit (?:130|2) · <time>.*/])
    },
  },
  {
    name: 'Ctrl-C at once',
    weight: 3,
    async act(world) {
      const token = next(world, 'begun')
      const command = `sleep 300; echo not-${token}`
      type(world, command)
      await interrupt(world)
      await shows(world, [
        `! ${command}`,
        anything,
        /✗ (?:exit (?:130|2)|stopped|cancelled before it began)(?: · <time>.*)?/,
      ])
      assert.not.match(world.screen.text(), `\nnot-${token}`)
    },
  },
  {
    name: 'a third Ctrl-C kills',
    weight: 1,
    async act(world) {
      const token = next(world, 'deaf')
      const command = `sh -c 'trap "" INT; echo ${token}; sleep 300; sleep 300'`
      type(world, command)
      await world.screen.shows(new RegExp(`^${token}\n(?:.*\n)*running`, 'm'))
      for (let time = 0; time < 3; time++) world.screen.type(keys.ctrl('c'))
      await shows(world, [`! ${command}`, anything, '✗ stopped · <time>'])
    },
  },
  {
    name: 'suspend',
    weight: 3,
    may: ({ suspended }) => suspended.length < 3,
    async act(world) {
      const sink = next(world, 'sink')
      const command = `cat > ${world.screen.home}/${sink}`
      type(world, command)
      await running(world)
      world.screen.type(`one ${sink}\r`)
      await world.screen.shows(`\none ${sink}`)
      world.screen.type(keys.ctrl('z'))
      world.suspended.push(sink)
      await shows(world, [
        `! ${command}`,
        `one ${sink}`,
        anything,
        '… suspended · <time> · !fg goes on',
      ])
    },
  },
  {
    name: 'fg',
    weight: 4,
    may: ({ suspended }) => suspended.length > 0,
    async act(world) {
      const sink = world.suspended.pop() ?? ''
      type(world, 'fg')
      await running(world)
      world.screen.type(`two ${sink}\r`)
      await world.screen.shows(`\ntwo ${sink}`)
      world.screen.type(keys.ctrl('d'))
      await shows(world, ['! fg', anything, `two ${sink}`, ok])
      const written = readFileSync(join(world.screen.home, sink), 'utf8')
      assert.is(written, `one ${sink}\ntwo ${sink}\n`)
    },
  },
  {
    name: 'Ctrl-B',
    weight: 4,
    may: ({ jobs, suspended }) => jobs.length < 4 && suspended.length === 0,
    async act(world) {
      const name = next(world, 'f')
      const fifo = join(world.screen.home, name)
      execFileSync('mkfifo', [fifo])
      const command = `sh -c 'read l < ${fifo}; echo heard $l'`
      type(world, command)
      await running(world)
      world.screen.type(keys.ctrl('b'))
      const number = ++world.jobCount
      world.jobs.push({ number, command, fifo })
      await shows(world, [
        `! ${command}`,
        new RegExp(`\\[%${number}\\] goes on in the background.*`),
      ])
    },
  },
  {
    name: 'a job goes on to its end',
    weight: 3,
    may: ({ jobs }) => jobs.length > 0,
    async act(world) {
      const job = take(world)
      await writeFile(job.fifo, 'go\n')
      await shows(world, [`[%${job.number}] ${job.command}  ${ok}`])
      say(world, `/view %${job.number}\r`)
      await world.screen.shows('heard go\n')
      world.screen.type('q')
      await shows(world, [`${mark(world)} /view %${job.number}`])
    },
  },
  {
    name: '/kill',
    weight: 2,
    may: ({ jobs }) => jobs.length > 0,
    async act(world) {
      const job = take(world)
      say(world, `/kill %${job.number}\r`)
      await shows(world, [
        `${mark(world)} /kill %${job.number}`,
        `[%${job.number}] ${job.command}  ✗ stopped · <time>`,
      ])
    },
  },
  {
    name: '/attach and leave again',
    weight: 2,
    may: ({ jobs }) => jobs.length > 0,
    async act(world) {
      const job = world.random.pick(world.jobs)
      say(world, `/attach %${job.number}\r`)
      await running(world)
      world.screen.type(keys.ctrl('b'))
      await shows(world, [
        `${mark(world)} /attach %${job.number}`,
        `! ${job.command}`,
        new RegExp(`\\[%${job.number}\\] goes on after .*`),
      ])
    },
  },
  {
    name: '/jobs',
    weight: 2,
    async act(world) {
      say(world, '/jobs\r')
      await shows(world, [`${mark(world)} /jobs`, anything])
      for (const { number } of world.jobs) {
        assert.match(world.screen.all(), new RegExp(`%${number}  running`))
      }
    },
  },
  {
    name: 'resize',
    weight: 6,
    async act(world) {
      const [columns, rows] = world.random.pick(sizes)
      world.screen.resize(columns, rows)
      Object.assign(world, { columns, rows })
      await delay(50)
      await shows(world, [])
    },
  },
  {
    name: 'resize while a program runs',
    weight: 2,
    async act(world) {
      const command = `${world.say.read}; stty size`
      type(world, command)
      await running(world)
      const [columns, rows] = world.random.pick(sizes)
      world.screen.resize(columns, rows)
      Object.assign(world, { columns, rows })
      await delay(50)
      world.screen.type('there\r')
      // A terminal that wraps the line of the running command anew may leave it above.
      await shows(world, [
        `! ${command}`,
        anything,
        /.*there/,
        'got there',
        `${rows} ${columns}`,
        ok,
      ])
    },
  },
  {
    name: 'a command kills the shell',
    weight: 1,
    async act(world) {
      await run(world, world.say.die, [
        anything,
        /Your shell has ended \(SIGKILL\).*/,
        /✗ SIGKILL · <time>/,
      ])
      loseShell(world)
    },
  },
  {
    name: 'somebody kills the shell',
    weight: 1,
    async act(world) {
      await run(world, world.say.pid, [/pid \d+/, ok])
      const told = world.screen.all().matchAll(/^pid (\d+)$/gm)
      const pid = Number([...told].at(-1)?.[1])
      process.kill(pid, 'SIGKILL')
      await shows(world, [/Your shell has ended \(SIGKILL\).*/])
      loseShell(world)
    },
  },
  {
    name: 'vim',
    weight: 2,
    async act(world) {
      const file = next(world, 'text')
      const command = `vim -u NONE -N ~/${file}`
      type(world, command)
      await world.screen.holds(() => world.screen.isAlternate)
      await world.screen.shows(`${file}" [New`)
      world.screen.type(`iwritten`)
      await world.screen.shows('written')
      if (world.random.below(2) === 0) {
        const [columns, rows] = world.random.pick(sizes)
        world.screen.resize(columns, rows)
        Object.assign(world, { columns, rows })
        await delay(100)
      }
      world.screen.type(keys.escape)
      await delay(100)
      world.screen.type(`:wq\r`)
      await shows(world, [`! ${command}`, ok])
      assert.is(readFileSync(join(world.screen.home, file), 'utf8'), 'written\n')
    },
  },
  {
    name: 'less',
    weight: 2,
    async act(world) {
      type(world, 'seq 1 500 | less')
      await world.screen.holds(() => world.screen.isAlternate)
      await world.screen.shows(/^1\n2\n/)
      world.screen.type('G')
      await world.screen.shows(/\n500\n/)
      world.screen.type('q')
      await shows(world, ['! seq 1 500 | less', ok])
    },
  },
  {
    name: 'python3',
    weight: 2,
    async act(world) {
      type(world, 'python3 -q')
      await world.screen.shows(/^>>>/m)
      const number = (world.count += 1)
      world.screen.type(`print(${number} * 1000)\r`)
      await world.screen.shows(`\n${number * 1000}\n`)
      world.screen.type(keys.ctrl('d'))
      await shows(world, [
        '! python3 -q',
        `>>> print(${number} * 1000)`,
        `${number * 1000}`,
        />>> ?/,
        ok,
      ])
    },
  },
  {
    name: 'read',
    weight: 3,
    async act(world) {
      const token = next(world, 'word')
      type(world, world.say.read)
      await running(world)
      world.screen.type(`${token}\r`)
      await shows(world, [`! ${world.say.read}`, new RegExp(`.*${token}`), `got ${token}`, ok])
    },
  },
  {
    name: 'type ahead',
    weight: 4,
    async act(world) {
      const token = next(world, 'ahead')
      const bang = world.bash ? '' : '!'
      type(world, 'sleep 0.3')
      world.screen.type(`${bang}echo ${token}\r`)
      await shows(world, ['! sleep 0.3', ok, `! echo ${token}`, token, ok])
    },
  },
  {
    name: 'Ctrl-C on a line',
    weight: 2,
    async act(world) {
      const token = next(world, 'junk')
      world.screen.type(token)
      await world.screen.shows(token)
      world.screen.type(keys.ctrl('c'))
      await world.screen.hides(token)
      await shows(world, [])
    },
  },
  {
    name: 'Ctrl-C on an empty line',
    weight: 1,
    async act(world) {
      world.screen.type(keys.ctrl('c'))
      await shows(world, [/.* leaves (?:bash mode|nacre)\./])
    },
  },
  {
    name: 'Up and Enter',
    weight: 3,
    may: ({ last }) => last !== null,
    async act(world) {
      const { command, shows: wanted } = world.last ?? { command: '', shows: [] }
      world.screen.type(keys.up)
      await world.screen.shows(command)
      world.screen.type('\r')
      await shows(world, [`! ${command}`, ...wanted])
    },
  },
  {
    name: 'a loop over lines',
    weight: 2,
    async act(world) {
      const [first, ...rest] = world.say.loop
      world.screen.type(`${world.bash ? '' : '!'}${world.say.loop.join('\r')}\r`)
      await shows(world, [`! ${first}`, ...rest.map((line) => `  ${line}`), 'a', 'b', ok])
      world.last = null
    },
  },
  {
    name: 'paste',
    weight: 2,
    async act(world) {
      const token = next(world, 'pasted')
      world.screen.type(keys.paste(`${world.bash ? '' : '!'}echo 1 ${token}\necho 2 ${token}`))
      await world.screen.shows(`echo 2 ${token}`)
      world.screen.type('\r')
      await shows(world, [`! echo 1 ${token}`, `  echo 2 ${token}`, `1 ${token}`, `2 ${token}`, ok])
      world.last = null
    },
  },
  {
    name: 'long output and the viewer',
    weight: 3,
    async act(world) {
      const count = 300 + world.random.below(50)
      const shown = Math.max(3, world.rows - 6)
      const lines = Array.from({ length: shown }, (_, at) => String(count - shown + at + 1))
      await run(world, `seq 1 ${count}`, [
        `… ${count - shown} earlier lines · v shows all`,
        ...lines,
        anything,
        ok,
      ])
      world.last = null
      say(world, 'v\r')
      await world.screen.holds(() => world.screen.isAlternate)
      await world.screen.shows(`of ${count}`)
      if (world.random.below(2) === 0) {
        const [columns, rows] = world.random.pick(sizes)
        world.screen.resize(columns, rows)
        Object.assign(world, { columns, rows })
        await delay(50)
      }
      world.screen.type('g')
      await world.screen.shows(/^1\n2\n3\n/)
      world.screen.type('q')
      await world.screen.holds(() => !world.screen.isAlternate)
      await shows(world, [])
    },
  },
  {
    name: 'a flood',
    weight: 1,
    async act(world) {
      const shown = Math.max(3, world.rows - 6)
      const lines = Array.from({ length: shown }, () => 'flood')
      await run(world, 'yes flood | head -n 100000', [
        /… [\d,]+ earlier lines · v shows all/,
        ...lines,
        /artifact:.*/,
        ok,
      ])
      world.last = null
    },
  },
  {
    name: 'the guard asks',
    weight: 1,
    async act(world) {
      const command = `rm -rf $${next(world, 'NOPE')}`
      type(world, command)
      await world.screen.shows('yes (this once)')
      await delay(500)
      world.screen.type('no\r')
      await shows(world, [`! ${command}`, anything, '? no', anything, /✗ denied.*/])
    },
  },
  {
    name: 'a job of the shell',
    weight: 2,
    async act(world) {
      const token = next(world, 'late')
      type(world, `sh -c 'sleep 0.2; echo ${token}' &`)
      await world.screen.shows(`\n${token}\n`)
      // zsh and fish tell of its end when it comes, bash before its next prompt.
      await delay(200)
      world.screen.type(`${world.bash ? '' : '!'}true\r`)
      await shows(world, [
        `! sh -c 'sleep 0.2; echo ${token}' &`,
        anything,
        '! true',
        anything,
        ok,
        anything,
      ])
      await delay(200)
      world.seen = world.screen.page().above.length
    },
  },
  {
    name: 'to the model, of which there is none',
    weight: 1,
    may: ({ bash }) => !bash,
    async act(world) {
      const token = next(world, 'hello')
      say(world, `${token}\r`)
      await shows(world, [`> ${token}`, /.*No model is set[^]*/])
    },
  },
]

export async function live(life: Life): Promise<void> {
  let left: string[] = []
  await withScreen(
    {
      columns: 80,
      rows: 24,
      scrollback: 100_000,
      env: { SHELL: findProgram(life.shell, process.env['PATH'] ?? '') ?? '' },
      prepare(home) {
        for (const folder of ['code/sub', 'code/with space', 'tmp']) {
          mkdirSync(join(home, folder), { recursive: true })
        }
        keepFishQuiet(home)
      },
    },
    async (screen) => {
      await walk(screen, life)
      // fish keeps a folder of its own there.
      const files = readdirSync(join(screen.home, 'tmp')).filter(
        (name) => !name.startsWith('fish.'),
      )
      left = [...files, ...findMarked(screen.home)]
    },
  )
  assert.equal(left, [], 'something is left')
}

/** Types a command line in the present mode. */
function type(world: World, command: string): void {
  say(world, `${world.bash ? '' : '!'}${command}\r`)
}

/** A shell that is just about to start a program can miss an interrupt: a person presses the key again. */
async function interrupt({ screen }: World): Promise<void> {
  screen.type(keys.ctrl('c'))
  for (let tries = 0; tries < 20; tries++) {
    await delay(100)
    if (!screen.text().includes('Ctrl-C again')) return
  }
  screen.type(keys.ctrl('c'))
}

/** Types what is no command. */
function say(world: World, line: string): void {
  world.last = null
  world.screen.type(line)
}

/** Runs a command that ends by itself, and looks at what it shows. `then`: what it changes. */
async function run(
  world: World,
  command: string,
  wanted: Pattern[],
  then: () => void = () => undefined,
): Promise<void> {
  type(world, command)
  then()
  await shows(world, [`! ${command}`, ...wanted])
  world.last = { command, shows: wanted }
}

/** Settles when a command runs, and waits for what is typed. */
async function running(world: World): Promise<void> {
  await world.screen.shows(/^running · /m)
  // What is typed before a program reads is for whoever reads next.
  await delay(100)
}

/** Settles when the prompt is there again, below exactly these lines. */
async function shows(world: World, wanted: Pattern[]): Promise<void> {
  const sources = wanted.map((line) => {
    if (line === anything) return line.source
    return `${typeof line === 'string' ? escape(line) : line.source}\\n`
  })
  const expected = new RegExp(`^${sources.join('')}$`)
  const mark = world.bash ? 'bash>' : '>'
  let told = ''
  const isSo = () => {
    const { above, line, column, below } = world.screen.page()
    const lines = above.slice(world.seen)
    const text = lines.map((one) => `${settle(one)}\n`).join('')
    const bar = below[0] ?? ''
    const barBegins = `${world.bash ? '[BASH] ' : ''}~/${world.place}`
    told = [
      `wanted: ${expected.source}`,
      `got:    ${JSON.stringify(text)}`,
      `prompt ${JSON.stringify(line)}, column ${column}, below ${JSON.stringify(below)}, wanted bar ${barBegins}`,
    ].join('\n')
    return (
      !world.screen.isAlternate &&
      expected.test(text) &&
      line === mark &&
      column === mark.length + 1 &&
      bar.startsWith(barBegins.slice(0, world.columns - 20)) &&
      below.length === 1
    )
  }
  await world.screen.holds(isSo, () => told)
  world.seen = world.screen.page().above.length
}

async function walk(
  screen: Screen,
  { shell, seed, actions: count, onAction }: Life,
): Promise<void> {
  const world: World = {
    screen,
    random: createRandom(seed),
    say: words[shell],
    bash: false,
    place: 'code',
    variable: '',
    suspended: [],
    jobs: [],
    jobCount: 0,
    last: null,
    columns: 80,
    rows: 24,
    count: 0,
    seen: 0,
    told: [],
  }
  await shows(world, [/nacre .*/])
  // Its shell is up then, and has said what it had to say.
  type(world, 'true')
  await shows(world, [anything, '! true', anything, ok])
  for (let at = 1; at <= count; at++) {
    const action = draw(world)
    const told = `${at} ${action.name}`
    world.told.push(told)
    onAction?.(told)
    try {
      await action.act(world)
    } catch (error) {
      const before = world.told.slice(-8).join('\n  ')
      throw new Error(`${shell}, seed ${seed}, after\n  ${before}\n${(error as Error).message}`, {
        cause: error,
      })
    }
  }
  screen.type('/quit\r')
  if (world.jobs.length > 0) {
    await screen.shows('Leave all the same?')
    await delay(500)
    screen.type('yes\r')
  }
  const { exitCode } = await screen.exited
  assert.is(exitCode, 0)
}

function draw(world: World): Action {
  const possible = actions.filter(({ may }) => may === undefined || may(world))
  const sum = possible.reduce((total, { weight }) => total + weight, 0)
  let left = world.random.below(sum)
  for (const action of possible) {
    left -= action.weight
    if (left < 0) return action
  }
  throw new RangeError('no action is possible')
}

function next(world: World, name: string): string {
  world.count++
  return `${name}${world.count}`
}

function take(world: World): Job {
  const [job] = world.jobs.splice(world.random.below(world.jobs.length), 1)
  if (!job) throw new RangeError('there is no job')
  return job
}

function mark({ bash }: World): string {
  return bash ? 'bash>' : '>'
}

/** What dies with its shell. */
function loseShell(world: World): void {
  world.variable = ''
  world.suspended = []
  world.last = null
}

function escape(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

/** mulberry32: the same numbers for the same seed, everywhere. */
function createRandom(seed: number): Random {
  let state = seed >>> 0
  const below = (limit: number) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }
  return {
    below,
    pick(items) {
      const item = items[below(items.length)]
      if (item === undefined) throw new RangeError('nothing to pick from')
      return item
    },
  }
}
