import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../../helpers/cli.ts'
import { runProgram } from '../../helpers/run-program.ts'
import { testTogether } from '../../helpers/together.ts'

interface Answer {
  id: number
  result?: { status: string; stdout: string; error?: { code: string } }
  error?: { message: string }
}

/** Eight commands at once, half of them in sessions, under a limit of open files; then one alone. */
async function askAll(limit: number): Promise<Answer[]> {
  const lines = Array.from({ length: 8 }, (_, id) => {
    const session = id % 2 === 0 ? { session: `s${id}` } : {}
    const params = { command: `sleep 0.2; echo ${id}`, shell: 'bash', ...session }
    return JSON.stringify({ jsonrpc: '2.0', id, method: 'shell.exec', params })
  })
  const line = `ulimit -n ${limit}; exec "$@"`
  const words = ['-c', line, '_', ...cliCommand(), '--rpc']
  const { status, stdout, stderr } = await runProgram('bash', words, { input: lines.join('\n') })
  assert.is(stderr.toString(), '')
  assert.is(status, 0)
  return stdout
    .toString()
    .trimEnd()
    .split('\n')
    .map((text) => JSON.parse(text) as Answer)
}

const trials = [24, 26, 27, 28, 30, 41, 200].map((limit) => [
  `a server that may open ${limit} files runs what it can and says what it cannot`,
  async () => {
    const answers = await askAll(limit)
    assert.is(answers.length, 8)
    for (const { id, result, error } of answers) {
      assert.is(error, undefined, error?.message)
      if (result?.status === 'exited') assert.is(result.stdout, `${id}\n`)
      else assert.is(result?.error?.code, 'too_many_files', JSON.stringify(result))
    }
    if (limit === 200) assert.ok(answers.every(({ result }) => result?.status === 'exited'))
  },
])

testTogether(Object.fromEntries(trials))

test.run()
