/**
 * `npm run bench [-- group…]`: what nacre promises, side by side with plain bash and with peers, in
 * one run. Ratios matter, not the figures. Peers are measured where they are
 * installed: `node .ci/tools/install.js peers` and `… pi`.
 */
import { benchArrays } from './arrays.ts'
import { benchGuard } from './guard.ts'
import { benchEndless, benchOutput } from './output.ts'
import { benchEndurance, benchLatency } from './latency.ts'
import { benchKept } from './kept.ts'
import { benchReads } from './reads.ts'
import { benchRepl } from './repl.ts'
import { rows as rpcRows } from './rpc.ts'
import { benchSandbox, benchWork } from './sandbox.ts'
import { benchStart } from './start.ts'
import { printTable } from './table.ts'
import { benchTurns } from './turn.ts'

const groups: Record<string, () => Promise<void>> = {
  start: benchStart,
  output: benchOutput,
  endless: benchEndless,
  reads: benchReads,
  latency: benchLatency,
  turn: benchTurns,
  endurance: benchEndurance,
  guard: benchGuard,
  sandbox: benchSandbox,
  work: benchWork,
  kept: benchKept,
  rpc: async () => printTable('RPC', await rpcRows()),
  repl: benchRepl,
  arrays: benchArrays,
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
