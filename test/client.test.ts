import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type ClientOptions, RpcError, startClient } from '../lib/client.ts'
import { createDeferred } from '../lib/protocol/deferred.ts'
import { withClient } from './helpers/rpc.ts'

async function failureOf(promise: Promise<unknown>): Promise<RpcError> {
  try {
    await promise
  } catch (error) {
    assert.instance(error, RpcError)
    return error as RpcError
  }
  throw new Error('it did not reject')
}

/** A server of one line of JavaScript. */
function node(script: string): ClientOptions['command'] {
  return [process.execPath, '-e', script]
}

test('a program that is not there is an error', async () => {
  const failure = await failureOf(startClient({ command: ['/nowhere/nacre', '--rpc'] }))
  assert.match(failure.message, /could not be started/)
})

test('a program that ends without a greeting is an error', async () => {
  const failure = await failureOf(startClient({ command: ['sh', '-c', 'exit 3'] }))
  assert.match(failure.message, /has ended \(3\)/)
})

test('a program that speaks something else is an error', async () => {
  const failure = await failureOf(startClient({ command: ['sh', '-c', 'echo Welcome; cat'] }))
  assert.match(failure.message, /not JSON/)
})

test('a request under way is refused when its server dies', async () => {
  const greetAndDie = `process.stdin.on('data', (text) => {
    const { id, method } = JSON.parse(text)
    if (method !== 'initialize') process.kill(process.pid, 'SIGKILL')
    console.log(JSON.stringify({ jsonrpc: '2.0', id, result: {} }))
  })`
  const client = await startClient({ command: node(greetAndDie) })
  const failure = await failureOf(client.request('shell.list', {}))
  assert.match(failure.message, /has ended \(SIGKILL\)/)
  await failureOf(client.request('shell.list', {}))
  assert.is(await client.close(), null)
})

test('an answer that has come is given, although its server has ended meanwhile', async () => {
  // Both lines in one write, so that they are there when the end is.
  const tellAndEnd = `process.stdin.on('data', (text) => {
    const { id, method } = JSON.parse(text)
    const greeting = { jsonrpc: '2.0', id, result: {} }
    const told = { jsonrpc: '2.0', method: 'shell.exited', params: {} }
    const answer = { jsonrpc: '2.0', id, result: { jobs: [] } }
    if (method === 'initialize') return console.log(JSON.stringify(greeting))
    require('node:fs').writeSync(1, JSON.stringify(told) + '\\n' + JSON.stringify(answer) + '\\n')
    process.exit()
  })`
  const { promise: taken, resolve: take } = createDeferred()
  const client = await startClient({ command: node(tellAndEnd), onNotification: () => taken })
  const listed = client.request('shell.list', {})
  listed.catch(() => undefined)
  assert.is(await client.close(), 0)
  take()
  assert.equal(await listed, { jobs: [] })
})

test('a program that refuses the greeting is ended', async () => {
  const refuse = `process.stdin.on('data', (text) => {
    const { id } = JSON.parse(text)
    const error = { code: -32000, message: 'not you: ' + process.pid }
    console.log(JSON.stringify({ jsonrpc: '2.0', id, error }))
  })`
  const { message } = await failureOf(startClient({ command: node(refuse) }))
  const pid = Number(/^not you: (\d+)$/.exec(message)?.[1])
  assert.throws(() => process.kill(pid, 0), /ESRCH/)
})

test('a listener that fails ends the connection with its reason, and no request hangs', async () => {
  const notify = `process.stdin.on('data', (text) => {
    const { id, method } = JSON.parse(text)
    const greeting = { jsonrpc: '2.0', id, result: {} }
    const told = { jsonrpc: '2.0', method: 'shell.exited', params: {} }
    console.log(JSON.stringify(method === 'initialize' ? greeting : told))
  })`
  const client = await startClient({
    command: node(notify),
    onNotification() {
      throw new Error('no room')
    },
  })
  const failure = await failureOf(client.request('shell.list', {}))
  assert.match(failure.message, /could not be taken: no room/)
  assert.is(await client.close(), null)
})

test('a question whose answering fails is a denial, with the reason', () =>
  withClient(
    async (client) => {
      const params = { command: 'rm -rf /nowhere-at-all/.git' }
      const { status } = await client.request('shell.exec', params)
      assert.is(status, 'denied')
    },
    { onApproval: () => Promise.reject(new Error('nobody is there')) },
  ))

test('an error of the server has its code and data', () =>
  withClient(async (client) => {
    const failure = await failureOf(client.request('shell.status', { id: 'run_x' }))
    assert.is(failure.code, -32_000)
    assert.equal(failure.data, { code: 'not_found' })
  }))

test('the package exports the client to modules and to CommonJS', () => {
  const cwd = join(import.meta.dirname, '..')
  const run = (args: string[]) => execFileSync(process.execPath, args, { cwd, encoding: 'utf8' })
  const name = 'nacre/client'
  const module = `import { startClient } from '${name}'; console.log(typeof startClient)`
  assert.is(run(['--input-type=module', '-e', module]), 'function\n')
  assert.is(run(['-e', `console.log(typeof require('${name}').startClient)`]), 'function\n')
  const schema = `console.log(Object.keys(require('nacre/rpc.schema.json').methods).length > 20)`
  assert.is(run(['-e', schema]), 'true\n')
})

test.run()
