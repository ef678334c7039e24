import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../lib/executor/executor.ts'
import type { RequestInput } from '../../lib/protocol/request/request.ts'
import type { Result } from '../../lib/protocol/result/result.ts'

/** A here-document of 400 KB in letters of two bytes, three times what the system takes as one word. */
const words = 'ö'.repeat(200_000)
const command = `cat <<'END' | wc -c
${words}
END
echo "$LINENO $0 $#" é
no-such-program
(exit 7)`

async function run(changes: Partial<RequestInput>): Promise<Result> {
  const executor = createExecutor({ stateDir: null })
  try {
    return await executor.run({ command, origin: 'print', shell: 'bash', ...changes })
  } finally {
    await executor.close()
  }
}

test('a session takes a command longer than one word may be', async () => {
  const { output, exitCode } = await run({ session: 'a', streams: 'merged' })
  assert.is(exitCode, 7)
  assert.is(output, '400001\n4 bash 0 é\nbash: line 5: no-such-program: command not found\n')
})

test('a fresh shell says of such a command what to do', async () => {
  for (const pty of [false, true]) {
    const { status, error } = await run({ pty })
    assert.equal([status, error?.code], ['not_started', 'too_long'])
    assert.match(error?.message ?? '', 'a session, or as a script file')
  }
})

test('what is too long for the system in any case says so', async () => {
  const { status, error } = await run({ command: 'true', env: { LONG: 'x'.repeat(9_000_000) } })
  assert.is(status, 'not_started')
  assert.is(error?.code, 'too_long')
})

test.run()
