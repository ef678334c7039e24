import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../../helpers/cli.ts'
import type { Home } from '../../helpers/home.ts'
import { type HandRequest, withServerByHand } from '../../helpers/model-server.ts'
import { runCli } from '../../helpers/run-cli.ts'
import { runProgram } from '../../helpers/run-program.ts'
import { startTerminal } from '../../helpers/terminal-run.ts'

async function print(home: Home, args: string[], input?: string) {
  const { stdout, stderr, status } = await runCli(['-p', ...args, '--model', 'hand/m'], {
    cwd: home.workspace,
    env: home.env,
    ...(input !== undefined && { input }),
  })
  return { stdout: stdout.toString(), stderr: stderr.toString(), status }
}

const repliesIn = ({ messages }: HandRequest) => messages.filter(({ role }) => role === 'tool')

/** Says it as slowly as a busy server does: what is dribbled takes longer than a second. */
async function dribble({ say }: HandRequest, text: string): Promise<void> {
  for (const word of text.split(/(?<= )/)) {
    say({ content: word })
    await delay(200)
  }
}

test('stdout holds the answer and nothing else, however slowly the words before a call came', () =>
  withServerByHand(
    async (request) => {
      if (repliesIn(request).length > 0) {
        await dribble(request, 'The answer is forty two now')
        return request.end()
      }
      await dribble(request, 'I will look at the folder first. ')
      request.call('echo hi')
      request.end('tool_calls')
    },
    async (home) => {
      const command = 'x=$("$@" -p go --no-session --model hand/m); printf "[%s]" "$x"'
      const runs = Array.from({ length: 6 }, () =>
        runProgram('bash', ['-c', command, 'x', ...cliCommand()], {
          cwd: home.workspace,
          env: home.env,
        }),
      )
      for (const { stdout, stderr } of await Promise.all(runs)) {
        assert.is(stdout.toString(), '[The answer is forty two now]')
        assert.is(stderr.toString(), 'nacre: I will look at the folder first.\nnacre: $ echo hi\n')
      }
    },
  ))

test('an answer that is cut, and then refused, leaves no half of it on stdout', () =>
  withServerByHand(
    async (request) => {
      if (request.index > 0) return request.fail(401, 'the key has expired')
      await dribble(request, 'This is the first half of the ')
      request.response.socket?.end()
    },
    async (home) => {
      const { stdout, stderr, status } = await print(home, ['go'])
      assert.is(stdout, '')
      assert.is(status, 1)
      assert.match(stderr, /; the unfinished answer is dropped; trying again in 0\.\d s\n/)
      assert.match(stderr, /does not accept the key \(401\): the key has expired\n$/)
    },
  ))

/** Ways in which a server breaks off an answer that it has begun. */
const breaks: Record<string, (request: HandRequest) => unknown> = {
  'an overload': ({ response }) =>
    response.end('data: {"error":{"message":"Overloaded","type":"overloaded_error"}}\n\n'),
  'an error of a proxy': ({ response }) =>
    response.end('data: {"error":{"message":"Provider disconnected","code":502}}\n\n'),
  'an end that is an error': ({ say, response }) => {
    say({})
    response.write('data: {"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}\n\n')
    response.end('data: [DONE]\n\n')
  },
  'a lost connection': ({ response }) => response.socket?.end(),
}

for (const [name, breakOff] of Object.entries(breaks)) {
  test(`a turn is repeated that ${name} has ended in the middle, and what ran before is not`, () =>
    withServerByHand(
      async (request) => {
        if (repliesIn(request).length === 0) {
          request.call('echo x >> ran; cat ran')
          return request.end('tool_calls')
        }
        // Bun drops the beginning of an answer that comes together with the end of its connection.
        await dribble(request, 'Half an ')
        if (request.index < 2) return void breakOff(request)
        request.say({ content: 'answer is not whole.' })
        request.end()
      },
      async (home, requests) => {
        const { stdout, stderr, status } = await print(home, ['go'])
        assert.is(stdout, 'Half an answer is not whole.\n', stderr)
        assert.is(status, 0)
        assert.match(stderr, /; the unfinished answer is dropped; trying again in 0\.\d s\n/)
        assert.is(requests.length, 3)
        assert.is(repliesIn(requests[2] as HandRequest)[0]?.content, 'x\n[exit status 0]')
      },
    ))
}

test('a terminal shows where an answer was broken off, before it shows the whole one', () =>
  withServerByHand(
    async (request) => {
      await dribble(request, 'Half an')
      if (request.index === 0) return void request.response.socket?.end()
      request.say({ content: ' answer.' })
      request.end()
    },
    async (home) => {
      const words = [...cliCommand(), '-p', 'go', '--quiet', '--model', 'hand/m']
      const shown = await startTerminal(words.map((word) => `'${word}'`).join(' '), {
        cwd: home.workspace,
        env: {
          HOME: home.dir,
          XDG_CONFIG_HOME: join(home.dir, '.config'),
          XDG_STATE_HOME: join(home.dir, 'state'),
        },
      })
      const exit = await shown.exited
      assert.is(exit.code, 0, shown.text())
      assert.is(shown.text(), 'Half an [broken off]\r\nHalf an answer.\r\n')
    },
  ))

test('a session of the model stays in the directory to which it has changed', () =>
  withServerByHand(
    (request) => {
      const commands = ['cd sub; X=5', 'echo "$PWD $X"']
      const command = commands[repliesIn(request).length]
      if (command === undefined) {
        request.say({ content: String(repliesIn(request).at(-1)?.content) })
        return request.end()
      }
      request.call(command, { session: 'work' })
      request.end('tool_calls')
    },
    async (home) => {
      mkdirSync(join(home.workspace, 'sub'))
      const { stdout, stderr } = await print(home, ['go'])
      assert.is(stdout, `${join(home.workspace, 'sub')} 5\n[exit status 0]\n`, stderr)
    },
  ))

const longInput = Array.from({ length: 100_000 }, (_, line) =>
  line === 50_000 ? 'the needle is here' : `line ${line} of the input`,
).join('\n')

for (const words of [['find the needle'], []]) {
  const how = words.length > 0 ? 'beside words' : 'as the prompt'
  test(`nothing of a large standard input is lost: the model sees both ends and searches the rest (${how})`, () =>
    withServerByHand(
      (request) => {
        const { messages, say, end } = request
        const [reply] = repliesIn(request)
        if (reply) {
          say({ content: String(reply.content) })
          return end()
        }
        const question = String(messages.at(-1)?.content)
        const id = /art_[a-z2-7]{20}/.exec(question)?.[0]
        const called = { name: 'artifact', arguments: JSON.stringify({ id, grep: 'needle' }) }
        say({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: called }] })
        end('tool_calls')
      },
      async (home, requests) => {
        const { stdout, stderr } = await print(home, words, longInput)
        assert.is(stdout, '50001:the needle is here\n', stderr)
        const question = String(requests[0]?.messages.at(-1)?.content)
        assert.ok(question.length < 20_000)
        assert.match(question, /line 0 of the input\nline 1 of/)
        assert.match(question, /line 99998 of the input\nline 99999 of the input/)
        assert.match(question, `${Buffer.byteLength(longInput)} bytes in 100000 lines`)
      },
    ))
}

test('a large standard input that cannot be kept is refused, not cut', () =>
  withServerByHand(
    ({ end }) => end(),
    async (home, requests) => {
      home.write(join(home.dir, 'state/nacre/artifacts'), 'no folder')
      const { stdout, stderr, status } = await print(home, ['read'], longInput)
      assert.is(status, 125)
      assert.is(stdout, '')
      assert.match(stderr, /must be kept as an artifact, and cannot be: /)
      assert.is(requests.length, 0)
    },
  ))

test('a standard input of ordinary size goes into the prompt whole', () =>
  withServerByHand(
    ({ say, end }) => {
      say({ content: 'read' })
      end()
    },
    async (home, requests) => {
      const input = 'é'.repeat(16_000)
      await print(home, ['read'], input)
      assert.is(requests[0]?.messages.at(-1)?.content, `<stdin>\n${input}\n</stdin>\n\nread`)
      assert.not.ok(readdirSync(join(home.dir, 'state/nacre')).includes('artifacts'))
    },
  ))

test.run()
