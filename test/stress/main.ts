/**
 * `npm run stress [-- stops [count] | kills [count] | saboteurs [count] | living [count] |
 * endings [count] | cuts [count]]`: what takes minutes and is tried in small in the suite. Stops runs of every stubborn kind, for every cause, on
 * pipes, sessions and terminals; kills nacres at random moments; runs what spoils the shell of a session;
 * lives in the REPL, with each shell, and ends it in the midst of that; cuts the connection to a host. Counts what is left or wrong.
 *
 *     --seed <n>         the same again, of living and endings
 *     --shell <name>     the life with this shell only
 *     --only <text>      of a life the actions whose name contains it
 *     --without-groups   hides the kernel's control groups (as root)
 *
 * Exit status 1 where something was left or wrong.
 */
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { findSshObstacle, startServer } from '../helpers/ssh-host.ts'
import { findNetworkObstacle, openLine, tryCut } from './cuts.ts'
import { measureStart, openVictim, tryKill } from './kills.ts'
import { ownShells } from '../helpers/own-shell.ts'
import { withSessions } from '../helpers/sessions.ts'
import { endLife } from './living/ended-life.ts'
import { live } from './living/life.ts'
import { listSaboteurs, trySaboteur } from './saboteurs.ts'
import { listTrials, tryStop } from './stops.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'without-groups': { type: 'boolean', default: false },
    seed: { type: 'string' },
    shell: { type: 'string' },
    only: { type: 'string', default: '' },
  },
})
const [what = 'all', count] = positionals

if (values['without-groups'] && process.env['NACRE_STRESS_HIDDEN'] === undefined) {
  const script = 'mount -t tmpfs none /sys/fs/cgroup && exec "$0" "$@"'
  const words = [...process.execArgv, ...process.argv.slice(1)]
  const { status } = spawnSync('unshare', ['-m', 'sh', '-c', script, process.execPath, ...words], {
    stdio: 'inherit',
    env: { ...process.env, NACRE_STRESS_HIDDEN: '1' },
  })
  process.exit(status ?? 1)
}

async function stressStops(wanted: number): Promise<number> {
  const trials = listTrials(wanted)
  const took: number[] = []
  let left = 0
  let unnamed = 0
  async function work(): Promise<void> {
    for (let trial = trials.shift(); trial; trial = trials.shift()) {
      const name = `${trial.program.name} · ${trial.attachment} · ${trial.cause}`
      try {
        const outcome = await tryStop(trial)
        took.push(outcome.tookMs)
        left += outcome.alive.length
        unnamed += outcome.unnamed.length
        if (outcome.alive.length > 0) {
          const named = outcome.unnamed.length === 0 ? '(named)' : '(UNNAMED)'
          console.log(`alive ${named} after ${name}: ${outcome.alive.join('; ')}`)
        }
        if (outcome.tookMs > 3000) console.log(`${Math.round(outcome.tookMs)} ms: ${name}`)
      } catch (error) {
        left++
        console.log(`FAILED ${name}: ${String(error)}`)
      }
    }
  }
  await Promise.all([work(), work()])
  took.sort((a, b) => a - b)
  const at = (share: number) => Math.round(took[Math.floor(share * (took.length - 1))] ?? 0)
  console.log(
    `${wanted} stops: ${left} left, ${unnamed} of them unnamed; ` +
      `median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms`,
  )
  return values['without-groups'] ? unnamed : left
}

async function stressKills(wanted: number): Promise<number> {
  const victim = openVictim()
  let left = 0
  try {
    const startMs = await measureStart(victim)
    for (let index = 0; index < wanted; index++) {
      // From the first millisecond on; most while and soon after the command starts.
      const afterMs = Math.random() * 2 * startMs * (index % 3 === 0 ? 2 : 1)
      const faults = await tryKill(index, afterMs, victim)
      left += faults.length
      for (const fault of faults) console.log(fault)
    }
    console.log(`${wanted} kills (a start takes ${Math.round(startMs)} ms): ${left} left`)
  } finally {
    victim.remove()
  }
  return left
}

/** In a random order, so that less than all of them is a fair part. */
async function stressSessions(wanted: number): Promise<number> {
  const all = listSaboteurs().sort(() => Math.random() - 0.5)
  const chosen = all.slice(0, wanted)
  let spoiled = 0
  let index = 0
  await withSessions(async (bench) => {
    async function work(): Promise<void> {
      for (let command = chosen[index++]; command !== undefined; command = chosen[index++]) {
        const found = await trySaboteur(bench, command, `s${index}`, 20_000)
        if (found.length === 0) continue
        spoiled++
        console.log(`${JSON.stringify(command)}\n  ${found.join('\n  ')}`)
      }
    }
    await Promise.all([work(), work(), work(), work()])
  })
  console.log(`${chosen.length} of ${all.length} saboteurs: ${spoiled} with a fault`)
  return spoiled
}

/** One life after the other: what is typed while a program is awaited needs a machine that answers. */
async function stressLiving(actions: number): Promise<number> {
  const seed = Number(values.seed ?? randomInt(1_000_000))
  let wrong = 0
  const box = findSshObstacle() === null ? await startServer() : null
  try {
    for (const shell of ownShells) {
      if (values.shell !== undefined && values.shell !== shell) continue
      try {
        const { only } = values
        await live({ shell, seed, actions, box, only, onAction: (told) => console.log(told) })
        console.log(`${actions} actions with ${shell}, seed ${seed}: nothing wrong`)
      } catch (error) {
        wrong++
        console.log(`WRONG ${(error as Error).message}`)
      }
    }
  } finally {
    await box?.close()
  }
  return wrong
}

/** Ends so many lives in the REPL, with one shell after the other. */
async function stressEndings(wanted: number): Promise<number> {
  const seed = Number(values.seed ?? randomInt(1_000_000))
  const shells = ownShells.filter((shell) => values.shell === undefined || values.shell === shell)
  let wrong = 0
  for (let at = 0; at < wanted; at++) {
    const shell = shells[at % shells.length] ?? 'bash'
    try {
      await endLife({ shell, seed: seed + at, onAction: (told) => console.log(told) })
    } catch (error) {
      wrong++
      console.log(`WRONG ${(error as Error).message}`)
    }
  }
  console.log(`${wanted} endings from seed ${seed} on: ${wrong} wrong`)
  return wrong
}

/** Every fourth cut drops packets, which takes as long as a silent line is waited for. */
async function stressCuts(wanted: number): Promise<number> {
  let wrong = 0
  for (const cause of ['server', 'packets'] as const) {
    const rounds = cause === 'packets' ? Math.floor(wanted / 4) : Math.ceil((wanted * 3) / 4)
    const obstacle = findSshObstacle() ?? (cause === 'packets' ? findNetworkObstacle() : null)
    if (obstacle !== null) {
      console.log(`SKIP cuts (${cause}): ${obstacle}`)
      continue
    }
    const line = await openLine(cause)
    try {
      for (let round = 0; round < rounds; round++) {
        const cutMs = cause === 'packets' ? Math.random() * 25_000 : 0
        const found = await tryCut(line, Math.random() * 1000, cutMs)
        wrong += found.length
        for (const fault of found) console.log(`${cause}: ${fault}`)
      }
      console.log(`${rounds} cuts (${cause}): ${wrong} wrong`)
    } finally {
      await line.close()
    }
  }
  return wrong
}

let faults = 0
if (what === 'all' || what === 'stops') faults += await stressStops(Number(count ?? 250))
if (what === 'all' || what === 'kills') faults += await stressKills(Number(count ?? 100))
if (what === 'all' || what === 'saboteurs') {
  faults += await stressSessions(Number(count ?? 10_000))
}
if (what === 'all' || what === 'living') faults += await stressLiving(Number(count ?? 100))
if (what === 'all' || what === 'endings') faults += await stressEndings(Number(count ?? 30))
if (what === 'all' || what === 'cuts') faults += await stressCuts(Number(count ?? 40))
process.exit(faults === 0 ? 0 : 1)
