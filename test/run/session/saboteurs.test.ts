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

test('a shell that can tell nothing any more is given up, and the run says so', async () => {
  if (process.platform !== 'linux') return console.log('SKIP stray shells: only /proc shows them')
  await withSessions(async ({ run }) => {
    async function spoil(command: string): Promise<void> {
      const { code, notices } = await run(command, { session: command })
      assert.is(code, 125, command)
      assert.match(notices?.join() ?? '', 'its exit status is not known')
      const next = await run('echo next', { session: command })
      assert.is(next.stdout, 'next\n')
      assert.match(next.notices?.join() ?? '', 'in a fresh one')
    }
    // The second reads what nacre alone writes, and never before the end of the command.
    await Promise.all(['cd /usr; __nacre_c=(a b c d e f g h)', 'read -u 252 x'].map(spoil))
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
