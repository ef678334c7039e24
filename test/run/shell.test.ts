import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../lib/executor/executor.ts'
import type { RequestInput } from '../../lib/protocol/request/request.ts'
import type { Result } from '../../lib/protocol/result/result.ts'
import { findObstacle } from '../helpers/sandbox-places.ts'

/** A here-document of 400 KB in letters of two bytes, three times what the system takes as one word. */
const words = 'ö'.repeat(200_000)
const command = `cat <<'END' | wc -c
${words}
END
echo "$LINENO $0 $#" é
ls /proc/self/fd | wc -l
no-such-program
(exit 7)`

async function run(changes: Partial<RequestInput>, prefix: string[] = []): Promise<Result> {
  const executor = createExecutor({ stateDir: null, prefix })
  try {
    const result = await executor.run({ command, origin: 'print', shell: 'bash', ...changes })
    return { ...result, ...(result.output && { output: result.output.replaceAll('\r', '') }) }
  } finally {
    await executor.close()
  }
}

const descriptors = execFileSync('bash', ['-c', 'ls /proc/self/fd | wc -l'], { encoding: 'utf8' })
const expected = `400001\n4 bash 0 é\n${descriptors}bash: line 6: no-such-program: command not found\n`
const obstacle = await findObstacle()

const ways: Record<string, Partial<RequestInput>> = {
  fresh: {},
  'with sh': { shell: 'sh' },
  'in a session': { session: 'a' },
  'on a terminal': { pty: true },
  ...(obstacle === null && {
    'in the sandbox': { sandbox: 'workspace', workspace: import.meta.dirname },
  }),
}
if (obstacle !== null) console.log(`SKIP a long command in the sandbox: ${obstacle}`)

for (const [name, changes] of Object.entries(ways)) {
  test(`a command longer than one word may be runs as any other: ${name}`, async () => {
    const { output, exitCode, error } = await run({
      streams: 'merged',
      cwd: import.meta.dirname,
      ...changes,
    })
    assert.is(error, null)
    const lines = (output ?? '').split('\n')
    assert.is(lines[0], '400001')
    if (name !== 'with sh') {
      assert.is(lines[1], '4 bash 0 é')
      assert.match(lines[3] ?? '', /^bash: line 6: no-such-program: command not found$/)
    }
    // ls itself holds three and the folder; a terminal or a session has none more.
    if (name === 'fresh') assert.is(output, expected)
    assert.is(exitCode, 7)
  })
}

test('start files, functions and a PATH of the user do not come between', async () => {
  const home = mkdtempSync(join(tmpdir(), 'nacre-test-'))
  writeFileSync(join(home, 'start'), 'exec 9>/dev/null; set -u; cat() { echo mine; }\n')
  try {
    const env = { PATH: '/nowhere', BASH_ENV: join(home, 'start'), 'BASH_FUNC_cat%%': '() { :; }' }
    const { output, exitCode } = await run({
      command: `: ${words}\necho "$#" "$LINENO"; exit 7`,
      streams: 'merged',
      shell: '/bin/bash',
      env,
    })
    assert.equal([output, exitCode], ['0 2\n', 7])
  } finally {
    rmSync(home, { recursive: true })
  }
})

test('behind a prefix too', async () => {
  const { output, exitCode } = await run({ origin: 'agent', guard: false }, ['env'])
  assert.match(output ?? '', /^400001\n4 bash 0 é\n/)
  assert.is(exitCode, 7)
})

test('characters of two halves are not torn apart', async () => {
  const text = `a${'🐚'.repeat(70_000)}`
  const { output } = await run({ command: `printf %s '${text}' | md5sum`, streams: 'merged' })
  assert.is(output?.split(' ')[0], createHash('md5').update(text).digest('hex'))
})

test('what is too long for the system in any case says so', async () => {
  const { status, error } = await run({ command: 'true', env: { LONG: 'x'.repeat(9_000_000) } })
  assert.is(status, 'not_started')
  assert.is(error?.code, 'too_long')
})

test.run()
