import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../lib/executor/executor.ts'
import type { Origin, RequestInput } from '../../lib/protocol/request/request.ts'

async function run(prefix: string[], input: Partial<RequestInput> & { command: string }) {
  const executor = createExecutor({ stateDir: null, prefix })
  try {
    return await executor.run({ origin: 'agent', ...input })
  } finally {
    await executor.close()
  }
}

const prefix = ['env', 'PREFIXED=yes']

for (const [origin, prefixed] of [
  ['agent', true],
  ['mcp', true],
  ['print', false],
  ['repl', false],
  ['rpc', false],
] as [Origin, boolean][]) {
  test(`the prefix is ${prefixed ? '' : 'not '}before a command of ${origin}`, async () => {
    const result = await run(prefix, { origin, shell: 'sh', command: 'echo "<$PREFIXED>"' })
    assert.is((result.output ?? result.stdout)?.trim(), prefixed ? '<yes>' : '<>')
  })
}

test('the whole command runs below the prefix, and the result names the command alone', async () => {
  const command = 'cd / && echo "$PREFIXED" | cat; echo "$0 $PREFIXED"; exit 3'
  const result = await run(prefix, { command })
  assert.is(result.output, 'yes\nbash yes\n')
  assert.is(result.exitCode, 3)
  assert.is(result.command, command)
})

test('also on a terminal', async () => {
  const result = await run(prefix, { command: 'test -t 1 && echo $PREFIXED', pty: true })
  assert.is(result.output?.trim(), 'yes')
})

test('what a prefix is put before keeps no session, and says so', async () => {
  const result = await run(prefix, { command: 'echo $PREFIXED', session: 'one' })
  assert.is(result.output, 'yes\n')
  assert.match(result.notices.join(), /env cannot keep a session here: this ran in a fresh shell/)
})

test('a stop reaches what is below the prefix', async () => {
  const result = await run(['env'], { command: 'sleep 60', timeoutSeconds: 1 })
  assert.equal([result.status, result.reason, result.survivors], ['stopped', 'timeout', []])
})

test('a prefix that does not exist keeps the command from starting', async () => {
  const result = await run(['no-such-program', 'x'], { command: 'echo ran' })
  assert.is(result.status, 'not_started')
  assert.equal(result.error, {
    code: 'prefix_not_found',
    message: 'The configured prefix does not exist: no-such-program',
  })
})

test.run()
