import { tmpdir } from 'node:os'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../lib/executor/executor.ts'
import type { ExecutorOptions } from '../../lib/executor/executor.ts'
import { type Origin, origins } from '../../lib/protocol/origin.ts'

const test = suite('policy by origin')

/** For each origin: what a command finds in its environment. */
async function show(
  variable: string,
  environment: Record<string, string>,
  options: Partial<ExecutorOptions> = {},
): Promise<Record<Origin, string>> {
  const executor = createExecutor({
    stateDir: null,
    environment: { PATH: process.env['PATH'], ...environment },
    ...options,
  })
  try {
    const shown = origins.map(async (origin) => {
      const command = `printf %s "$${variable}"`
      const input = {
        command,
        origin,
        login: false,
        cwd: tmpdir(),
        streams: 'merged',
        sandbox: 'off',
      } as const
      return [origin, (await executor.run(input)).output]
    })
    return Object.fromEntries(await Promise.all(shown)) as Record<Origin, string>
  } finally {
    await executor.close()
  }
}

test('the key of a provider reaches what a person or a script runs, and no model', async () => {
  const shown = { repl: 'k', print: 'k', rpc: 'k', agent: '', mcp: '' }
  assert.equal(await show('GEMINI_API_KEY', { GEMINI_API_KEY: 'k' }), shown)
  const configured = { modelKeys: ['HOUSE_KEY'] }
  assert.equal(await show('HOUSE_KEY', { HOUSE_KEY: 'k' }, configured), shown)
})

test('whoever watches keeps the own environment', async () => {
  const unwatched = { repl: 'more', print: 'cat', rpc: 'cat', agent: 'cat', mcp: 'cat' }
  assert.equal(await show('PAGER', { PAGER: 'more' }), unwatched)
  const watched = { ...unwatched, print: 'more' }
  assert.equal(await show('PAGER', { PAGER: 'more' }, { personAtInput: true }), watched)
})

test('a run of the agent is in a sandbox where there is one, and no other is', async () => {
  const executor = createExecutor({ stateDir: null })
  const asked = origins.map((origin) => [
    origin,
    executor.parse({ command: 'true', origin }).sandbox,
  ])
  await executor.close()
  assert.equal(Object.fromEntries(asked), {
    repl: 'off',
    print: 'off',
    rpc: 'off',
    agent: 'workspace',
    mcp: 'off',
  })
})

test.run()
