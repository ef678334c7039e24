import { spawn, spawnSync } from 'node:child_process'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../../lib/executor/executor.ts'
import { composeRunScript } from '../../../lib/run/host/script.ts'
import { hear } from '../../helpers/until.ts'

const shells = [['dash'], ['bash', '--posix'], ['busybox', 'ash']].filter(
  ([program = '']) => spawnSync(program, ['-c', ':'], { stdio: 'ignore' }).error === undefined,
)

const executor = createExecutor({ stateDir: null })
test.after(() => executor.close())

/** The end of a task whose script this shell runs, as its frames tell it. */
async function readEnd(shell: readonly string[], command: string, deadlineSeconds: number) {
  const input = { command, origin: 'print', host: 'slurm://', killAfterSeconds: 1 } as const
  const request = executor.parse({ ...input, streams: 'merged' })
  const script = composeRunScript(request, {
    name: 'n',
    startsIn: '/',
    isAlone: true,
    deadlineSeconds,
  })
  const [program, ...words] = [...shell, '-c', script]
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'ignore'] })
  let said = ''
  child.stdout.on('data', (bytes: Buffer) => (said += bytes.toString()))
  await hear(child, 'close').finally(() => child.kill('SIGKILL'))
  return [...said.matchAll(/n:(timeout|end .*)/g)].map(([, frame]) => frame?.trim()).join(', ')
}

for (const shell of shells) {
  const name = shell.join(' ')

  test(`${name}: a task that a signal ends at once has not met its deadline`, async () => {
    // Longer than anybody waits for it here: a watch that does not hear of the end is a failure.
    for (let round = 0; round < 10; round++) {
      assert.match(await readEnd(shell, 'kill -KILL $$', 3600), /^end 137( KILL)?$/)
    }
  })

  test(`${name}: a task that overruns is told so`, async () => {
    // KILL where it has begun only after the others were asked to end.
    assert.match(
      await readEnd(shell, 'tail -f /dev/null', 1),
      /^timeout, end (143( TERM)?|137( KILL)?)$/,
    )
  })
}

test.run()
