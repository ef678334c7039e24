import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import {
  client as createClient,
  type ClientContext,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type PromptRequest,
  type SessionNotification,
} from '@agentclientprotocol/sdk'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../../helpers/cli.ts'
import {
  models,
  type ModelServer,
  prepareRepository,
  repaired,
  scriptRepair,
  textOfRequest,
  withModelServer,
} from '../../helpers/model-server.ts'
import { until } from '../../helpers/until.ts'

type Update = SessionNotification['update']

interface Editor {
  server: ModelServer
  agent: ClientContext
  /** What was told, oldest first. */
  updates: Update[]
  /** What is answered when nacre asks for permission. */
  answer: { optionId: string | null }
  asked: string[]
  /** What the options of each question are called. */
  offered: string[]
}

/** An editor over the published SDK, with nacre at the other end. */
async function withEditor(use: (editor: Editor) => Promise<void>): Promise<void> {
  await withModelServer(async (server) => {
    const { home } = server
    const [program = '', ...words] = cliCommand()
    const child = spawn(program, [...words, 'acp', '--model', models[2]], {
      cwd: home.workspace,
      env: { ...process.env, ...home.env },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    const updates: Update[] = []
    const asked: string[] = []
    const offered: string[] = []
    const answer: Editor['answer'] = { optionId: 'allow' }
    const app = createClient({ name: 'test' })
      .onNotification(
        methods.client.session.update,
        ({ params }) => void updates.push(params.update),
      )
      .onRequest(methods.client.session.requestPermission, ({ params }) => {
        asked.push(params.toolCall.title ?? '')
        offered.push(...params.options.map(({ kind, name }) => `${kind}: ${name}`))
        const { optionId } = answer
        return {
          outcome:
            optionId === null
              ? { outcome: 'cancelled' as const }
              : { outcome: 'selected' as const, optionId },
        }
      })
    const connection = app.connect(
      ndJsonStream(
        Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
        Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
      ),
    )
    try {
      const { agent } = connection
      const told = await agent.request(methods.agent.initialize, {
        protocolVersion: PROTOCOL_VERSION,
        clientCapabilities: {},
      })
      assert.is(told.agentInfo?.name, 'nacre')
      assert.is(told.agentCapabilities?.loadSession, true)
      await use({ server, agent, updates, answer, asked, offered })
      child.stdin.end()
      assert.is(await ended, 0)
    } finally {
      connection.close()
      child.kill('SIGKILL')
      await ended
    }
  })
}

async function begin({ agent, server }: Editor): Promise<string> {
  const cwd = server.home.workspace
  const made = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
  return made.sessionId
}

function ask({ agent }: Editor, sessionId: string, text: string) {
  const params: PromptRequest = { sessionId, prompt: [{ type: 'text', text }] }
  return agent.request(methods.agent.session.prompt, params)
}

function answerIn(updates: readonly Update[]): string {
  return updates
    .map((update) =>
      update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text'
        ? update.content.text
        : '',
    )
    .join('')
}

function bash(command: string) {
  return { name: 'bash', arguments: JSON.stringify({ command }) }
}

test('a whole task is done for an editor, with its calls and their output', () =>
  withEditor(async (editor) => {
    const { server, updates } = editor
    prepareRepository(server.home.workspace)
    scriptRepair(server.mock)
    const { stopReason } = await ask(editor, await begin(editor), 'repair the tests')
    assert.is(stopReason, 'end_turn')
    assert.is(answerIn(updates), repaired)
    const calls = updates.filter(({ sessionUpdate }) => sessionUpdate === 'tool_call')
    assert.is(calls.length, 4)
    const done = updates.filter(
      (update) => update.sessionUpdate === 'tool_call_update' && update.status === 'completed',
    )
    assert.ok(done.length >= 3)
    assert.match(readFileSync(join(server.home.workspace, 'add.sh'), 'utf8'), '$1 + $2')
  }))

test('an answer for good names what it allows, holds for that, and is not offered for what is not known', () =>
  withEditor(async (editor) => {
    const { server, answer, asked, offered } = editor
    const { home, mock } = server
    home.write(home.userFile, { guard: { rules: [{ match: 'npm publish', decision: 'ask' }] } })
    const commands = { go: 'npm publish --dry-run', on: 'npm publish', no: 'rm -rf $UNKNOWN_X' }
    for (const [userMessage, command] of Object.entries(commands)) {
      mock.on({ userMessage, hasToolResult: false }, { toolCalls: [bash(command)] })
      mock.on({ userMessage, hasToolResult: true }, { content: 'done' })
    }
    answer.optionId = 'always'
    await ask(editor, await begin(editor), 'go')
    assert.ok(offered.includes('allow_always: Always allow `npm publish …`'), offered.join('\n'))
    await ask(editor, await begin(editor), 'on')
    assert.equal(asked, ['npm publish --dry-run'])
    const kept: unknown = JSON.parse(
      readFileSync(join(home.dir, 'state/nacre/approvals.json'), 'utf8'),
    )
    assert.equal(kept, [{ match: 'npm publish', decision: 'allow' }])
    offered.length = 0
    answer.optionId = 'reject'
    await ask(editor, await begin(editor), 'no')
    assert.equal(offered, ['allow_once: Run it', 'reject_once: Do not run it'])
  }))

test('the guard asks the editor, and its answer counts', () =>
  withEditor(async (editor) => {
    const { server, answer, asked } = editor
    const { home, mock } = server
    mock.on({ userMessage: 'go', hasToolResult: false }, { toolCalls: [bash('rm -rf $UNKNOWN_X')] })
    mock.on({ userMessage: 'go', hasToolResult: true }, { content: 'done' })
    const sessionId = await begin(editor)
    answer.optionId = 'reject'
    await ask(editor, sessionId, 'go')
    assert.match(textOfRequest(server.requests().at(-1)), 'Denied, nothing was run')
    answer.optionId = 'allow'
    await ask(editor, await begin(editor), 'go')
    assert.not.match(textOfRequest(server.requests().at(-1)), 'Denied, nothing was run')
    assert.equal(asked, ['rm -rf $UNKNOWN_X', 'rm -rf $UNKNOWN_X'])
    assert.ok(home.workspace !== '')
  }))

test('a prompt is cancelled with the command that it has started', () =>
  withEditor(async (editor) => {
    const { server, agent, updates } = editor
    server.mock.onMessage('hang', { toolCalls: [bash('echo ready; sleep 1000')] })
    const sessionId = await begin(editor)
    const answered = ask(editor, sessionId, 'hang')
    await until(() => JSON.stringify(updates).includes('ready\\n'))
    await agent.notify(methods.agent.session.cancel, { sessionId })
    assert.is((await answered).stopReason, 'cancelled')
  }))

test('a conversation is listed and loaded again, all of it told', () =>
  withEditor(async (editor) => {
    const { server, agent, updates } = editor
    server.mock.onMessage('first', { content: 'the answer' })
    const sessionId = await begin(editor)
    await ask(editor, sessionId, 'first question')
    const { sessions } = await agent.request(methods.agent.session.list, {})
    assert.equal(
      sessions.map(({ sessionId, title }) => ({ sessionId, title })),
      [{ sessionId, title: 'first question' }],
    )
    updates.length = 0
    const cwd = server.home.workspace
    await agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] })
    assert.equal(
      updates.map(({ sessionUpdate }) => sessionUpdate),
      ['user_message_chunk', 'agent_message_chunk'],
    )
    await ask(editor, sessionId, 'first again')
    assert.match(textOfRequest(server.requests().at(-1)), 'the answer')
  }))

test('a command of the person runs, and is told to the model with the next message', () =>
  withEditor(async (editor) => {
    const { server, updates } = editor
    server.mock.onMessage(/./, { content: 'seen' })
    const sessionId = await begin(editor)
    assert.is((await ask(editor, sessionId, '!echo from a person')).stopReason, 'end_turn')
    assert.match(JSON.stringify(updates), 'from a person')
    await ask(editor, sessionId, 'what was that?')
    assert.match(textOfRequest(server.requests().at(-1)), 'from a person')
  }))

test('a model that fails, and a session that is not there, are errors that say why', () =>
  withEditor(async (editor) => {
    const { server } = editor
    server.mock.onMessage('fail', { error: { message: 'no key', type: 'x' }, status: 401 })
    const failed = await ask(editor, await begin(editor), 'fail').catch((error: unknown) => error)
    assert.match((failed as Error).message, 'does not accept the key')
    const missing = await ask(editor, 'conv_none', 'x').catch((error: unknown) => error)
    assert.match((missing as Error).message, 'There is no session')
  }))

test.run()
