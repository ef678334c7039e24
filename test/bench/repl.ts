import { performance } from 'node:perf_hooks'
import { keys } from '../helpers/keys.ts'
import { type Screen, atPrompt } from '../helpers/screen.ts'
import { measure, median } from './measure.ts'
import { formatMs, printTable } from './table.ts'

const rounds = 10
const strokes = 100

/**
 * What a person feels: the first prompt, the end of a command, the echo of a key, also beside a flood of
 * output, and the ends of a long text.
 */
export async function benchRepl(): Promise<void> {
  const bare: number[] = []
  const starts: number[] = []
  for (let round = 0; round < rounds; round++) {
    // As in the terminal, which has no certificates of the caller's to load.
    const env = { NODE_EXTRA_CA_CERTS: undefined }
    bare.push((await measure([process.execPath, '-e', '0'], { env })).ms)
    starts.push(await timeStart())
  }
  const start = median(starts)
  const rows = [
    ['node -e 0', formatMs(median(bare)), ''],
    ['start to first prompt', formatMs(start), formatMs(start - median(bare))],
    ['keystroke to echo', formatMs(await timeEcho()), ''],
    ...(await timeCommands()).map(([what, ms]) => [what, formatMs(ms), '']),
    ...(await timeViewer()).map(([what, ms]) => [what, formatMs(ms), '']),
  ]
  printTable(`REPL, medians`, [['what', 'time', 'over node -e 0'], ...rows])
}

async function timeStart(): Promise<number> {
  let ms = 0
  const startedMs = performance.now()
  await atPrompt({}, async () => {
    ms = performance.now() - startedMs
  })
  return ms
}

/** From the keys until the terminal is sent such a text. */
async function time(screen: Screen, typed: string, wanted: string): Promise<number> {
  const from = screen.raw().length
  const startedMs = performance.now()
  screen.type(typed)
  await screen.holds(() => screen.raw().slice(from).includes(wanted))
  return performance.now() - startedMs
}

/** Each key is told apart from the others by how often its letter is there. */
async function timeEcho(): Promise<number> {
  const times: number[] = []
  await atPrompt({ columns: 200 }, async (screen) => {
    for (let stroke = 1; stroke <= strokes; stroke++) {
      const startedMs = performance.now()
      await screen.answers('x', 'x'.repeat(stroke))
      times.push(performance.now() - startedMs)
    }
  })
  return median(times)
}

async function timeCommands(): Promise<[string, number][]> {
  const ends: number[] = []
  const echoes: number[] = []
  const stops: number[] = []
  await atPrompt({ columns: 200 }, async (screen) => {
    await time(screen, '!true\r', '✓ exit 0')
    for (let round = 0; round < 3 * rounds; round++) {
      screen.type('!true')
      await screen.holds(() => screen.page().line.endsWith('!true'))
      ends.push(await time(screen, '\r', '✓'))
      await screen.holds(() => screen.page().line === '>')
    }
    for (let round = 0; round < 3; round++) {
      await screen.answers('!yes flood | head -c 100000000\r', /flood\nflood/)
      let typed = ''
      for (let stroke = 0; stroke < 10; stroke++) {
        typed += 'x'
        echoes.push(await time(screen, 'x', typed))
      }
      stops.push(await time(screen, keys.ctrl('c'), 'exit 130'))
      await screen.holds(() => screen.page().line.startsWith('>'))
      screen.type(keys.ctrl('c'))
      await screen.holds(() => screen.page().line === '>')
    }
  })
  return [
    ['Enter to the end of `true`', median(ends)],
    ['keystroke to echo beside 100 MB', median(echoes)],
    ['Ctrl-C in a flood, to its end', median(stops)],
  ]
}

async function timeViewer(): Promise<[string, number][]> {
  const found: [string, number][] = []
  await atPrompt({}, async (screen) => {
    await screen.answers('!seq 1 2000000\r', '✓ exit 0')
    found.push([
      'viewer, opened at the end of 2 million lines',
      await time(screen, 'v\r', '2000000'),
    ])
    await screen.shows('of 2,000,000')
    const places: number[] = []
    for (const line of [1, 1_000_000, 1_999_000, 250_001, 1_700_000]) {
      places.push(await time(screen, `:${line}\r`, `K${line}\u001B`))
      await screen.shows(new RegExp(`^${line}\\n`))
    }
    found.push(['viewer, to any of its lines', median(places)])
    found.push(['viewer, to its end', await time(screen, 'G', '2000000')])
    screen.type('q')
  })
  return found
}
