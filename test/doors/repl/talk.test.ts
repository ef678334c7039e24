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
} from '../../helpers/model-server.ts'
import { atPrompt, type Screen } from '../../helpers/screen.ts'

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
    assert.match(screen.text(), '$ echo one line')
    assert.match(screen.text(), '✓ [exit status 0]')
    assert.not.match(screen.text(), '**')
    await screen.answers('/usage\r', 'from the cache')
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
    await screen.answers('begin\r', '  ready')
    screen.type('turn round\r')
    writeFileSync(join(screen.home, 'code/go'), '')
    await screen.shows('» turn round')
    await screen.shows('  second')
    await screen.answers('\u001B', '✗ cancelled')
    await screen.shows('> ')
    mock.reset()
    mock.onMessage(/./, { content: 'still usable' })
    await screen.answers('are you there?\r', 'still usable')
  }))

test('what a person ran goes before the next message', () =>
  withTalk(async (screen, server) => {
    server.mock.onMessage(/./, { content: 'seen' })
    await screen.answers('!echo by hand\r', '✓ exit 0')
    await screen.answers('what was that?\r', 'seen')
    assert.match(textOfRequest(server.requests().at(-1)), 'by hand')
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
