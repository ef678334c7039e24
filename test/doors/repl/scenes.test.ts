import { spawnSync } from 'node:child_process'
import { test } from 'uvu'
import { ownShells } from '../../helpers/own-shell.ts'
import { playScenes, type Stage } from '../../helpers/scenes.ts'
import { commandScenes } from './scenes/commands.ts'
import { lineScenes } from './scenes/line.ts'
import { toolScenes } from './scenes/tools.ts'

const scenes = [...commandScenes, ...lineScenes, ...toolScenes]

for (const [columns, rows] of [
  [40, 10],
  [80, 24],
  [200, 60],
] as const) {
  const stage: Stage = { shell: 'bash', columns, rows, name: `bash-${columns}x${rows}` }
  test(`every scene with bash, ${columns} × ${rows}`, () => playScenes(scenes, stage))
}

const ofEveryShell = scenes.filter(({ everyShell }) => everyShell)
for (const shell of ['zsh', 'fish'] as const) {
  if (!ownShells.includes(shell)) {
    console.log(`SKIP scenes with ${shell}: it is not installed`)
    continue
  }
  const stage: Stage = { shell, columns: 80, rows: 24, name: `${shell}-80x24` }
  test(`what touches the shell, with ${shell}`, () => playScenes(ofEveryShell, stage))
}

/** Root plays one who is not: its own user namespace takes its rights, and leaves it its files. */
const asUser = ['unshare', '--user', '--map-user=1000', '--map-group=1000']
const mayPlay =
  process.getuid?.() === 0 && spawnSync('unshare', [...asUser.slice(1), 'true']).status === 0
if (mayPlay) {
  const ofUser = scenes.filter(({ everyUser }) => everyUser)
  const stage: Stage = { shell: 'bash', columns: 80, rows: 24, as: asUser, name: 'user-80x24' }
  test('what depends on who one is, as an ordinary user', () => playScenes(ofUser, stage))
} else console.log('SKIP scenes as an ordinary user: this one is no root that can play it')

test.run()
