import { test } from 'uvu'
import { endLife } from '../stress/living/ended-life.ts'
import { live } from '../stress/living/life.ts'
import { ownShells } from '../helpers/own-shell.ts'

/** For as long as one likes, and with other seeds: `npm run stress -- living 500 --seed 7`. */
const actions = 12

for (const [at, shell] of ownShells.entries()) {
  test(`${actions} things that people do, drawn at random, with ${shell}`, () =>
    live({ shell, seed: at + 1, actions }))
}

test('a life that is ended in its midst leaves the terminal usable, and nothing else', () =>
  endLife({ shell: ownShells[0] ?? 'bash', seed: 13 }))

test.run()
