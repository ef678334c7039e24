/** Times the in-process shell of pi-natives, kept open, and prints medians in milliseconds. */
import { join } from 'node:path'

const folder = join(
  process.env['NACRE_BENCH_PEERS'] ?? '',
  'node_modules/@oh-my-pi/pi-natives/native/index.js',
)
const { Shell } = await import(folder)
const rounds = Number(process.argv[2])
const shell = new Shell()

/** @param {string} command */
async function median(command) {
  const times = []
  for (let round = 0; round < rounds; round++) {
    const started = performance.now()
    await shell.run({ command }, () => {})
    times.push(performance.now() - started)
  }
  return times.sort((a, b) => a - b)[Math.floor(rounds / 2)]
}

await median('true')
console.log(JSON.stringify({ builtin: await median('true'), program: await median('/bin/true') }))
process.exit(0)
