import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../../helpers/cli.ts'
import type { Home } from '../../helpers/home.ts'
import { type HandRequest, withServerByHand } from '../../helpers/model-server.ts'
import { runCli } from '../../helpers/run-cli.ts'
import { hear, until } from '../../helpers/until.ts'

async function print(home: Home, ...args: string[]) {
  const { stdout, stderr, status } = await runCli(['-p', ...args, '--model', 'hand/m'], {
    cwd: home.workspace,
    env: home.env,
  })
  return { stdout: stdout.toString(), stderr: stderr.toString(), status }
}

async function begin(home: Home): Promise<string> {
  const { stdout } = await print(home, 'begin', '--output-format', 'json')
  return (JSON.parse(stdout) as { conversation_id: string }).conversation_id
}

const folderOf = (home: Home) => join(home.dir, 'state/nacre/conversations')

function answerPlainly({ say, end }: HandRequest, text = 'noted'): void {
  say({ content: text })
  end()
}

test('two prompts at once leave a conversation that can be gone on with: the second one is refused', () =>
  withServerByHand(
    (request) => {
      const last = request.messages.at(-1)
      if (last?.content !== 'slow') return answerPlainly(request)
      request.call('touch started; until [ -e go ]; do sleep 0.05; done; echo through')
      request.end('tool_calls')
    },
    async (home, requests) => {
      const id = await begin(home)
      const first = print(home, 'slow', '--resume', id)
      await until(() => existsSync(join(home.workspace, 'started')))
      for (const wanted of [['--resume', id], ['--continue']]) {
        const refused = await print(home, 'second', ...wanted)
        assert.is(refused.status, 1)
        assert.is(refused.stdout, '')
        assert.is(
          refused.stderr,
          'nacre: Another prompt of this conversation is being answered; wait until it has ended, or start a new conversation\n',
        )
      }
      const json = await print(home, 'second', '--continue', '--output-format', 'json')
      assert.is((JSON.parse(json.stdout) as { error: { code: string } }).error.code, 'busy')
      writeFileSync(join(home.workspace, 'go'), '')
      assert.is((await first).stdout, 'noted\n')
      assert.is((await print(home, 'third', '--resume', id)).status, 0)
      const sent = JSON.stringify(requests.at(-1)?.messages)
      assert.match(sent, 'through')
      assert.not.match(sent, 'cut off')
      assert.not.match(sent, 'second')
      assert.equal(readdirSync(folderOf(home)), [`${id}.jsonl`])
    },
  ))

test('of prompts that start at the same moment one is answered', () =>
  withServerByHand(answerPlainly, async (home) => {
    const id = await begin(home)
    const all = await Promise.all(
      ['one', 'two', 'three', 'four'].map((text) => print(home, text, '--resume', id)),
    )
    assert.ok(all.some(({ status }) => status === 0))
    for (const { status, stderr } of all) {
      if (status !== 0) assert.match(stderr, 'Another prompt of this conversation')
    }
    const file = readFileSync(join(folderOf(home), `${id}.jsonl`), 'utf8')
    const roles = [...file.matchAll(/"role":"(\w+)"/g)].map(([, role]) => role)
    const answered = all.filter(({ status }) => status === 0)
    assert.equal(
      roles,
      Array.from({ length: answered.length + 1 }, () => ['user', 'assistant']).flat(),
    )
  }))

test('a nacre that is killed in the middle of a prompt locks its conversation for nobody', () =>
  withServerByHand(
    (request) => {
      if (request.messages.at(-1)?.content !== 'hang') answerPlainly(request)
    },
    async (home, requests) => {
      const id = await begin(home)
      const [program = '', ...words] = cliCommand()
      const args = [...words, '-p', 'hang', '--model', 'hand/m', '--resume', id]
      const env = { ...process.env, ...home.env }
      const killed = spawn(program, args, { cwd: home.workspace, env, stdio: 'ignore' })
      const exited = hear(killed, 'exit')
      await until(() => requests.length === 2)
      assert.is((await print(home, 'beside', '--resume', id)).status, 1)
      killed.kill('SIGKILL')
      await exited
      assert.is((await print(home, 'after', '--resume', id)).stdout, 'noted\n')
      assert.equal(readdirSync(folderOf(home)), [`${id}.jsonl`])
    },
  ))

test('what another nacre has added is heard by one that holds the conversation open', () =>
  withServerByHand(answerPlainly, async (home, requests) => {
    const id = await begin(home)
    const [program = '', ...words] = cliCommand()
    const args = ['-p', '--input-format', 'lines', '--model', 'hand/m', '--resume', id]
    const held = spawn(program, [...words, ...args], {
      cwd: home.workspace,
      env: { ...process.env, ...home.env },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const closed = hear(held, 'close')
    held.stdin.write('first of the one\n')
    await hear(held.stdout, 'data')
    assert.is((await print(home, 'said by the other', '--resume', id)).status, 0)
    held.stdin.end('second of the one\n')
    held.stdout.resume()
    await closed
    const told = requests.at(-1)?.messages.map(({ content }) => content)
    assert.equal(told?.slice(1), [
      'begin',
      'noted',
      'first of the one',
      'noted',
      'said by the other',
      'noted',
      'second of the one',
    ])
  }))

const call = (id: string) => ({
  role: 'assistant',
  model: 'hand/m',
  parts: [{ type: 'tool_call', id, name: 'bash', input: { command: 'true' } }],
})
const reply = (id: string) => ({
  role: 'tool',
  replies: [{ call_id: id, name: 'bash', text: `of ${id}`, is_error: false }],
})
const user = (text: string) => ({ role: 'user', text })

/** The messages of damaged conversations, and the lines in between that are none. */
const damaged: Record<string, (object | string)[]> = {
  'two prompts that were mixed': [
    user('one'),
    user('two'),
    call('a'),
    call('b'),
    reply('a'),
    reply('b'),
    { role: 'assistant', model: 'hand/m', parts: [{ type: 'text', text: 'done' }] },
  ],
  'a reply whose call was lost': [user('one'), '{"type":"message","mess', reply('a')],
  'a call whose reply was lost, and the same id again': [
    user('one'),
    call('a'),
    user('two'),
    call('a'),
    reply('a'),
  ],
  'a reply that came twice': [user('one'), call('a'), reply('a'), reply('a')],
  'a question that was lost': ['{"type":"mess', call('a'), reply('a')],
  'messages without their content': [
    user('one'),
    { role: 'tool' },
    { role: 'assistant', model: 'hand/m' },
    { role: 'user' },
  ],
}

for (const [name, messages] of Object.entries(damaged)) {
  test(`a damaged conversation is taken by the provider: ${name}`, () =>
    withServerByHand(answerPlainly, async (home, requests) => {
      const id = await begin(home)
      const at = new Date().toISOString()
      const head = { type: 'conversation', id, at, cwd: home.workspace }
      const lines = messages.map((message) =>
        typeof message === 'string' ? message : JSON.stringify({ type: 'message', at, message }),
      )
      const path = join(folderOf(home), `${id}.jsonl`)
      writeFileSync(path, [JSON.stringify(head), ...lines].join('\n'))
      const { stdout, stderr } = await print(home, 'go on', '--resume', id)
      assert.is(stdout, 'noted\n', stderr)
      const [, first, ...rest] = requests.at(-1)?.messages ?? []
      assert.is(first?.role, 'user')
      const replies = rest.filter(({ role }) => role === 'tool').map(({ content }) => content)
      if (name.includes('mixed')) assert.equal(replies, ['of a', 'of b'])
      if (name.includes('same id')) assert.match(String(replies[0]), 'cut off')
      if (name.includes('same id')) assert.is(replies[1], 'of a')
    }))
}

test.run()
