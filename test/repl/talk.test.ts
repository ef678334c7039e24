import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
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
} from '../helpers/model-server.ts'
import { keys } from '../helpers/keys.ts'
import { atPrompt, type Screen } from '../helpers/screen.ts'

const [model] = models

/** The REPL on a terminal, with a model behind it. */
function withTalk(use: (screen: Screen, server: ModelServer) => Promise<void>): Promise<void> {
  return withModelServer((server) =>
    atPrompt(
      {
        args: ['--model', model],
        env: { TEST_MODEL_KEY: 'sk-0123456789', SHELL: '/bin/bash' },
        rows: 40,
        columns: 100,
        prepare(home) {
          const folder = join(home, 'config/nacre')
          mkdirSync(folder, { recursive: true })
          writeFileSync(join(folder, 'config.json'), readFileSync(server.home.userFile))
        },
      },
      (screen) => use(screen, server),
    ),
  )
}

function bash(command: string) {
  return { name: 'bash', arguments: JSON.stringify({ command }) }
}

test('an answer is drawn as Markdown, below what was run for it', () =>
  withTalk(async (screen, { mock }) => {
    mock.on({ userMessage: 'count', hasToolResult: false }, { toolCalls: [bash('echo one line')] })
    mock.on(
      { userMessage: 'count', hasToolResult: true },
      { content: '# Counted\n\n- **one** line' },
    )
    await screen.answers('count the lines\r', 'Counted')
    await screen.shows(/2 steps · [\d,]+ tokens in/)
    assert.match(screen.text(), /\$ echo one line\none line\n✓ exit 0 · /)
    assert.not.match(screen.text(), '**')
    await screen.answers('v\r', /^one line\n[^]*1–1 of 1/)
    screen.type('q')
  }))

test('a whole task is done from the prompt', () =>
  withTalk(async (screen, { mock }) => {
    prepareRepository(join(screen.home, 'code'))
    scriptRepair(mock)
    await screen.answers('repair the tests\r', repaired.replaceAll('`', ''))
    assert.match(readFileSync(join(screen.home, 'code/add.sh'), 'utf8'), '$1 + $2')
  }))

test('a model at work shows live output, is steered, and Esc stops it', () =>
  withTalk(async (screen, server) => {
    const { mock } = server
    mock.on(
      { userMessage: /begin/ },
      { toolCalls: [bash('echo ready; while [ ! -e go ]; do sleep 0.05; done')] },
    )
    mock.on({ userMessage: /turn round/ }, { toolCalls: [bash('echo second; sleep 1000')] })
    await screen.answers('begin\r', /^ready$/m)
    screen.type('turn round\r')
    writeFileSync(join(screen.home, 'code/go'), '')
    await screen.shows('» turn round')
    await screen.shows(/^second$/m)
    await screen.answers('\u001B', '✗ cancelled')
    await screen.shows('> ')
    mock.reset()
    mock.onMessage(/./, { content: 'still usable' })
    await screen.answers('are you there?\r', 'still usable')
  }))

/** A model at work on a command, which ends once the person has made a file. */
async function whileAtWork(
  screen: Screen,
  { mock }: ModelServer,
  use: () => Promise<void>,
): Promise<void> {
  mock.on(
    { userMessage: /begin/, hasToolResult: false },
    { toolCalls: [bash('echo ready; while [ ! -e go ]; do sleep 0.05; done')] },
  )
  mock.onMessage(/./, { content: 'all done' })
  await screen.answers('begin\r', /^ready$/m)
  await use()
}

test('a command and /cd run at once while a model works, and a program has the keys to its end', () =>
  withTalk((screen, server) =>
    whileAtWork(screen, server, async () => {
      await screen.answers('!echo mine\r', /! echo mine\nmine\n✓ exit 0/)
      await screen.answers('/jobs\r', 'running  echo ready')
      mkdirSync(join(screen.home, 'code/sub'))
      await screen.answers('/cd sub\r', '~/code/sub')
      await screen.answers(`!sh -c 'read -r line; echo heard $line'\r`, 'running')
      writeFileSync(join(screen.home, 'code/go'), '')
      await screen.shows('all done')
      await screen.answers('this\r', 'heard this')
      await screen.answers('!echo then\r', 'then\n✓ exit 0')
      assert.not.match(JSON.stringify(server.requests()), 'echo mine')
    }),
  ))

test('what is said to a model at work is seen until it is heard, and can be taken back', () =>
  withTalk((screen, server) =>
    whileAtWork(screen, server, async () => {
      await screen.answers('first words\r', /» first words\n[^]*» ?\n/)
      await screen.answers('more words\r', /» first words\n» more words\n[^]*» ?\n/)
      await screen.answers(keys.up, /» first words\n[^]*Esc stops\n» more words/)
      await screen.answers(' and better ones\r', /» first words\n» more words and better ones\n/)
      writeFileSync(join(screen.home, 'code/go'), '')
      await screen.shows('all done')
      const asked = textOfRequest(server.requests().at(-1))
      assert.match(asked, /first words[^]*more words and better ones/)
      assert.not.match(asked, /more words(?! and)/)
    }),
  ))

test('what a model was told and has not heard is on the line once it is stopped', () =>
  withTalk((screen, server) =>
    whileAtWork(screen, server, async () => {
      await screen.answers('unheard\r', /» unheard\n/)
      await screen.answers(keys.escape, '✗ cancelled')
      await screen.shows(/> unheard\n~\/code/)
    }),
  ))

test('/quit leaves while a model works', () =>
  withTalk((screen, server) =>
    whileAtWork(screen, server, async () => {
      screen.type('/quit\r')
      assert.is((await screen.exited).exitCode, 0)
    }),
  ))

test('what a person ran goes before the next message', () =>
  withTalk(async (screen, server) => {
    server.mock.onMessage(/./, { content: 'seen' })
    await screen.answers('!echo by hand\r', '✓ exit 0')
    await screen.answers('what was that?\r', 'seen')
    assert.match(textOfRequest(server.requests().at(-1)), 'by hand')
  }))

test('/share lets the model read a job, and with write stop it', () =>
  withTalk(async (screen, { mock }) => {
    const said: string[] = []
    const call = (action: string, id: string) => ({
      toolCalls: [{ name: 'bash_job', arguments: JSON.stringify({ action, job_id: id }) }],
    })
    mock.onMessage(/./, ({ messages }) => {
      const text = JSON.stringify(messages.findLast(({ role }) => role === 'user')?.content)
      const [id = ''] = /run_[a-z2-7]{20}/.exec(text) ?? ['run_aaaaaaaaaaaaaaaaaaaa']
      const last = messages.at(-1)
      if (last?.role !== 'tool') return call('kill', id)
      said.push(JSON.stringify(last.content))
      return { content: `answer ${said.length}` }
    })
    await screen.answers('!!echo started; sleep 1000\r', 'started\nrunning')
    await screen.answers(keys.ctrl('b'), /%1 \d/)
    await screen.answers('/share %9\r', 'No such job goes on')
    await screen.answers('/share %1 all\r', '/share %n lets the model read it')
    await screen.answers('stop it\r', 'answer 1')
    await screen.answers('/share %1\r', 'Shared with your next prompt, to read: run_')
    await screen.answers('stop it now\r', 'answer 2')
    await screen.answers('/share %1 write\r', 'Shared with your next prompt, to write: run_')
    await screen.answers('stop it then\r', 'answer 3')
    assert.match(said[0] ?? '', 'There is no job')
    assert.match(said[1] ?? '', 'is yours to read only')
    assert.match(said[2] ?? '', 'was stopped')
  }))

test('a conversation is listed, exported and gone on with', () =>
  withTalk(async (screen, server) => {
    server.mock.onMessage(/./, { content: 'noted' })
    await screen.answers('the word is pearl\r', 'noted')
    await screen.answers('/export talk.md\r', 'Written: ')
    assert.match(readFileSync(join(screen.home, 'code/talk.md'), 'utf8'), 'the word is pearl')
    await screen.answers('/resume\r', /the word is pearl .*conv_[a-z2-7]{20}/)
    await screen.answers('pearl\r', /Going on with conv_[a-z2-7]{20} \(2 messages\)/)
    await screen.answers('/model nope/x\r', 'Unknown provider `nope`')
  }))

test.run()
