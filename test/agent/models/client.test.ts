import { LLMock } from '@copilotkit/aimock'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createModel, mostTries } from '../../../lib/agent/models/client.ts'
import {
  type Message,
  type Model,
  type ModelEvent,
  textOf,
  type TurnEnd,
} from '../../../lib/agent/models/model.ts'
import { providerApis } from '../../../lib/protocol/configuration.ts'
import { withServerByHand } from '../../helpers/model-server.ts'

const tools = [
  {
    name: 'bash',
    description: 'Runs a command',
    inputSchema: {
      type: 'object' as const,
      properties: { command: { type: 'string' } },
      required: ['command'],
      additionalProperties: false as const,
    },
  },
]

type Api = (typeof providerApis)[number]

function openModel(api: Api, url: string, idleMs = 60_000) {
  const name = api === 'anthropic' ? 'claude-sonnet-4-5' : 'gpt-5-mini'
  const common = { keyEnv: null, key: 'k', usualModel: null, isLocal: false }
  return createModel({ name: 'test', api, baseUrl: `${url}/v1`, idleMs, ...common }, name)
}

async function ask(
  api: Api,
  url: string,
  question: string | Message[],
  signal = new AbortController().signal,
): Promise<{ events: ModelEvent[]; end: TurnEnd }> {
  const messages: Message[] =
    typeof question === 'string' ? [{ role: 'user', text: question }] : question
  const events: ModelEvent[] = []
  const model = openModel(api, url)
  for await (const event of model.turn(messages, tools, { system: 'Be brief.', signal })) {
    events.push(event)
  }
  const end = events.at(-1)
  if (end?.type !== 'end') throw new Error('the turn does not say why it ended')
  assert.is(events.filter(({ type }) => type === 'end').length, 1)
  return { events, end }
}

function streamed(events: ModelEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.delta : '')).join('')
}

function codeOf(end: TurnEnd): string {
  return end.reason === 'failed' ? end.error.code : end.reason
}

async function withMock(use: (mock: LLMock) => Promise<void>): Promise<void> {
  const mock = new LLMock({ port: 0, logLevel: 'silent' })
  await mock.start()
  try {
    await use(mock)
  } finally {
    await mock.stop()
  }
}

const answer = 'Grüße 🦪 from a <shell>, in several pieces.'

for (const api of providerApis) {
  test(`${api}: an answer is the same in pieces of any size`, () =>
    withMock(async (mock) => {
      for (const chunkSize of [1, 3, 1000]) {
        mock.onMessage(`size ${chunkSize} `, { content: answer }, { chunkSize })
        const { events, end } = await ask(api, mock.url, `size ${chunkSize} please`)
        assert.is(end.reason, 'answer')
        assert.is(streamed(events), answer)
      }
    }))

  test(`${api}: calls of tools come whole, one and many, also with wrong arguments`, () =>
    withMock(async (mock) => {
      const calls = [
        { name: 'bash', arguments: '{"command":"echo \\"a b\\""}', id: 'call_one' },
        { name: 'bash', arguments: '{"command":', id: 'call_two' },
      ]
      mock.onMessage('go', { content: 'I call.', toolCalls: calls }, { chunkSize: 2 })
      const { end } = await ask(api, mock.url, 'go')
      assert.is(end.reason, 'tools')
      if (end.reason !== 'tools') return
      const made = end.message.parts.filter((part) => part.type === 'tool_call')
      assert.equal(made[0]?.input, { command: 'echo "a b"' })
      assert.is(made.length, 2)
      assert.is.not(made[1]?.input?.['command'], 'echo')
    }))

  test(`${api}: reasoning and replies go back as the format wants them`, () =>
    withMock(async (mock) => {
      const call = { name: 'bash', arguments: '{"command":"ls"}', id: 'call_1' }
      mock.on(
        { userMessage: 'go', hasToolResult: false },
        {
          reasoning: 'I think about it.',
          toolCalls: [call],
        },
      )
      mock.on({ userMessage: 'go', hasToolResult: true }, { content: 'done' })
      const { end } = await ask(api, mock.url, 'go')
      if (end.reason !== 'tools') throw new Error(end.reason)
      const made = end.message.parts.find((part) => part.type === 'tool_call')
      const reply = { callId: made?.id ?? '', name: 'bash', text: 'a-file', isError: false }
      const { end: last } = await ask(api, mock.url, [
        { role: 'user', text: 'go' },
        end.message,
        { role: 'tool', replies: [reply] },
      ])
      assert.is(last.reason, 'answer')
      const sent = JSON.stringify(mock.getLastRequest()?.body)
      assert.match(sent, 'a-file')
    }))

  test(`${api}: failures are told by a code and one sentence, and not tried again in vain`, () =>
    withMock(async (mock) => {
      const fail = (status: number, message: string, code = 'x') => ({
        error: { message, type: 'error', code },
        status,
      })
      mock.onMessage('key', fail(401, 'Incorrect API key provided'))
      mock.onMessage('missing', fail(404, 'no such model'))
      mock.onMessage('long', fail(400, 'prompt is too long: 9 tokens > 8 maximum'))
      mock.onMessage('credit', fail(429, 'You exceeded your current quota', 'insufficient_quota'))
      mock.onMessage('odd', fail(400, 'messages.3: odd'))
      mock.onMessage('empty', { content: '' })
      const expected: [string, string, RegExp][] = [
        ['key', 'unauthorized', /does not accept the key \(401\): Incorrect API key/],
        ['missing', 'rejected', /no such model/],
        ['long', 'context_too_long', /too long/],
        ['credit', 'rate_limited', /credit/],
        ['odd', 'rejected', /messages\.3: odd/],
        ['empty', 'empty_answer', /without an answer/],
      ]
      for (const [question, code, message] of expected) {
        const { events, end } = await ask(api, mock.url, question)
        assert.is(codeOf(end), code)
        if (end.reason === 'failed') assert.match(end.error.message, message)
        assert.is(events.filter(({ type }) => type === 'retry').length, 0)
      }
    }))

  test(`${api}: a stream that is cut anywhere is never taken for an answer, but asked for again`, () =>
    withMock(async (mock) => {
      const content = 'one two three four five six seven'
      const asked = [9, 11, 14].map(async (cut) => {
        const question = { userMessage: `cut ${cut}.` }
        const brokenOff = { chunkSize: 2, latency: 10, truncateAfterChunks: cut }
        mock.on({ ...question, sequenceIndex: 0 }, { content }, brokenOff)
        mock.on({ ...question, sequenceIndex: 1 }, { content })
        const { events, end } = await ask(api, mock.url, question.userMessage)
        const at = events.findIndex(({ type }) => type === 'retry')
        assert.ok(content.startsWith(streamed(events.slice(0, at))), `cut after ${cut}`)
        assert.is(streamed(events.slice(at)), content)
        assert.is(end.reason === 'answer' && textOf(end.message), content)
      })
      await Promise.all(asked)
    }))

  test(`${api}: a slow answer is cancelled at once`, () =>
    withMock(async (mock) => {
      mock.onMessage('slow', { content: 'word '.repeat(60) }, { chunkSize: 5, latency: 50 })
      const stop = new AbortController()
      const model = openModel(api, mock.url)
      const events: ModelEvent[] = []
      const question: Message[] = [{ role: 'user', text: 'slow' }]
      const turn = model.turn(question, tools, { system: 's', signal: stop.signal })
      for await (const event of turn) {
        events.push(event)
        if (event.type === 'text') stop.abort()
      }
      const end = events.at(-1)
      assert.is(end?.type === 'end' && end.reason, 'cancelled')
    }))

  test(`${api}: too many requests are made again when the server says so`, () =>
    withMock(async (mock) => {
      mock.onMessage('busy', { content: 'at last' })
      mock.nextRequestError(429, { message: 'slow down' })
      const { events, end } = await ask(api, mock.url, 'busy')
      const retry = events.find((event) => event.type === 'retry')
      assert.ok((retry?.delayMs ?? 0) >= 1000)
      assert.is(end.reason, 'answer')
      assert.is(streamed(events), 'at last')
    }))
}

test('a server in trouble is asked again and again, as soon as it allows, and not for ever', () =>
  withServerByHand(
    ({ fail }) => fail(503, 'boom', { 'retry-after': '0' }),
    async (_home, requests, url) => {
      const { events, end } = await ask('openai-chat', url.replace('/v1', ''), 'hello')
      assert.is(codeOf(end), 'unavailable')
      assert.is(requests.length, mostTries)
      assert.is(events.filter(({ type }) => type === 'retry').length, mostTries - 1)
    },
  ))

/** The first time that it is asked again; the turn is left then. */
async function firstRetry(model: Model): Promise<Extract<ModelEvent, { type: 'retry' }>> {
  const { signal } = new AbortController()
  const question: Message[] = [{ role: 'user', text: 'hello' }]
  for await (const event of model.turn(question, tools, { system: 's', signal })) {
    if (event.type === 'retry') return event
  }
  throw new Error('it was not asked again')
}

test('a server that is not there, and one that sends nonsense, are asked again', () =>
  withMock(async (mock) => {
    mock.onMessage('hello', { content: 'x' }, { chaos: { malformedRate: 1 } })
    const models = providerApis.map((api) => openModel(api, mock.url))
    for (const model of [...models, openModel('openai-chat', 'http://127.0.0.1:9')]) {
      const { attempt, delayMs, message } = await firstRetry(model)
      assert.is(attempt, 1)
      assert.ok(delayMs >= 500 && delayMs <= 625, `${delayMs}`)
      assert.match(message, /connection|could not answer/)
    }
  }))

test('a server that falls silent, before its answer or within it, is a lost connection', () =>
  withServerByHand(
    ({ index, say }) => index > 0 && say({ content: 'Half' }),
    async (_home, _requests, url) => {
      const model = openModel('openai-chat', url.replace('/v1', ''), 200)
      const before = await firstRetry(model)
      assert.match(before.message, /^The connection to test failed: .*nothing has come for 0.2 s$/)
      const within = await firstRetry(model)
      assert.match(within.message, /nothing has come for 0.2 s; the unfinished answer is dropped$/)
    },
  ))

const pausesInWords: [string, number][] = [
  ['Please try again in 1.5s. Visit us.', 1500],
  ['Please try again in 6m0s.', 360_000],
  ['Please retry after 26 seconds', 26_000],
  ['Try again in 250ms', 250],
  ['Please retry in 34.074824224s.', 34_074],
  ['Please try again in 2 minutes.', 120_000],
]

test('a pause that a server asks for in words is kept', () =>
  withServerByHand(
    ({ index, fail }) => fail(429, `Too much. ${pausesInWords[index]?.[0]}`),
    async (_home, _requests, url) => {
      const model = openModel('openai-chat', url.replace('/v1', ''))
      for (const [words, ms] of pausesInWords) {
        const { delayMs } = await firstRetry(model)
        assert.ok(delayMs >= ms && delayMs <= ms * 1.26, `${words}: ${delayMs}`)
      }
    },
  ))

test('an answer that is filtered, and one that is too long, are no answers', () =>
  withMock(async (mock) => {
    mock.onMessage('filter', { content: '', finishReason: 'content_filter' })
    mock.onMessage('length', { content: 'half an answer', finishReason: 'length' })
    assert.is(codeOf((await ask('openai-chat', mock.url, 'filter')).end), 'refused')
    for (const api of ['openai-chat', 'anthropic'] as const) {
      assert.is(codeOf((await ask(api, mock.url, 'length')).end), 'answer_too_long')
    }
  }))

test('what a turn has used is counted, and its price where that is known', () =>
  withMock(async (mock) => {
    const usage = { prompt_tokens: 1000, completion_tokens: 100 }
    mock.onMessage('count', { content: 'counted', usage })
    const { end } = await ask('openai-chat', mock.url, 'count')
    assert.is(end.usage.inputTokens, 1000)
    assert.is(end.usage.outputTokens, 100)
    // gpt-5-mini: $0.25 and $2 a million.
    assert.ok(Math.abs((end.usage.costUsd ?? 0) - 0.00045) < 1e-9)
  }))

test('the stable head of a prompt and its end are marked for the cache of Anthropic', () =>
  withMock(async (mock) => {
    mock.onMessage('hello', { content: 'hi' })
    let sent = ''
    const { fetch } = globalThis
    globalThis.fetch = (input, init) => {
      sent = init?.body as string
      return fetch(input, init)
    }
    try {
      await ask('anthropic', mock.url, 'hello')
    } finally {
      globalThis.fetch = fetch
    }
    const { system, messages } = JSON.parse(sent) as Record<string, { content?: unknown }[]>
    const mark = '"cache_control":{"type":"ephemeral"}'
    assert.match(JSON.stringify(system), mark)
    assert.match(JSON.stringify(messages), mark)
  }))

test.run()
