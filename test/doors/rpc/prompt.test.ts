import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  models,
  type ModelServer,
  prepareRepository,
  repaired,
  scriptRepair,
  textOfRequest,
  withModelServer,
} from '../../helpers/model-server.ts'
import { type Message, type RpcProcess, startRpc } from '../../helpers/rpc.ts'

const [model] = models

async function withPrompts(
  use: (rpc: RpcProcess, server: ModelServer) => Promise<void>,
): Promise<void> {
  await withModelServer(async (server) => {
    const { home } = server
    const env = { ...process.env, ...home.env }
    const rpc = startRpc(['--rpc', '--model', model, '--cwd', home.workspace], env)
    try {
      await use(rpc, server)
      assert.is(await rpc.end(), 0)
    } finally {
      rpc.child.kill('SIGKILL')
      await rpc.ended
    }
  })
}

function resultOf(message: Message): Message {
  if (!message['result']) throw new Error(JSON.stringify(message))
  return message['result'] as Message
}

function eventOf(type: string) {
  return (message: Message) =>
    message['method'] === 'prompt.event' &&
    ((message['params'] as Message)['event'] as Message)['type'] === type
}

function bash(command: string) {
  return { name: 'bash', arguments: JSON.stringify({ command }) }
}

test('a whole task is done by a prompt, told by events, and answered by its result', () =>
  withPrompts(async (rpc, { home, mock }) => {
    prepareRepository(home.workspace)
    scriptRepair(mock)
    const result = resultOf(await rpc.call('prompt', { text: 'repair the tests' }))
    assert.is(result['status'], 'answered')
    assert.is(result['text'], repaired)
    assert.is(result['steps'], 5)
    assert.match(readFileSync(join(home.workspace, 'add.sh'), 'utf8'), '$1 + $2')
    for (const type of ['start', 'tool_call', 'tool_output', 'tool_result', 'text']) {
      assert.ok(rpc.received.some(eventOf(type)), type)
    }
  }))

test('what shell.exec and !commands have run goes before the next message, !!commands do not', () =>
  withPrompts(async (rpc, server) => {
    server.mock.onMessage(/./, { content: 'seen' })
    await rpc.call('shell.exec', { command: 'echo by exec' })
    await rpc.call('prompt', { text: '!echo by prompt' })
    await rpc.call('prompt', { text: '!!echo hidden' })
    await rpc.call('prompt', { text: 'what was run?' })
    const asked = textOfRequest(server.requests().at(-1))
    assert.match(asked, /by exec[\s\S]*by prompt/)
    assert.not.match(asked, 'hidden')
    const again = resultOf(await rpc.call('prompt', { text: 'and now?' }))
    assert.is(again['status'], 'answered')
    assert.is(textOfRequest(server.requests().at(-1)).split('echo by exec').length, 2)
  }))

test('a conversation is named by its id, also by another connection', () =>
  withPrompts(async (rpc, server) => {
    server.mock.onMessage(/./, { content: 'noted' })
    const first = resultOf(await rpc.call('prompt', { text: 'the word is pearl' }))
    const id = first['conversation_id'] as string
    const env = { ...process.env, ...server.home.env }
    const other = startRpc(['--rpc', '--model', model, '--cwd', server.home.workspace], env)
    try {
      const second = resultOf(await other.call('prompt', { text: 'which?', conversation: id }))
      assert.is(second['conversation_id'], id)
      assert.match(textOfRequest(server.requests().at(-1)), 'the word is pearl')
      const wrong = await other.call('prompt', { text: 'x', conversation: 'conv_no' })
      assert.match(JSON.stringify(wrong['error']), 'There is no conversation')
    } finally {
      await other.end()
    }
  }))

test('a model at work is steered, refuses a second prompt, and is cancelled', () =>
  withPrompts(async (rpc, server) => {
    const { mock } = server
    mock.on({ userMessage: /begin/ }, { toolCalls: [bash('echo ready; read x < fifo; echo "$x"')] })
    mock.on({ userMessage: /turn round/ }, { toolCalls: [bash('echo second; sleep 1000')] })
    await rpc.call('shell.exec', { command: 'mkfifo fifo' })
    rpc.send({ jsonrpc: '2.0', id: 'p', method: 'prompt', params: { text: 'begin' } })
    await rpc.next(eventOf('tool_output'))
    const busy = await rpc.call('prompt', { text: 'another' })
    assert.match(JSON.stringify(busy['error']), 'at work')
    assert.equal(resultOf(await rpc.call('prompt.steer', { text: 'turn round' })), {
      steered: true,
    })
    await rpc.call('shell.exec', { command: 'echo go > fifo' })
    await rpc.next(eventOf('steer'))
    await rpc.next((message) => JSON.stringify(message).includes('second\\n'))
    assert.equal(resultOf(await rpc.call('prompt.cancel')), { cancelled: 1 })
    assert.is(resultOf(await rpc.response('p'))['status'], 'cancelled')
    assert.equal(resultOf(await rpc.call('prompt.steer', { text: 'late' })), { steered: false })
    mock.reset()
    mock.onMessage(/./, { content: 'usable' })
    assert.is(resultOf(await rpc.call('prompt', { text: 'still there?' }))['text'], 'usable')
  }))

test('the guard asks the client, and nobody where the client cannot be asked', () =>
  withPrompts(async (rpc, { home, mock }) => {
    home.write(join(home.workspace, 'kept'), 'x')
    mock.on({ userMessage: 'go', hasToolResult: false }, { toolCalls: [bash('rm -rf $UNKNOWN_X')] })
    mock.on({ userMessage: 'go', hasToolResult: true }, { content: 'done' })
    await rpc.call('initialize', { capabilities: { supports_approval: true } })
    rpc.send({ jsonrpc: '2.0', id: 'p', method: 'prompt', params: { text: 'go' } })
    const question = await rpc.next(({ method }) => method === 'approval.request')
    rpc.send({ jsonrpc: '2.0', id: question['id'], result: { approved: false } })
    assert.is(resultOf(await rpc.response('p'))['status'], 'answered')
    const told = rpc.received.find(eventOf('tool_result'))
    assert.match(JSON.stringify(told), 'Denied, nothing was run')
  }))

test.run()
