import { spawn } from 'node:child_process'
import { join } from 'node:path'
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

test('no key stands in /proc of nacre once a model has chosen a command', async () => {
  if (process.platform !== 'linux') return console.log('SKIP keys in /proc: there is none')
  const secret = `secret-${Math.random()}`
  const child = spawn(process.execPath, [...process.execArgv, '-e', program], {
    cwd: join(import.meta.dirname, '..', '..'),
    env: { ...process.env, OPENAI_API_KEY: secret, MY_OWN_KEY: `${secret}=` },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  for await (const chunk of child.stdout) text += String(chunk)
  const [before, own, seen, handed] = text.split('\n')
  assert.is(before, '2')
  assert.is(own, secret)
  assert.is(seen, '0')
  assert.is(handed, secret)
})

/** Runs a command of a model, which looks for the key in this process, then one of a person. */
const program = `
  import('./lib/executor/executor.ts').then(async ({ createExecutor }) => {
    const executor = createExecutor({ stateDir: null, modelKeys: ['MY_OWN_KEY'] })
    const count = "tr '\\\\0' '\\\\n' </proc/" + process.pid + "/environ | grep -c secret-"
    const run = (command, origin) => executor.run({ command, origin, streams: 'merged', sandbox: 'off' })
    const tell = ({ output }) => console.log(output.trim())
    tell(await run(count, 'print'))
    console.log(process.env.OPENAI_API_KEY)
    tell(await run(count, 'agent'))
    tell(await run('echo $OPENAI_API_KEY', 'print'))
    await executor.close()
  })`

test.run()
