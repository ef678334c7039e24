import { existsSync } from 'node:fs'
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
import { createState, type Message } from '../../helpers/rpc.ts'
import { until } from '../../helpers/until.ts'

/*
 * The published client of pi, unchanged, against nacre. It starts `node <cli> --mode rpc` by itself:
 * the single binary and Deno are not asked here.
 */

const root = join(import.meta.dirname, '../../..')
const peer = join(root, '.tools/pi/node_modules/@mariozechner/pi-coding-agent')
const clientFile = join(peer, 'dist/modes/rpc/rpc-client.js')

interface BashResult {
  output: string
  exitCode?: number
  cancelled: boolean
  truncated: boolean
  fullOutputPath?: string
}

/** As much of its public face as is used here. */
interface PiClient {
  start(): Promise<void>
  stop(): Promise<void>
  onEvent(listener: (event: Message) => void): () => void
  prompt(message: string): Promise<void>
  promptAndWait(message: string): Promise<Message[]>
  steer(message: string): Promise<void>
  waitForIdle(): Promise<void>
  abort(): Promise<void>
  bash(command: string): Promise<BashResult>
  abortBash(): Promise<void>
  getState(): Promise<Message>
  getMessages(): Promise<Message[]>
  getLastAssistantText(): Promise<string | null>
  newSession(): Promise<{ cancelled: boolean }>
  setModel(provider: string, model: string): Promise<unknown>
  getAvailableModels(): Promise<unknown[]>
  getCommands(): Promise<unknown[]>
}

interface PiModule {
  RpcClient: new (options: object) => PiClient
}

async function withPiClient(
  use: (client: PiClient, events: Message[]) => Promise<void>,
  options: object = {},
) {
  const { RpcClient } = (await import(clientFile)) as PiModule
  const state = createState()
  const client = new RpcClient({
    cliPath: join(root, 'bin/nacre.js'),
    cwd: root,
    env: state.env,
    provider: 'anthropic',
    model: 'claude-x',
    args: ['--no-session'],
    ...options,
  })
  const events: Message[] = []
  await client.start()
  client.onEvent((event) => events.push(event))
  try {
    await use(client, events)
  } finally {
    await client.stop()
    state.remove()
  }
}

async function messageOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('it did not reject')
}

if (existsSync(clientFile)) {
  test('a command of the client of pi runs, and its failure is a success', () =>
    withPiClient(async (client, events) => {
      const result = await client.bash('echo out; echo err >&2; exit 3')
      assert.equal(result, {
        output: 'out\nerr\n',
        exitCode: 3,
        cancelled: false,
        truncated: false,
      })
      const deltas = events.filter(({ type }) => type === 'bash_execution_update')
      assert.is(deltas.map(({ delta }) => delta).join(''), 'out\nerr\n')
    }))

  test('what does not fit is kept in a file', () =>
    withPiClient(async (client) => {
      const result = await client.bash('seq 100000')
      assert.is(result.truncated, true)
      assert.ok(result.output.endsWith('\n100000\n'))
      assert.ok(result.fullOutputPath !== undefined && existsSync(result.fullOutputPath))
    }))

  test('abort_bash stops the command, and exitCode is absent', () =>
    withPiClient(async (client, events) => {
      const running = client.bash('echo started; sleep 1000')
      await until(() => events.length > 0)
      await client.abortBash()
      const result = await running
      assert.equal(result, { output: 'started\n', cancelled: true, truncated: false })
      assert.not('exitCode' in result)
    }))

  test('answers come as they are ready', () =>
    withPiClient(async (client, events) => {
      const slow = client.bash('echo started; sleep 1000')
      await until(() => events.length > 0)
      assert.is((await client.bash('echo quick')).output, 'quick\n')
      await client.abort()
      assert.is((await slow).cancelled, true)
    }))

  test('a prompt of !cmd runs the command', () =>
    withPiClient(async (client, events) => {
      await client.prompt('!echo from a prompt')
      assert.ok(events.some(({ delta }) => delta === 'from a prompt\n'))
      const [message] = await client.getMessages()
      assert.is(message?.['role'], 'bashExecution')
      assert.is(message?.['output'], 'from a prompt\n')
    }))

  test('models are asked for in vain as long as there is none', () =>
    withPiClient(async (client) => {
      assert.match(await messageOf(client.setModel('a', 'b')), 'Model not found: a/b')
      assert.equal(await client.getAvailableModels(), [])
      assert.is(await client.getLastAssistantText(), null)
    }))

  test('the state is what was set, until a new session', () =>
    withPiClient(async (client) => {
      await client.bash('true')
      const state = await client.getState()
      assert.is(state['isStreaming'], false)
      assert.is(state['messageCount'], 1)
      assert.equal(await client.newSession(), { cancelled: false })
      const fresh = await client.getState()
      assert.is(fresh['messageCount'], 0)
      assert.is.not(fresh['sessionId'], state['sessionId'])
      assert.equal(await client.getCommands(), [])
    }))

  test('a prompt of !cmd lets go who waits for its end', () =>
    withPiClient(async (client) => {
      const events = await client.promptAndWait('!echo waited')
      assert.ok(events.some(({ delta }) => delta === 'waited\n'))
      await client.prompt('!true')
      await client.waitForIdle()
    }))

  /** With a model behind it. */
  function withModel(
    use: (client: PiClient, events: Message[], server: ModelServer) => Promise<void>,
  ) {
    return withModelServer((server) => {
      const { home } = server
      const [provider, model] = models[0].split('/')
      return withPiClient((client, events) => use(client, events, server), {
        env: { ...process.env, ...home.env },
        cwd: home.workspace,
        provider,
        model,
      })
    })
  }

  test('a whole task is done for the client of pi, told by its events', () =>
    withModel(async (client, events, { home, mock }) => {
      prepareRepository(home.workspace)
      scriptRepair(mock)
      const told = await client.promptAndWait('repair the tests')
      assert.is(await client.getLastAssistantText(), repaired)
      const types = told.map(({ type }) => type)
      const expected = [
        'agent_start',
        'turn_start',
        'message_start',
        'message_update',
        'message_end',
        'tool_execution_start',
        'tool_execution_update',
        'tool_execution_end',
        'turn_end',
        'agent_end',
      ]
      for (const type of expected) assert.ok(types.includes(type), type)
      assert.is(types[0], 'agent_start')
      assert.is(types.filter((type) => type === 'turn_start').length, 5)
      assert.is(types.filter((type) => type === 'turn_end').length, 5)
      const roles = (await client.getMessages()).map(({ role }) => role)
      assert.equal(roles.slice(0, 3), ['user', 'assistant', 'toolResult'])
      await until(() => events.some(({ type }) => type === 'agent_settled'))
    }))

  test('a bash command of the client goes before its next prompt, and abort stops the model', () =>
    withModel(async (client, events, { mock, ...server }) => {
      mock.onMessage('what', { content: 'seen' })
      mock.onMessage('hang', {
        toolCalls: [{ name: 'bash', arguments: '{"command":"echo ready; sleep 1000"}' }],
      })
      await client.bash('echo from pi')
      await client.promptAndWait('what was that?')
      assert.match(textOfRequest(server.requests().at(-1)), 'from pi')
      await client.prompt('hang')
      await until(() => JSON.stringify(events).includes('ready\\n'))
      assert.is((await client.getState())['isStreaming'], true)
      await client.abort()
      assert.is((await client.getState())['isStreaming'], false)
      assert.is((await client.getMessages()).at(-1)?.['stopReason'], 'aborted')
    }))

  test('a failure of the model ends the prompt with its reason', () =>
    withModel(async (client, _, { mock }) => {
      mock.onMessage('fail', { error: { message: 'no such key', type: 'x' }, status: 401 })
      const told = await client.promptAndWait('fail')
      const end = told.find(({ type }) => type === 'agent_end')
      const [, last] = (end?.['messages'] ?? []) as Message[]
      assert.is(last?.['stopReason'], 'error')
      assert.match(last?.['errorMessage'] as string, 'no such key')
    }))
} else {
  console.log('SKIP the client of pi: it is not installed (node .ci/tools/install.js pi)')
}

test.run()
