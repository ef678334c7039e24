import { test } from 'uvu'
import { live } from '../../helpers/living.ts'
import { ownShells } from '../../helpers/own-shell.ts'

/**
 * By hand, for as long as one likes: `NACRE_TEST_ACTIONS=500 NACRE_TEST_SEED=7 NACRE_TEST_SHELL=zsh`.
 * A failure tells its seed, and the same seed draws the same actions.
 */
const { NACRE_TEST_ACTIONS: count, NACRE_TEST_SEED: seed, NACRE_TEST_SHELL: only } = process.env
const actions = Number(count ?? 12)

for (const [at, shell] of ownShells.entries()) {
  if (only !== undefined && only !== shell) continue
  test(`${actions} things that people do, drawn at random, with ${shell}`, () =>
    live({
      shell,
      seed: seed === undefined ? at + 1 : Number(seed),
      actions,
      onAction: count === undefined ? () => undefined : (told) => console.log(told),
    }))
}

test.run()
