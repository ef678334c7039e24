import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { withSessions } from '../../helpers/sessions.ts'
import { knownSaboteurs, trySaboteur } from '../../stress/saboteurs.ts'

test('a session outlives what its commands do to its shell', async () => {
  const found: Record<string, string[]> = {}
  await withSessions(async (bench) => {
    const left = [...knownSaboteurs.entries()]
    async function work(): Promise<void> {
      for (let next = left.shift(); next; next = left.shift()) {
        const faults = await trySaboteur(bench, next[1], `s${next[0]}`, 60_000)
        if (faults.length > 0) found[next[1]] = faults
      }
    }
    await Promise.all([work(), work()])
  })
  assert.equal(found, {})
})

test('a shell without what its session needs is replaced, and the run keeps its status', async () => {
  await withSessions(async ({ run }) => {
    for (const spoil of ['builtin() { :; }', 'enable -n builtin eval', 'unset __nacre_c']) {
      const { code, stdout } = await run(`cd /usr; echo out; ${spoil}; (exit 7)`)
      assert.equal([code, stdout], [7, 'out\n'], spoil)
      const next = await run('pwd; echo next')
      assert.is(next.stdout.split('\n').at(-2), 'next', spoil)
      assert.match(next.notices?.join() ?? '', 'in a fresh one', spoil)
    }
  })
})

test('what a command closes of the shell costs the shell, not the exit status', async () => {
  await withSessions(async ({ run }) => {
    const { code, stdout } = await run('echo out; exec 252>&- 253>&- 254>&-; (exit 7)')
    assert.equal([code, stdout], [7, 'out\n'])
    assert.match((await run('true')).notices?.join() ?? '', 'in a fresh one')
  })
})

test.run()
