import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createState, type Message } from '../../../helpers/rpc.ts'
import { until } from '../../../helpers/until.ts'

/*
 * The published client of pi, unchanged, against nacre. It starts `node <cli> --mode rpc` by itself:
 * the single binary and Deno are not asked here.
 */

const root = join(import.meta.dirname, '../../../..')
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
  abort(): Promise<void>
  bash(command: string): Promise<BashResult>
  abortBash(): Promise<void>
  getState(): Promise<Message>
  getMessages(): Promise<Message[]>
  getLastAssistantText(): Promise<string | null>
  newSession(): Promise<{ cancelled: boolean }>
  setModel(provider: string, model: string): Promise<unknown>
  cycleModel(): Promise<unknown>
  getAvailableModels(): Promise<unknown[]>
  setThinkingLevel(level: string): Promise<void>
  setSteeringMode(mode: string): Promise<void>
  setFollowUpMode(mode: string): Promise<void>
  setSessionName(name: string): Promise<void>
  getSessionStats(): Promise<Message>
  getCommands(): Promise<unknown[]>
  getForkMessages(): Promise<unknown[]>
}

interface PiModule {
  RpcClient: new (options: object) => PiClient
}

async function withPiClient(use: (client: PiClient, events: Message[]) => Promise<void>) {
  const { RpcClient } = (await import(clientFile)) as PiModule
  const state = createState()
  const client = new RpcClient({
    cliPath: join(root, 'bin/nacre.js'),
    cwd: root,
    env: state.env,
    provider: 'anthropic',
    model: 'claude-x',
    args: ['--no-session'],
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
      assert.is(await client.cycleModel(), null)
      assert.is(await client.getLastAssistantText(), null)
    }))

  test('the state is what was set, until a new session', () =>
    withPiClient(async (client) => {
      await client.setSessionName('mine')
      await client.setThinkingLevel('high')
      await client.setSteeringMode('all')
      await client.setFollowUpMode('all')
      await client.bash('true')
      const state = await client.getState()
      assert.is(state['sessionName'], 'mine')
      assert.is(state['thinkingLevel'], 'high')
      assert.is(state['steeringMode'], 'all')
      assert.is(state['followUpMode'], 'all')
      assert.is(state['isStreaming'], false)
      assert.is(state['messageCount'], 1)
      assert.is((await client.getSessionStats())['totalMessages'], 1)
      assert.equal(await client.newSession(), { cancelled: false })
      const fresh = await client.getState()
      assert.is(fresh['messageCount'], 0)
      assert.is.not(fresh['sessionId'], state['sessionId'])
      assert.equal(await client.getCommands(), [])
      assert.equal(await client.getForkMessages(), [])
    }))
} else {
  console.log('SKIP the client of pi: it is not installed (node .ci/tools/install.js pi)')
}

test.run()
