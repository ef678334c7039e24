import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createConversationStore } from '../../../lib/agent/conversations/store.ts'
import { exportJson, exportMarkdown } from '../../../lib/agent/conversations/messages.ts'
import type { Message } from '../../../lib/agent/models/model.ts'

const said: Message[] = [
  { role: 'user', text: 'which files?' },
  {
    role: 'assistant',
    model: 'test/model',
    parts: [
      { type: 'reasoning', text: 'hm', opaque: { test: { someId: 1 } } },
      { type: 'tool_call', id: 'c1', name: 'bash', input: { command: 'ls', extraWord: true } },
    ],
  },
  { role: 'tool', replies: [{ callId: 'c1', name: 'bash', text: 'a ```b```\n', isError: false }] },
  { role: 'assistant', model: 'test/model', parts: [{ type: 'text', text: 'One: a.' }] },
]

function withFolder(use: (folder: string) => void): () => void {
  return () => {
    const folder = mkdtempSync(join(tmpdir(), 'conversations-'))
    try {
      use(folder)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }
}

const redact = (text: string) => text.replaceAll('sk-secret', '[key]')

test(
  'what was said comes back as it was, readable by nobody else',
  withFolder((folder) => {
    const store = createConversationStore({ folder, redact })
    const conversation = store.open({}, '/somewhere')
    const { id } = conversation
    for (const message of said) conversation.add(structuredClone(message))
    assert.equal(store.open({ resume: id }, '/').messages, said)
    assert.is(statSync(join(folder, `${id}.jsonl`)).mode & 0o777, 0o600)
    const [info] = store.list()
    assert.equal([info?.id, info?.title, info?.cwd], [id, 'which files?', '/somewhere'])
    assert.is(store.open({ continue: true }, '/somewhere').id, id)
    assert.throws(() => store.open({ continue: true }, '/elsewhere'), /no conversation to go on/)
  }),
)

test(
  'a file that was cut anywhere can be gone on with, and every call has its reply',
  withFolder((folder) => {
    const store = createConversationStore({ folder, redact })
    const conversation = store.open({}, '/')
    for (const message of said) conversation.add(structuredClone(message))
    const path = join(folder, `${conversation.id}.jsonl`)
    const whole = readFileSync(path)
    for (let length = 0; length <= whole.length; length += 7) {
      writeFileSync(path, whole.subarray(0, length))
      const opened = store.open({ resume: conversation.id }, '/')
      const calls = opened.messages.filter(
        (message) =>
          message.role === 'assistant' && message.parts.some(({ type }) => type === 'tool_call'),
      )
      assert.is(opened.messages.filter(({ role }) => role === 'tool').length, calls.length)
      opened.add({ role: 'user', text: 'go on' })
      assert.equal(store.open({ resume: conversation.id }, '/').messages.at(-1), {
        role: 'user',
        text: 'go on',
      })
    }
  }),
)

test(
  'a question without an answer is taken back, and no key is written',
  withFolder((folder) => {
    const store = createConversationStore({ folder, redact })
    const conversation = store.open({}, '/')
    conversation.add({ role: 'user', text: 'my key is sk-secret' })
    conversation.withdraw('failed with sk-secret')
    assert.equal(store.open({ resume: conversation.id }, '/').messages, [])
    assert.not.match(readFileSync(join(folder, `${conversation.id}.jsonl`), 'utf8'), 'sk-secret')
  }),
)

test(
  'an id that leads out of the folder, and one that is not there, are refused',
  withFolder((folder) => {
    const store = createConversationStore({ folder, redact })
    for (const id of ['../../etc/passwd', '', 'conv_', 'conv_aaaaaaaaaaaaaaaaaaaa']) {
      assert.throws(() => store.open({ resume: id }, '/'), /There is no conversation/)
    }
  }),
)

test(
  'a folder that cannot be written costs a notice, once',
  withFolder((folder) => {
    const blocked = join(folder, 'file')
    writeFileSync(blocked, '')
    const conversation = createConversationStore({ folder: join(blocked, 'x'), redact }).open(
      {},
      '/',
    )
    conversation.add({ role: 'user', text: 'lost' })
    assert.match(conversation.takeNotice() ?? '', 'cannot be kept')
    assert.is(conversation.takeNotice(), null)
    assert.is(conversation.messages.length, 1)
  }),
)

test(
  'an export holds questions, calls, results and answers, as Markdown and as JSON',
  withFolder((folder) => {
    const store = createConversationStore({ folder, redact })
    const conversation = store.open({}, '/')
    const { id } = conversation
    for (const message of said) conversation.add(structuredClone(message))
    const markdown = exportMarkdown(store.read(id))
    assert.match(markdown, '# which files?')
    assert.match(markdown, '```sh\nls\n```')
    assert.match(markdown, '````\na ```b```\n````')
    assert.match(markdown, 'One: a.')
    const json = exportJson(store.read(id)) as { id: string; messages: unknown[] }
    assert.is(json.id, id)
    assert.is(json.messages.length, 4)
  }),
)

test.run()
