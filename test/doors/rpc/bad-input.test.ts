import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { methods } from '../../../lib/doors/rpc/methods.ts'
import { maxLineBytes, rpcMethods } from '../../../lib/protocol/rpc/methods.ts'
import type { Shape } from '../../../lib/protocol/shape/shape.ts'
import { toSnakeCase } from '../../../lib/protocol/wire.ts'
import { cliRuntime } from '../../helpers/cli.ts'
import { createState, type Message, type RpcProcess, startRpc, withRpc } from '../../helpers/rpc.ts'
import { isAlive } from '../../helpers/terminal-run.ts'
import { testTogether } from '../../helpers/together.ts'

function errorOf(message: Message): { code: number; message: string; data: Message } {
  return message['error'] as ReturnType<typeof errorOf>
}

async function assertAnswers(rpc: RpcProcess): Promise<void> {
  assert.ok('result' in (await rpc.call('shell.list')))
}

/** Values that this shape refuses. */
function wrongValues(shape: Shape): unknown[] {
  const kinds: unknown[] = [null, true, 5, 'text', [], {}, [5]]
  if (shape.enum) return kinds
  switch (shape.type) {
    case 'string': {
      const wrong = kinds.filter((value) => typeof value !== 'string')
      return shape.minLength ? [...wrong, ''] : wrong
    }
    case 'boolean':
      return kinds.filter((value) => typeof value !== 'boolean')
    case 'number':
    case 'integer': {
      const { minimum: min, exclusiveMinimum: above, maximum: max } = shape
      const bounds = [
        min === undefined ? [] : min - 1,
        above ?? [],
        max === undefined ? [] : max + 1,
      ]
      const wrong = [...bounds.flat(), ...(shape.type === 'integer' ? [1.5, 1e300] : [])]
      return [...kinds.filter((value) => typeof value !== 'number'), ...wrong]
    }
    case 'object':
      return kinds.filter((value) => typeof value !== 'object' || Array.isArray(value) || !value)
    case 'array':
      return kinds.filter((value) => !Array.isArray(value) || value.length > 0)
    default:
      return shape.anyOf ? [true, [], {}] : []
  }
}

const fieldsOf = (name: string): [string, Shape][] => {
  return Object.entries(rpcMethods[name as keyof typeof rpcMethods].params.properties)
}

test('a wrong value of any field of any method is refused by the name of the field', () =>
  withRpc(async (rpc) => {
    let count = 0
    for (const name of methods.keys()) {
      for (const [field, shape] of fieldsOf(name)) {
        const wireName = toSnakeCase(field)
        for (const value of wrongValues(shape)) {
          count++
          const { code, data } = errorOf(await rpc.call(name, { [wireName]: value }))
          const told = `${name} ${wireName} ${JSON.stringify(value)}`
          assert.is(code, -32_602, told)
          assert.is(String(data['field']).replace('[0]', ''), wireName, told)
        }
      }
    }
    assert.ok(count > 500, `${count}`)
    await assertAnswers(rpc)
  }))

test('an unknown or missing field is named', () =>
  withRpc(async (rpc) => {
    for (const name of methods.keys()) {
      const { additionalProperties, required } = rpcMethods[name as keyof typeof rpcMethods].params
      if (additionalProperties === false) {
        const unknown = errorOf(await rpc.call(name, { nonsense: 1 }))
        assert.is(unknown.code, -32_602, name)
        assert.is(unknown.data['field'], 'nonsense', name)
      }
      if (required.length === 0) continue
      const missing = errorOf(await rpc.call(name, {}))
      assert.is(missing.code, -32_602, name)
      assert.is(missing.data['code'], 'missing_field', name)
    }
  }))

test('a field that another one, or its own meaning, forbids is named as on the wire', () =>
  withRpc(async (rpc) => {
    const wrong: [Record<string, unknown>, string][] = [
      // The guard would not see such a command.
      [{ command: 'true', shell_options: ['-c', 'rm -rf /'] }, 'shell_options'],
      [{ args: ['true'], shell_options: ['errexit'] }, 'shell_options'],
      [{ command: 'true', array: '2', open_stdin: true }, 'open_stdin'],
      [{ command: 'true', env: { A: 'a\0b' } }, 'env.A'],
    ]
    for (const [params, field] of wrong) {
      const { code, data } = errorOf(await rpc.call('shell.start', params))
      assert.equal([code, data['field']], [-32_602, field])
    }
  }))

test('the nearest name is the one that goes on, or is spelled nearly so', () =>
  withRpc(async (rpc) => {
    for (const [field, hint] of [
      ['timeout', '; did you mean `timeout_seconds`?'],
      ['wait', '; did you mean `wait_seconds`?'],
      ['Comand', '; did you mean `command`?'],
      ['x', ''],
    ] as const) {
      const params = { command: 'true', [field]: 5 }
      const { message } = errorOf(await rpc.call('shell.exec', params))
      assert.is(message, `Unknown field \`${field}\`${hint}`)
    }
  }))

test('parameters must be an object', () =>
  withRpc(async (rpc) => {
    for (const params of [[], [1], 'x', 5, true, null]) {
      assert.is(errorOf(await rpc.call('shell.list', params)).code, -32_602)
    }
  }))

test('what is no request gets -32600, in the id that it has', () =>
  withRpc(async (rpc) => {
    const wrong: [unknown, unknown][] = [
      [{}, null],
      [{ id: 1 }, 1],
      [{ jsonrpc: '2.0', id: 2 }, 2],
      [{ jsonrpc: '1.0', id: 3, method: 'shell.list' }, 3],
      [{ jsonrpc: '2.0', id: 4, method: 5 }, 4],
      [{ jsonrpc: '2.0', id: {}, method: 'shell.list' }, null],
      [{ jsonrpc: '2.0', id: [1], method: 'shell.list' }, null],
      [{ jsonrpc: '2.0', id: true, method: 'shell.list' }, null],
      [5, null],
      ['text', null],
      [null, null],
      [[], null],
      [[1], null],
    ]
    for (const [message, id] of wrong) {
      rpc.send(message)
      assert.is(errorOf(await rpc.response(id)).code, -32_600, JSON.stringify(message))
    }
    await assertAnswers(rpc)
  }))

test('ids of every kind that JSON-RPC has come back as they came', () =>
  withRpc(async (rpc) => {
    for (const id of [0, -1, 1.5, 1e21, '', 'x', '1', 1, '\u2028', null]) {
      rpc.send({ jsonrpc: '2.0', id, method: 'shell.list' })
      assert.ok('result' in (await rpc.response(id)))
    }
  }))

test('an id that is under way is refused, and the request under way is answered', () =>
  withRpc(async (rpc) => {
    const request = { jsonrpc: '2.0', id: 1, method: 'shell.exec' }
    rpc.send({ ...request, params: { command: 'sleep 1000', stream: true } })
    await rpc.next((message) => message['method'] === 'shell.started')
    rpc.send({ ...request, params: { command: 'true' } })
    assert.is(errorOf(await rpc.response(1)).code, -32_600)
    rpc.send({ jsonrpc: '2.0', method: '$/cancel', params: { id: 1 } })
    const { result } = await rpc.response(1)
    assert.is((result as Message)['status'], 'stopped')
    // The id is free again.
    rpc.send({ ...request, params: { command: 'true' } })
    assert.is(((await rpc.response(1))['result'] as Message)['exit_code'], 0)
  }))

test('batches are answered whole, without notifications', () =>
  withRpc(async (rpc) => {
    rpc.send([
      { jsonrpc: '2.0', id: 1, method: 'shell.list' },
      { jsonrpc: '2.0', method: 'shell.list' },
      { jsonrpc: '2.0', id: 2, method: 'nope' },
      7,
    ])
    assert.ok('result' in (await rpc.response(1)))
    assert.is(errorOf(await rpc.response(2)).code, -32_601)
    assert.is(errorOf(await rpc.response(null)).code, -32_600)
    rpc.send([{ jsonrpc: '2.0', method: 'shell.list' }])
    await assertAnswers(rpc)
    assert.is(rpc.received.length, 4)
  }))

test('a search that is cancelled is told so, not called a fault of nacre', () =>
  withRpc(async (rpc) => {
    const ran = await rpc.call('shell.exec', { command: 'seq 20000' })
    const { stdout_cache_id: id } = ran['result'] as Message
    const search = { name: 'artifact', arguments: { id, grep: 'x' } }
    // Of one batch, so that the search is under way and has not ended.
    rpc.send([
      { jsonrpc: '2.0', id: 'search', method: 'tool.call', params: search },
      { jsonrpc: '2.0', method: '$/cancel', params: { id: 'search' } },
    ])
    const { code, data } = errorOf(await rpc.response('search'))
    assert.equal({ code, data }, { code: -32_000, data: { code: 'cancelled' } })
    await assertAnswers(rpc)
  }))

test('lines that are no JSON get -32700, and the connection goes on', () =>
  withRpc(async (rpc) => {
    const lines = [
      '{"jsonrpc":"2.0","id":1,"method":"shell.list"',
      '{"jsonrpc":"2.0",}',
      'nonsense',
      '{"jsonrpc":"2.0","id":1}{"jsonrpc":"2.0","id":2}',
      '\u2028',
      '[',
    ]
    for (const line of lines) {
      rpc.sendRaw(`${line}\n`)
      assert.is(errorOf(await rpc.response(null)).code, -32_700, line)
    }
    rpc.sendRaw('\n  \n\r\n')
    await assertAnswers(rpc)
  }))

test('invalid UTF-8 gets -32700', () =>
  withRpc(async (rpc) => {
    for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf0, 0x9f]]) {
      const head = Buffer.from(
        '{"jsonrpc":"2.0","id":1,"method":"shell.exec","params":{"command":"',
      )
      rpc.sendRaw(Buffer.concat([head, Buffer.from(bytes), Buffer.from('"}}\n')]))
      assert.is(errorOf(await rpc.response(null)).code, -32_700)
    }
    await assertAnswers(rpc)
  }))

test('U+2028 and U+2029 belong to the text', () =>
  withRpc(async (rpc) => {
    const { result } = await rpc.call('shell.exec', { command: "printf '%s' 'a\u2028b\u2029c'" })
    assert.is((result as Message)['stdout'], 'a\u2028b\u2029c')
  }))

test('a line of 64 MiB and one byte is refused without being held', () =>
  withRpc(async (rpc) => {
    const piece = Buffer.alloc(1024 * 1024, 'x')
    const write = (bytes: Uint8Array | string) =>
      new Promise((resolve) => rpc.child.stdin?.write(bytes, resolve))
    for (let sent = 0; sent < maxLineBytes; sent += piece.length) await write(piece)
    await write('x')
    assert.is(errorOf(await rpc.response(null)).code, -32_700)
    await write('the rest of that line\n')
    await assertAnswers(rpc)
    assert.is(rpc.received.length, 2)
  }))

test('a line of exactly 64 MiB is read', () =>
  withRpc(async (rpc) => {
    const head = '{"jsonrpc":"2.0","id":1,"method":"shell.input","params":{"id":"x","data":"'
    const tail = '"}}'
    rpc.sendRaw(head + 'x'.repeat(maxLineBytes - head.length - tail.length) + tail)
    rpc.sendRaw('\n')
    assert.is(errorOf(await rpc.response(1)).data['code'], 'not_found')
  }))

test('a batch whose answers are too long for one line gets those that fit, and an error for each other one', () =>
  withRpc(async (rpc) => {
    const command = "head -c 25000000 /dev/zero | tr '\\0' x | fold -w 1000"
    const params = { command, max_bytes: 1e9, max_lines: 1e9, artifact: 'never' }
    const method = 'shell.exec'
    rpc.send([1, 2, 3].map((id) => ({ jsonrpc: '2.0', id, method, params })))
    const answers = await Promise.all([1, 2, 3].map((id) => rpc.response(id)))
    const told = answers.map(({ result, error }) =>
      error
        ? (error as { data: Message }).data['code']
        : String((result as Message)['stdout']).length,
    )
    assert.equal(told.map(String).sort(), ['25024999', '25024999', 'answer_too_long'])
    await assertAnswers(rpc)
  }))

test('a line that would take many times its memory is refused before it is read', () =>
  withRpc(async (rpc) => {
    const cases: [string, RegExp][] = [
      [`${'['.repeat(5_000_000)}\n`, /more than 500 levels/],
      [`${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}\n`, /more than 500 levels/],
      [`[${'1,'.repeat(5_000_000)}1]\n`, /more than 1000000 values/],
      [`[${'1,'.repeat(20_000)}1]\n`, /more than 10000 requests/],
    ]
    for (const [line, why] of cases) {
      rpc.sendRaw(line)
      const refused = await rpc.next((message) => message['id'] === null)
      assert.match(errorOf(refused).message, why)
    }
    await assertAnswers(rpc)
  }))

test('brackets and commas within a text are no levels and no values', () =>
  withRpc(async (rpc) => {
    const text = `${'['.repeat(2000)}"\\${','.repeat(2_000_000)}\u2028`
    const stdin = JSON.stringify(text)
    const command = 'wc -c'
    rpc.sendRaw(
      `{"jsonrpc":"2.0","id":1,"method":"shell.exec","params":{"command":"${command}","stdin":${stdin}}}\n`,
    )
    const { result } = await rpc.response(1)
    assert.is(Number((result as Message)['stdout']), Buffer.byteLength(text))
  }))

test('a name that no variable can have is refused by the name of the field', () =>
  withRpc(async (rpc) => {
    for (const name of ['A b', '1A', '', 'A=B', 'A\0']) {
      const params = { command: 'true', env: { [name]: 'x' } }
      const { code, data, message } = errorOf(await rpc.call('shell.exec', params))
      assert.is(code, -32_602, name)
      assert.is(data['field'], 'env', name)
      assert.match(message, /cannot be a name in `env`/)
    }
  }))

test('the end of the input in the middle of a line is the end', () =>
  withRpc(async (rpc) => {
    rpc.sendRaw('{"jsonrpc":"2.0","id":1,"me')
    assert.is(await rpc.end(), 0)
    assert.is(errorOf(rpc.received[0] ?? {}).code, -32_700)
  }))

test('a last line without its LF is a line', () =>
  withRpc(async (rpc) => {
    rpc.sendRaw('{"jsonrpc":"2.0","id":1,"method":"shell.list"}')
    assert.is(await rpc.end(), 0)
    assert.ok('result' in (rpc.received[0] ?? {}))
  }))

const started = (message: Message) => message['method'] === 'shell.started'
const pidOf = (message: Message) => (message['params'] as { pid: number }).pid

test('a client that dies takes its commands along', async () => {
  const state = createState()
  const rpc = startRpc(['--rpc'], state.env)
  const params = { command: 'yes', stream: true }
  rpc.send({ jsonrpc: '2.0', id: 1, method: 'shell.exec', params })
  const pid = pidOf(await rpc.next(started))
  rpc.child.stdout?.destroy()
  rpc.child.stdin?.destroy()
  assert.is(await rpc.ended, 0)
  assert.not(isAlive(pid))
  state.remove()
})

// Deno writes to standard output on the thread that runs the program, which hears nothing meanwhile.
if (cliRuntime() === 'deno') {
  console.log('SKIP a client that stops reading: Deno waits in every write until the client reads')
}

testTogether({
  async 'what was asked before the end of the input is answered, also when it takes a moment'() {
    await withRpc(async (rpc) => {
      const params = { command: 'sleep 0.5; echo hi' }
      rpc.send({ jsonrpc: '2.0', id: 1, method: 'shell.exec', params })
      assert.is(await rpc.end(), 0)
      assert.is(((await rpc.response(1))['result'] as Message)['stdout'], 'hi\n')
    })
  },
  async 'at the end of the input everything is stopped but jobs'() {
    const pids: number[] = []
    await withRpc(async (rpc) => {
      const run = { command: 'sleep 1000; true', stream: true }
      rpc.send({ jsonrpc: '2.0', id: 1, method: 'shell.exec', params: run })
      rpc.send({ jsonrpc: '2.0', id: 2, method: 'shell.start', params: run })
      rpc.send({ jsonrpc: '2.0', id: 3, method: 'shell.exec', params: { ...run, session: 's' } })
      for (let count = 0; count < 3; count++) pids.push(pidOf(await rpc.next(started)))
      assert.is(await rpc.end(), 0)
      const { result } = await rpc.response(1)
      assert.is((result as Message)['reason'], 'shutdown')
      assert.is(pids.filter(isAlive).length, 1)
    })
    assert.equal(pids.filter(isAlive), [])
  },
  ...(cliRuntime() !== 'deno' && {
    async 'a client that stops reading and closes its input does not hold nacre'() {
      const state = createState()
      const rpc = startRpc(['--rpc'], state.env)
      const params = { command: 'yes', stream: true }
      rpc.send({ jsonrpc: '2.0', id: 1, method: 'shell.exec', params })
      const pid = pidOf(await rpc.next(started))
      rpc.child.stdout?.pause()
      const exited = new Promise((resolve) => rpc.child.once('exit', resolve))
      rpc.child.stdin?.end()
      assert.is(await exited, 0)
      assert.not(isAlive(pid))
      rpc.child.stdout?.destroy()
      await rpc.ended
      state.remove()
    },
  }),
})

test('SIGTERM stops the commands and is the end', async () => {
  const state = createState()
  const rpc = startRpc(['--rpc'], state.env)
  rpc.send({
    jsonrpc: '2.0',
    id: 1,
    method: 'shell.exec',
    params: { command: 'sleep 1000', stream: true },
  })
  const pid = pidOf(await rpc.next(started))
  rpc.child.kill('SIGTERM')
  assert.is(await rpc.ended, 143)
  assert.not(isAlive(pid))
  state.remove()
})

test('SIGINT to nacre ends its commands by INT first', async () => {
  const state = createState()
  const rpc = startRpc(['--rpc'], state.env)
  // A bash that starts or forks may pass over an INT without a trap.
  const command = "trap 'echo int; exit 3' INT; echo up; while :; do sleep 0.1; done"
  rpc.send({ jsonrpc: '2.0', id: 1, method: 'shell.exec', params: { command, stream: true } })
  await rpc.next(
    ({ method, params }) => method === 'shell.output' && /up/.test(JSON.stringify(params)),
  )
  rpc.child.kill('SIGINT')
  const result = (await rpc.response(1))['result'] as Message
  assert.equal([result['reason'], result['stdout']], ['shutdown', 'up\nint\n'])
  await rpc.ended
  state.remove()
})

test.run()
