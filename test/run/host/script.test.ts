import { spawn, spawnSync } from 'node:child_process'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { composeRunScript, type RemoteCommand } from '../../../lib/run/host/script.ts'
import { hear } from '../../helpers/until.ts'

const shells = [['dash'], ['bash', '--posix'], ['busybox', 'ash']].filter(
  ([program = '']) => spawnSync(program, ['-c', ':'], { stdio: 'ignore' }).error === undefined,
)

/** The end of a task whose script this shell runs, as its frames tell it. */
async function readEnd(shell: readonly string[], changes: Partial<RemoteCommand>) {
  const script = composeRunScript({
    name: 'n',
    mark: `script-${process.pid}`,
    command: '',
    cwd: null,
    shell: null,
    login: false,
    ownShell: false,
    nacre: null,
    env: {},
    merged: true,
    input: { kind: 'none', text: null },
    stop: { signals: ['TERM'], graceSeconds: 1 },
    endsByTerm: true,
    ...changes,
  })
  const [program, ...words] = [...shell, '-c', script]
  const child = spawn(program, words, {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let said = ''
  child.stdout.on('data', (bytes: Buffer) => (said += bytes.toString()))
  await hear(child, 'close').finally(() => child.kill('SIGKILL'))
  return [...said.matchAll(/n:(timeout|end .*)/g)].map(([, frame]) => frame?.trim()).join(', ')
}

for (const shell of shells) {
  const name = shell.join(' ')

  test(`${name}: a task that a signal ends at once has not met its deadline`, async () => {
    // Longer than anybody waits for it here: a watch that does not hear of the end is a failure.
    const changes = { command: `'kill -KILL $$'`, deadlineSeconds: 3600 }
    for (let round = 0; round < 10; round++) {
      assert.match(await readEnd(shell, changes), /^end 137( KILL)?$/)
    }
  })

  test(`${name}: a task that overruns is told so`, async () => {
    const changes = { command: `'tail -f /dev/null'`, deadlineSeconds: 1 }
    // KILL where it has begun only after the others were asked to end.
    assert.match(await readEnd(shell, changes), /^timeout, end (143( TERM)?|137( KILL)?)$/)
  })
}

test.run()
