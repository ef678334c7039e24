import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Message, type RpcProcess, withRpc } from '../../helpers/rpc.ts'

const words = ['--mode', 'rpc', '--provider', 'x', '--model', 'y', '--no-session']

function isResponse(command: string) {
  return (message: Message) => message['type'] === 'response' && message['command'] === command
}

async function ask(rpc: RpcProcess, message: Message): Promise<Message> {
  rpc.send(message)
  return rpc.next(isResponse(message['type'] as string))
}

test('an id of any kind comes back as it came, and none where there was none', () =>
  withRpc(async (rpc) => {
    for (const id of ['a', '', 0, 7.5, null, true, [1, { a: 'b' }], { x: 1 }]) {
      assert.equal((await ask(rpc, { type: 'abort', id }))['id'], id)
    }
    assert.not('id' in (await ask(rpc, { type: 'abort' })))
  }, words))

test('a line that cannot be read is answered as parse, and the connection goes on', () =>
  withRpc(async (rpc) => {
    rpc.sendRaw('{"type":"bash","command":\n')
    const refused = await rpc.next(isResponse('parse'))
    assert.is(refused['success'], false)
    assert.match(refused['error'] as string, /^Failed to parse command: /)
    assert.not('id' in refused)
    await ask(rpc, { type: 'abort' })
    rpc.sendRaw('nonsense\n')
    await rpc.next(isResponse('parse'))
    assert.is((await ask(rpc, { type: 'abort' }))['success'], true)
  }, words))

test('a line that holds no command is answered as parse where its flags ask for the dialect', () =>
  withRpc(async (rpc) => {
    for (const line of ['null', '5', '"text"', '{"type":', 'garbage', '\u0000']) {
      rpc.sendRaw(`${line}\n`)
      const refused = await rpc.next(() => true)
      assert.equal([refused['command'], refused['success']], ['parse', false], line)
    }
    assert.is((await ask(rpc, { type: 'abort' }))['success'], true)
  }, words))

test('wrong arguments and unknown commands are failures that say why', () =>
  withRpc(async (rpc) => {
    const wrong: [Message, RegExp][] = [
      [{ type: 'bash' }, /`command` (?:must be|is missing)/],
      [{ type: 'bash', command: 5 }, /`command` (?:must be|is missing)/],
      [{ type: 'bash', command: '  ' }, /empty/],
      [{ type: 'bash', command: 'rm -rf /' }, /rm-critical/],
      [{ type: 'prompt' }, /`message` must be/],
      [{ type: 'prompt', message: 'hello' }, /Unknown provider `x`/],
      [{ type: 'prompt', message: '!' }, /bang command is empty/],
      [{ type: 'steer', message: 'x' }, /Unknown provider `x`/],
      [{ type: 'nope' }, /Unknown command: nope/],
    ]
    for (const [message, why] of wrong) {
      const response = await ask(rpc, { ...message, id: 1 })
      assert.is(response['success'], false)
      assert.match(response['error'] as string, why)
      assert.is(response['id'], 1)
    }
  }, words))

const commands = [
  ...['bash', 'abort_bash', 'prompt', 'steer', 'follow_up', 'abort', 'new_session', 'get_state'],
  ...['get_messages', 'get_last_assistant_text', 'get_commands'],
  ...['set_model', 'get_available_models', 'cycle_model'],
]

test('every command answers whatever its arguments are', () =>
  withRpc(async (rpc) => {
    for (const type of commands) {
      for (const value of [null, 5, {}, [], '']) {
        const response = await ask(rpc, {
          type,
          command: value,
          message: value,
          name: value,
          level: value,
          mode: value,
          enabled: value,
          provider: value,
          modelId: value,
        })
        assert.type(response['success'], 'boolean')
      }
    }
  }, words))

test('a command ended by a signal has no exitCode', () =>
  withRpc(async (rpc) => {
    const { data } = await ask(rpc, { type: 'bash', command: 'kill -9 $$' })
    assert.equal(data, { output: '', cancelled: false, truncated: false })
  }, words))

test('both dialects speak on one connection', () =>
  withRpc(async (rpc) => {
    rpc.send({ type: 'bash', command: 'echo a', id: 1 })
    const shell = await rpc.call('shell.exec', { command: 'echo b' })
    const bash = await rpc.next(isResponse('bash'))
    assert.is((shell['result'] as Message)['stdout'], 'b\n')
    assert.is((bash['data'] as Message)['output'], 'a\n')
  }))

test.run()
