/**
 * `npm run bench [-- group…]`: what nacre promises, side by side with plain bash and with peers, in
 * one run. Ratios matter, not the figures. Peers are installed by `npm run bench:peers`.
 */
import { benchEndless, benchOutput } from './output.ts'
import { benchEndurance, benchLatency } from './latency.ts'
import { benchStart } from './start.ts'

const groups: Record<string, () => Promise<void>> = {
  start: benchStart,
  output: benchOutput,
  endless: benchEndless,
  latency: benchLatency,
  endurance: benchEndurance,
}

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !(name in groups))
if (unknown.length > 0) {
  console.error(`Unknown group ${unknown.join(', ')}; there are ${Object.keys(groups).join(', ')}`)
  process.exit(1)
}
for (const [name, bench] of Object.entries(groups)) {
  if (wanted.length === 0 || wanted.includes(name)) await bench()
}
