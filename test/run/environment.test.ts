import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../lib/executor/executor.ts'
import type { Origin } from '../../lib/protocol/request/request.ts'

const keys = {
  ANTHROPIC_AUTH_TOKEN: 'secret-1',
  CLAUDE_CODE_OAUTH_TOKEN: 'secret-2',
  AZURE_OPENAI_API_KEY: 'secret-3',
  OPENAI_API_KEY: 'secret-4',
  MY_OWN_KEY: 'secret-5',
}

const test = suite('environment')

/** How many of the keys a command sees that `origin` asks for. */
async function countKeys(origin: Origin, pty: boolean): Promise<number> {
  const environment = { ...process.env, ...keys }
  const executor = createExecutor({ stateDir: null, environment, modelKeys: ['MY_OWN_KEY'] })
  try {
    const { output } = await executor.run({ command: 'env', origin, pty, streams: 'merged' })
    return Object.values(keys).filter((key) => output?.includes(key)).length
  } finally {
    await executor.close()
  }
}

for (const pty of [false, true]) {
  for (const origin of ['agent', 'mcp'] as const) {
    test(`no key of a model provider reaches a command of ${origin}, pty ${pty}`, async () => {
      assert.is(await countKeys(origin, pty), 0)
    })
  }
  for (const origin of ['print', 'rpc', 'repl'] as const) {
    test(`a command of a person or script keeps its keys: ${origin}, pty ${pty}`, async () => {
      assert.is(await countKeys(origin, pty), Object.keys(keys).length)
    })
  }
}

test.run()
