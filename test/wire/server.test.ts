import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { whenAborted } from '../../lib/protocol/deferred.ts'
import { maxLineBytes } from '../../lib/protocol/rpc/methods.ts'
import { createCaller, RpcError } from '../../lib/wire/client.ts'
import { createConnection, receiveMessages } from '../../lib/wire/connection.ts'
import { createRpcServer, type Method, type WireCall } from '../../lib/wire/server.ts'

type Answer = Record<string, unknown>

const text = 'x'.repeat(10_000_000)
const methods = new Map<string, Method<WireCall>>([
  ['echo', async (given) => given],
  ['long', async (given) => text.repeat((given as { times: number }).times)],
  [
    'wait',
    async (_, { signal }) => {
      await whenAborted(signal)
      throw signal.reason
    },
  ],
  ['cancel', async (given, call) => call.cancel(given as number, { interrupt: false })],
])

/** A server, and what it has sent. */
function serve() {
  const input = new PassThrough()
  const output = new PassThrough()
  const connection = createConnection({
    closed: false,
    write: (lines) => new Promise((resolve) => output.write(lines, () => resolve())),
  })
  const rpc = createRpcServer({ connection, methods, prepare: (call) => call })
  const ended = receiveMessages(input, connection, rpc)
  let sent = ''
  output.on('data', (chunk: Buffer) => (sent += chunk.toString()))
  return {
    input,
    output,
    /** Gives the lines that were sent, once all that was asked is answered. */
    async end(): Promise<unknown[]> {
      input.end()
      await ended
      await rpc.idle()
      await connection.end()
      return sent.split('\n').flatMap((line): unknown[] => (line === '' ? [] : [JSON.parse(line)]))
    },
  }
}

async function ask(...lines: unknown[]): Promise<unknown[]> {
  const server = serve()
  for (const line of lines) {
    server.input.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`)
  }
  return server.end()
}

const request = (id: unknown, method: string, params?: unknown) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})

/** Cuts bytes at these places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % bytes.length))].sort((a, b) => a - b)
  return [0, ...at].map((from, index) => bytes.subarray(from, at[index]))
}

const places = fc.array(fc.nat(), { maxLength: 20 })
const values = fc.array(fc.record({ text: fc.string({ unit: 'binary' }), number: fc.integer() }), {
  minLength: 1,
  maxLength: 8,
})

test('messages are the same however their bytes are cut', () =>
  fc.assert(
    fc.asyncProperty(values, places, async (given, cuts) => {
      const server = serve()
      const lines = given.map((params, id) => `${JSON.stringify(request(id, 'echo', params))}\n`)
      for (const chunk of cut(Buffer.from(`\n \r\n${lines.join('')}`), cuts))
        server.input.write(chunk)
      const answers = (await server.end()) as Answer[]
      const results = answers
        .sort((one, other) => Number(one['id']) - Number(other['id']))
        .map(({ result }) => result)
      assert.equal(results, JSON.parse(JSON.stringify(given)))
    }),
  ))

test('a client hears the same however the bytes of its server are cut', () =>
  fc.assert(
    fc.asyncProperty(values, places, async (given, cuts) => {
      const input = new PassThrough()
      const heard: unknown[] = []
      const streams = { input, output: new PassThrough() }
      const onNotification = async ({ params }: { params: unknown }) => void heard.push(params)
      const caller = createCaller(streams, { onNotification }, () => undefined)
      const answered = caller.request('session.list', {})
      const told = given.map((params) => ({ jsonrpc: '2.0', method: 'shell.output', params }))
      const lines = [...told, { jsonrpc: '2.0', id: 1, result: given }].map(
        (message) => `${JSON.stringify(message)}\n`,
      )
      for (const chunk of cut(Buffer.from(lines.join('')), cuts)) input.write(chunk)
      assert.equal(await answered, JSON.parse(JSON.stringify(given)))
      assert.equal(heard, JSON.parse(JSON.stringify(given)), 'before the answer, in order')
    }),
  ))

test('a batch is answered in one line, without its notifications', async () => {
  const echo = request(1, 'echo', { a: 1 })
  const { id: _, ...notification } = echo
  const [answers] = (await ask([echo, notification, 7, request('x', 'nothing')])) as Answer[][]
  assert.equal(
    answers?.map(({ id, error }) => [id, (error as Answer | undefined)?.['code']]),
    [
      [1, undefined],
      [null, -32_600],
      ['x', -32_601],
    ],
  )
  assert.equal(await ask([notification, notification]), [])
  assert.match(JSON.stringify(await ask([])), '-32600')
})

test('a line that is no message is answered, and the connection goes on', async () => {
  const answers = (await ask('{"jsonrpc"', '[1', request(2, 'echo', {}))) as Answer[]
  const codes = answers.map(({ id, error }) => [id, (error as Answer | undefined)?.['code']])
  assert.equal(codes, [
    [null, -32_700],
    [null, -32_700],
    [2, undefined],
  ])
})

test('a cancel does not wait for the request that it cancels', async () => {
  const answers = (await ask(request(1, 'wait'), request(2, 'cancel', 1))) as Answer[]
  assert.equal(answers.find(({ id }) => id === 2)?.['result'], true)
  const { error } = answers.find(({ id }) => id === 1) as Answer
  assert.equal((error as Answer)['data'], { code: 'cancelled' })
})

test('an answer over the limit of a line is an error, and others are not', async () => {
  const times = Math.floor(maxLineBytes / text.length)
  const answers = (await ask(
    request(1, 'long', { times: times + 1 }),
    request(2, 'long', { times }),
    [request(3, 'long', { times }), request(4, 'long', { times })],
  )) as (Answer | Answer[])[]
  const isTooLong = answers
    .flat()
    .map(({ id, error }) => [id, JSON.stringify(error ?? '').includes('answer_too_long')])
  assert.equal(
    isTooLong.sort(([one], [other]) => Number(one) - Number(other)),
    [
      [1, true],
      [2, false],
      [3, false],
      [4, true],
    ],
  )
})

test('nothing is taken while a notification is, and a failure there ends the connection', async () => {
  const input = new PassThrough()
  const heard: unknown[] = []
  let isOver = false
  const caller = createCaller(
    { input, output: new PassThrough() },
    {
      async onNotification({ params }) {
        heard.push(params)
        await new Promise((resolve) => setImmediate(resolve))
        if (heard.length === 2) throw new Error('no room')
      },
    },
    () => (isOver = true),
  )
  const asked = caller.request('session.list', {}).catch((error: unknown) => error)
  const tell = (n: number) => ({ jsonrpc: '2.0', method: 'shell.output', params: n })
  input.write([1, 2].map((n) => `${JSON.stringify(tell(n))}\n`).join(''))
  const error = await asked
  assert.instance(error, RpcError)
  assert.match(String(error), 'no room')
  assert.equal([heard, isOver], [[1, 2], true])
})

test.run()
