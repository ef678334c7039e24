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
  variables: NodeJS.ProcessEnv = {},
): Promise<void> {
  await withModelServer(async (server) => {
    const { home } = server
    const env = { ...process.env, ...home.env, ...variables }
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

interface Told {
  command_preview: string
  status: string
  reason: string | null
  exit_code: number | null
  stdout?: string
  stdout_excerpt?: string
  stdout_cache_id?: string
  truncated: { stdout: boolean }
}

/** What the model is told of the commands before its next message. */
async function askOfCommands(rpc: RpcProcess, server: ModelServer): Promise<Told[]> {
  assert.is(resultOf(await rpc.call('prompt', { text: 'what was run?' }))['status'], 'answered')
  const text = String(server.requests().at(-1)?.messages.at(-1)?.content)
  const blocks = text.matchAll(/<shell_result>\n(.*)\n<\/shell_result>\n/g)
  return [...blocks].map(([, json = '']) => JSON.parse(json) as Told)
}

test('a model is told both ends of what shell.exec wrote, how it ended, and where all of it is', () =>
  withPrompts(async (rpc, server) => {
    server.mock.onMessage(/./, { content: 'seen' })
    for (const params of [
      { command: 'seq 1 5000' },
      { command: 'seq 1 500' },
      { command: 'echo on; sleep 1000', timeout_seconds: 1 },
      { command: 'exit 4' },
    ]) {
      await rpc.call('shell.exec', params)
    }
    const [long, middle, late, failed] = await askOfCommands(rpc, server)
    for (const [told, last] of [
      [long, 5000],
      [middle, 500],
    ] as const) {
      assert.match(told?.stdout_excerpt ?? '', /^1\n2\n[\s\S]*\n80\n… \[lines left out\] …\n/)
      assert.match(told?.stdout_excerpt ?? '', new RegExp(`\n${last - 1}\n${last}\n$`))
      assert.ok(told?.truncated.stdout)
      const range = { id: told?.stdout_cache_id, offset: 100, limit: 1 }
      assert.is(resultOf(await rpc.call('artifact.read', range))['text'], '101\n')
    }
    assert.equal(
      [late, failed].map((told) => told && [told.status, told.reason, told.exit_code, told.stdout]),
      [
        ['stopped', 'timeout', null, 'on\n'],
        ['exited', null, 4, ''],
      ],
    )
  }))

test('a model is told of a command that was let go when it has ended, with all that it wrote', () =>
  withPrompts(async (rpc, server) => {
    server.mock.onMessage(/./, { content: 'seen' })
    await rpc.call('shell.exec', { command: 'mkfifo fifo' })
    const params = { command: 'echo begun; read x < fifo; echo $x', stream: true }
    rpc.send({ jsonrpc: '2.0', id: 'exec', method: 'shell.exec', params })
    const { params: begun } = await rpc.next(({ method }) => method === 'shell.output')
    const { id } = begun as { id: string }
    await rpc.call('shell.detach', { id })
    assert.is(resultOf(await rpc.response('exec'))['status'], 'running')
    assert.is((await askOfCommands(rpc, server)).length, 1)
    await rpc.call('shell.exec', { command: 'echo the end > fifo' })
    await rpc.call('shell.wait', { id })
    const told = await askOfCommands(rpc, server)
    const ended = told.find(({ command_preview: command }) => command === params.command)
    assert.equal([ended?.status, ended?.stdout], ['exited', 'begun\nthe end\n'])
  }))

test('with as many commands queued as there may be, one more that runs during a turn is not lost', () =>
  withPrompts(async (rpc, server) => {
    for (let count = 0; count < 64; count++) await rpc.call('shell.exec', { command: 'true' })
    server.mock.onMessage(/./, async ({ messages }) => {
      const isFirst = messages.filter(({ role }) => role === 'user').length === 1
      if (isFirst) await rpc.call('shell.exec', { command: 'echo during the turn' })
      return { content: 'seen' }
    })
    assert.is((await askOfCommands(rpc, server)).length, 64)
    const told = await askOfCommands(rpc, server)
    assert.equal(
      told.map(({ stdout }) => stdout),
      ['during the turn\n'],
    )
  }))

test('what shell.exec answered is not kept: forty long answers fit into a small heap', () =>
  withPrompts(
    async (rpc) => {
      const params = { command: 'yes | head -c 3000000', truncate: 'none' }
      for (let count = 0; count < 40; count++) {
        const { stdout } = resultOf(await rpc.call('shell.exec', params))
        assert.is(String(stdout).length, 3_000_000)
        ;(rpc.received as Message[]).length = 0
      }
    },
    { NODE_OPTIONS: '--max-old-space-size=64' },
  ))

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
