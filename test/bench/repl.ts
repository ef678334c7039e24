import { performance } from 'node:perf_hooks'
import { withScreen } from '../helpers/screen.ts'
import { measure, median } from './measure.ts'
import { formatMs, printTable } from './table.ts'

const rounds = 10
const strokes = 100

/** What a person feels: the first prompt, the echo of a key, and keys under a flood of output. */
export async function benchRepl(): Promise<void> {
  const bare: number[] = []
  const starts: number[] = []
  for (let round = 0; round < rounds; round++) {
    // As in the terminal, which has no certificates of the caller's to load.
    const env = { NODE_EXTRA_CA_CERTS: undefined }
    bare.push((await measure([process.execPath, '-e', '0'], { env })).ms)
    starts.push(await timeStart())
  }
  const echo = await timeEcho()
  const stop = await timeFlood()
  const start = median(starts)
  printTable(`REPL, medians`, [
    ['what', 'time', 'over node -e 0'],
    ['node -e 0', formatMs(median(bare)), ''],
    ['start to first prompt', formatMs(start), formatMs(start - median(bare))],
    ['keystroke to echo', formatMs(echo), ''],
    ['Ctrl-C under a flood in the overlay, to the prompt', formatMs(stop), ''],
  ])
}

async function timeStart(): Promise<number> {
  let ms = 0
  const startedMs = performance.now()
  await withScreen({}, async (screen) => {
    await screen.shows('> ')
    ms = performance.now() - startedMs
  })
  return ms
}

/** Each key is told apart from the others by how often its letter is there. */
async function timeEcho(): Promise<number> {
  const times: number[] = []
  await withScreen({ columns: 200 }, async (screen) => {
    await screen.shows('> ')
    for (let stroke = 1; stroke <= strokes; stroke++) {
      const startedMs = performance.now()
      screen.type('x')
      await screen.shows('x'.repeat(stroke))
      times.push(performance.now() - startedMs)
    }
  })
  return median(times)
}

async function timeFlood(): Promise<number> {
  const times: number[] = []
  await withScreen({}, async (screen) => {
    await screen.shows('> ')
    for (let round = 0; round < 3; round++) {
      screen.type('!&yes flood\r')
      await screen.shows(/flood\nflood/)
      const startedMs = performance.now()
      screen.type('\u0003')
      await screen.shows('✗ SIGINT')
      times.push(performance.now() - startedMs)
      screen.type('/clear\r')
      await screen.hides('SIGINT')
    }
  })
  return median(times)
}
