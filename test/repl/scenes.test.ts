import { spawnSync } from 'node:child_process'
import { test } from 'uvu'
import { ownShells, startFiles } from '../helpers/own-shell.ts'
import { playScenes, type Stage } from '../helpers/scenes.ts'
import { testTogether } from '../helpers/together.ts'
import { commandScenes } from './scenes/commands.ts'
import { lineScenes } from './scenes/line.ts'
import { toolScenes } from './scenes/tools.ts'

const scenes = [...commandScenes, ...lineScenes, ...toolScenes]

/** Root plays one who is not: its own user namespace takes its rights, and leaves it its files. */
const words = ['unshare', '--user', '--map-user=1000', '--map-group=1000']
const mayPlay =
  process.getuid?.() === 0 && spawnSync('unshare', [...words.slice(1), 'true']).status === 0
if (!mayPlay) console.log('SKIP scenes as an ordinary user: this one is no root that can play it')
const asUser = mayPlay ? { as: words } : {}

const isOwnNode = process.env['NACRE_TEST_CLI'] === undefined

/** Each shell in each size; what start files do to the first screen is seen in start-files.test.ts. */
const stages: readonly Stage[] = [
  { shell: 'bash', columns: 40, rows: 10, startFile: startFiles.slow },
  { shell: 'bash', columns: 80, rows: 24, startFile: startFiles.plain },
  { shell: 'bash', columns: 200, rows: 60, startFile: startFiles.plain },
  { shell: 'zsh', columns: 40, rows: 10, startFile: startFiles.broken, ...asUser },
  { shell: 'zsh', columns: 80, rows: 24, startFile: startFiles.ends },
  { shell: 'zsh', columns: 200, rows: 60, startFile: startFiles.slow },
  { shell: 'fish', columns: 40, rows: 10, startFile: startFiles.ends },
  { shell: 'fish', columns: 80, rows: 24, startFile: startFiles.slow, ...asUser },
  { shell: 'fish', columns: 200, rows: 60, startFile: startFiles.broken },
]

for (const shell of ['bash', 'zsh', 'fish'] as const) {
  if (!ownShells.includes(shell)) {
    console.log(`SKIP scenes with ${shell}: it is not installed`)
    continue
  }
  // A size is the same to each runtime: one that is not this Node has them all with bash alone.
  const mine = stages.filter(
    (stage) => stage.shell === shell && (isOwnNode || shell === 'bash' || stage.columns === 80),
  )
  testTogether(
    Object.fromEntries(
      mine.map((stage) => [
        `every scene with ${shell}, ${stage.columns} × ${stage.rows}`,
        () => playScenes(scenes, stage),
      ]),
    ),
  )
}

test.run()
