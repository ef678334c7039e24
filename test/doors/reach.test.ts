import { basename, dirname } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ClientOptions } from '../../lib/client.ts'
import { type Home, openHome } from '../helpers/jobs.ts'
import { models, withModelServer } from '../helpers/model-server.ts'
import {
  type Answer,
  askModel,
  type Call,
  callOf,
  promptModel,
  withMcp,
  withRpc,
} from '../helpers/model-doors.ts'
import { runCli } from '../helpers/run-cli.ts'
import { findObstacle } from '../helpers/sandbox-places.ts'
import { until } from '../helpers/until.ts'

/** Nothing has these ids. */
const noJob = 'run_aaaaaaaaaaaaaaaaaaaa'
const noArtifact = 'art_aaaaaaaaaaaaaaaaaaaa'

/** What a person has: a shell that runs as a job, and the kept output of a command. */
async function preparePerson(home: Home): Promise<{ job: string; artifact: string }> {
  const job = await home.start('echo up; cat', '--pty')
  const kept = await home.json(['-c', 'echo of a person', '--artifact', 'always'])
  return { job, artifact: (kept['artifact'] as { id: string }).id }
}

const idIn = ({ text }: Pick<Answer, 'text'>) => /run_[a-z2-7]{20}/.exec(text)?.[0] ?? text
const jobId = async (call: Call, args: object) =>
  idIn(await call('bash', { mode: 'background', ...args }))

/** Whatever a model does to them, these are for it as if they did not exist. */
async function assertOutOfReach(
  call: Call,
  { job, artifact }: { job: string; artifact: string },
): Promise<void> {
  assert.not.match((await call('bash_job', { action: 'list' })).text, job)
  const acts: [name: string, args: object][] = [
    ['bash_job', { action: 'read' }],
    ['bash_job', { action: 'wait', wait_seconds: 0.1 }],
    ['bash_job', { action: 'write', text: 'echo typed by a model\n' }],
    ['bash_job', { action: 'kill' }],
  ]
  for (const [name, args] of acts) {
    const [other, none] = await Promise.all(
      [job, noJob].map((id) => call(name, { ...args, job_id: id })),
    )
    assert.ok(other?.isError, `${JSON.stringify(args)}: ${other?.text}`)
    assert.is(other?.text.replaceAll(job, noJob), none?.text)
    assert.match(other?.text ?? '', /There is no job .* `action: "list"` shows/)
  }
  for (const args of [{}, { grep: 'person' }]) {
    for (const form of [artifact, `artifact://${artifact}`]) {
      const other = await call('artifact', { id: form, ...args })
      const none = await call('artifact', { id: form.replace(artifact, noArtifact), ...args })
      assert.ok(other.isError)
      assert.is(other.text.replaceAll(artifact, noArtifact), none.text)
      assert.match(other.text, /No such artifact: .*; the result of the command/)
    }
  }
}

async function assertUntouched(home: Home, job: string): Promise<void> {
  const shown = await home.json(['job', 'show', job])
  assert.is(shown['status'], 'running')
  assert.not.match((await home.run(['job', 'read', job])).stdout.toString(), 'typed by a model')
}

const test = suite<{ home: Home }>('what a model reaches')
test.before.each((context) => {
  context.home = openHome()
})
test.after.each(({ home }) => home.close())

test('over MCP a model neither sees, types into nor stops what a person has started', async ({
  home,
}) => {
  const person = await preparePerson(home)
  await withMcp(home, async (call, client) => {
    await assertOutOfReach(call, person)
    assert.equal((await client.listResources()).resources, [])
    const uri = `artifact://${person.artifact}`
    const failure = await client.readResource({ uri }).catch((error: unknown) => error)
    assert.match(String(failure), 'No such artifact')

    const own = await jobId(call, { command: 'read x; echo "got $x"; sleep 300', pty: true })
    assert.match((await call('bash_job', { action: 'list' })).text, own)
    assert.match((await home.run(['job', 'list'])).stdout.toString(), own)
    assert.is(
      (await call('bash_job', { action: 'write', job_id: own, text: 'hi\n' })).text,
      '(written)',
    )
    let read = ''
    await until(
      async () => {
        read = (await call('bash_job', { action: 'read', job_id: own })).text
        return read.includes('got hi')
      },
      () => read,
    )
    assert.match((await call('bash_job', { action: 'kill', job_id: own })).text, 'was stopped')
    const cut = await call('bash', { command: 'seq 5000' })
    const [kept = ''] = /art_[a-z2-7]{20}/.exec(cut.text) ?? []
    assert.match((await call('artifact', { id: kept, tail: 1 })).text, /^5000/)
    const { resources } = await client.listResources()
    assert.ok(resources.some(({ name }) => name === kept))
    const artifacts = (await home.json(['artifact', 'list']))['artifacts'] as { id: string }[]
    for (const id of [kept, person.artifact]) assert.ok(artifacts.some((it) => it.id === id))
  })
  await assertUntouched(home, person.job)
})

test('two connections of MCP do not reach each other', ({ home }) =>
  withMcp(home, (one) =>
    withMcp(home, async (other) => {
      const job = await jobId(one, { command: 'echo up; cat', pty: true })
      const cut = await one('bash', { command: 'seq 5000' })
      const [artifact = ''] = /art_[a-z2-7]{20}/.exec(cut.text) ?? []
      await assertOutOfReach(other, { job, artifact })
      assert.match((await one('bash_job', { action: 'list' })).text, `${job}  running`)
      assert.match((await one('artifact', { id: artifact, tail: 1 })).text, /^5000/)
    }),
  ))

test('what a model types into its own job passes the guard', ({ home }) =>
  withMcp(home, async (call) => {
    const job = await jobId(call, { command: "trap '' INT; echo up; cat >/dev/null", pty: true })
    const type = (text: string) => call('bash_job', { action: 'write', job_id: job, text })
    const denied: [text: string, why: RegExp][] = [
      ['rm -rf /\n', /Denied, nothing was written: rm-critical: .* named folder/],
      ['\u0015rm -rf /\r', /rm-critical/],
      ['cd src\ngit add -A\n', /git-add-blind/],
      ['rm -rf $NACRE_NOBODY\n', /Nobody can be asked here; if it is meant, the user can run it/],
    ]
    for (const [text, why] of denied) {
      const answer = await type(text)
      assert.ok(answer.isError, text)
      assert.match(answer.text, why)
    }
    // What other programs read is no shell's.
    const passed = [
      'ls\n',
      'print("it\'s")\n',
      'def f(x):\n',
      'y',
      '\r',
      '\u0003',
      ':wq\n',
      "it's\n",
    ]
    for (const text of passed) assert.is((await type(text)).text, '(written)', text)
    const { text } = await call('bash_job', { action: 'read', job_id: job })
    assert.not.match(text, 'rm -rf')
  }))

test('over RPC the tools of a model reach neither jobs nor sessions of the same process', async ({
  home,
}) => {
  const asked: string[] = []
  const onApproval: ClientOptions['onApproval'] = ({ command }) => {
    asked.push(command)
    return asked.length > 1
  }
  const person = await preparePerson(home)
  await withRpc(
    home,
    async (call, client) => {
      await assertOutOfReach(call, person)
      const started = await client.request('shell.start', { command: 'sleep 300' })
      await assertOutOfReach(call, { ...person, job: started.id })

      await client.request('shell.exec', { command: 'x=person', session: 'one' })
      const of = async (command: string) =>
        (await call('bash', { command, session: 'one' })).text.split('\n')[0]
      assert.is(await of('echo "[$x]"; x=model'), '[]')
      assert.is(await of('echo "[$x]"'), '[model]')
      const seen = await client.request('shell.exec', { command: 'echo $x', session: 'one' })
      assert.is(seen.stdout, 'person\n')

      const own = await jobId(call, { command: 'cat', pty: true })
      const text = 'rm -rf $NACRE_NOBODY\n'
      const write = () => call('bash_job', { action: 'write', job_id: own, text })
      assert.match((await write()).text, 'Denied, nothing was written')
      assert.is((await write()).text, '(written)')
      assert.equal(asked, [text.trim(), text.trim()])
      const { jobs } = await client.request('shell.list', {})
      for (const id of [person.job, started.id, own]) assert.ok(jobs.some((it) => it.id === id))

      // What the client's own command has left may be told to its model.
      const ran = await client.request('shell.exec', { command: 'seq 20000' })
      const read = await call('artifact', { id: ran.stdout_cache_id, head: 1 })
      assert.match(read.text, /^1\n/)
    },
    { onApproval },
  )
  await assertUntouched(home, person.job)
})

test('a conversation reaches its own runs, also later, and none of a person or another one', ({
  home,
}) =>
  withModelServer(async (server) => {
    Object.assign(server.home.env, home.env)
    const person = await preparePerson(home)
    const foreign = (job: string, artifact: string) =>
      [
        ['bash_job', { action: 'list' }],
        ['bash_job', { action: 'read', job_id: job }],
        ['bash_job', { action: 'write', job_id: job, text: 'echo typed by a model\n' }],
        ['bash_job', { action: 'kill', job_id: job }],
        ['artifact', { id: artifact }],
      ] as const
    const own = ['bash', { command: 'seq 5000' }] as const
    const first = await askModel(server, 'first prompt', [
      ...foreign(person.job, person.artifact),
      own,
    ])
    assert.not.match(first.replies[0] ?? '', person.job)
    for (const reply of first.replies.slice(1, 4)) assert.match(reply, 'There is no job')
    assert.match(first.replies[4] ?? '', 'No such artifact')
    const [kept = ''] = /art_[a-z2-7]{20}/.exec(first.replies[5] ?? '') ?? []

    const read = ['artifact', { id: kept, tail: 1 }] as const
    const other = await askModel(server, 'another prompt', [read])
    assert.match(other.replies[0] ?? '', 'No such artifact')
    const resume = ['--resume', first.conversation]
    const resumed = await askModel(server, 'later prompt', [read], resume)
    assert.match(resumed.replies[0] ?? '', /^5000/)

    // A job too, while another process holds it.
    const start = JSON.stringify({ command: 'echo up; sleep 300', mode: 'background' })
    server.mock.onMessage('start a job', ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? { content: messages.at(-1)?.content as string }
        : { toolCalls: [{ name: 'bash', arguments: start }] },
    )
    const env = { ...server.home.env, NACRE_MODEL: models[0] } as Record<string, string>
    await withRpc({ ...home, env }, async (_, client) => {
      const told = await client.request('prompt', { text: 'start a job' })
      const { text = '', conversation_id: conversation = '' } = told
      const kill = ['bash_job', { action: 'kill', job_id: idIn({ text }) }] as const
      const refused = await askModel(server, 'stop it from elsewhere', [kill])
      assert.match(refused.replies[0] ?? '', 'There is no job')
      const killed = await askModel(server, 'stop it', [kill], ['--resume', conversation])
      assert.match(killed.replies[0] ?? '', 'was stopped')
    })
    await assertUntouched(home, person.job)
  }))

test('what a person hands to a conversation by name is in its reach, but is no way out of the sandbox', ({
  home,
}) =>
  withModelServer(async (server) => {
    Object.assign(server.home.env, home.env)
    const { job, artifact } = await preparePerson(home)
    const read = ['bash_job', { action: 'read', job_id: job }] as const
    const type = (text: string) => ['bash_job', { action: 'write', job_id: job, text }] as const
    const prompt = `look at ${job} and ${artifact}`
    const calls = [read, type('echo typed by a model\n'), ['artifact', { id: artifact }]] as const
    const { replies, conversation } = await askModel(server, prompt, calls)
    assert.match(replies[0] ?? '', 'up')
    assert.match(replies[1] ?? '', 'runs outside of your sandbox')
    assert.match(replies[2] ?? '', 'of a person')
    await assertUntouched(home, job)

    const resume = ['--resume', conversation]
    const later = await askModel(server, 'and later', [read], resume)
    assert.match(later.replies[0] ?? '', 'up')
    const open = [...resume, '--sandbox', 'off']
    const typed = await askModel(server, 'type now', [type('rm -rf /\n'), type('true\n')], open)
    assert.match(typed.replies[0] ?? '', 'Denied, nothing was written: rm-critical')
    assert.match(typed.replies[1] ?? '', '(written)')

    // So is what a command of the person's has left.
    server.mock.onMessage('what came of it', ({ messages }) => {
      const last = messages.at(-1)
      if (last?.role === 'tool') return { content: `It is ${last.content as string}` }
      const [id = ''] = /art_[a-z2-7]{20}/.exec(last?.content as string) ?? []
      return { toolCalls: [{ name: 'artifact', arguments: JSON.stringify({ id, tail: 1 }) }] }
    })
    const lines = ['-p', '--input-format', 'lines', '--model', models[0], '--quiet']
    const input = '!seq 20000\nwhat came of it\n'
    const told = await runCli(lines, { cwd: server.home.workspace, env: server.home.env, input })
    assert.match(told.stdout.toString(), 'It is 20000')

    // What the model itself says hands nothing to it.
    const self = await askModel(server, 'a prompt of its own', [
      ['bash', { command: `echo ${job}` }],
      read,
    ])
    assert.match(self.replies[1] ?? '', 'There is no job')
  }))

if ((await findObstacle()) === null) {
  const sandboxed = ['--sandbox', 'workspace']
  const bash = (command: string, more: object = {}) => ['bash', { command, ...more }] as const
  const logIn = (text = '') => /\/\S+\.log/.exec(text)?.[0] ?? text

  test('two models and a person side by side found each other in /tmp, by a path or in /proc', ({
    home,
  }) =>
    withModelServer(async (server) => {
      const env = { ...server.home.env, ...home.env, NACRE_MODEL: models[0] }
      const keep = (name: string) => [
        `echo secret of ${name} >/tmp/${name}; seq 5000`,
        `exec -a secret-of-${name} sleep 300`,
      ]
      await withRpc(
        { ...home, env },
        async (call, client) => {
          const [write = '', hold = ''] = keep('tool')
          const ofTool = logIn((await call('bash', { command: write })).text)
          await call('bash', { command: hold, mode: 'background', session: 'one' })
          const person = keep('person')
          const said = await client.request('shell.exec', { command: person[0] ?? '' })
          await client.request('shell.start', { command: person[1] ?? '' })
          const ofPerson = ofTool.replace(/art_[a-z2-7]{20}/, said.stdout_cache_id ?? 'none')
          const look = (paths: string[]) =>
            `ls /tmp; for at in ${paths.join(' ')}; do cat <$at | head -n 2; done; grep -la secret-of[-] /proc/*/cmdline; ls ${dirname(ofTool)}`
          const replies = await promptModel(server, client, 'look around', [
            bash(look([ofTool, ofPerson])),
            bash('seq 6000; echo mine >/tmp/prompt'),
          ])
          const [seen = '', kept = ''] = replies
          for (const path of [ofTool, ofPerson]) {
            assert.match(seen, `${path}: No such file or directory`)
            assert.not.match(seen.replaceAll(`${path}: No such`, ''), basename(path))
          }
          assert.not.match(seen, /^(?:tool|person)$|cmdline/m)
          const again = await call('bash', { command: look([logIn(kept), ofPerson, ofTool]) })
          assert.match(again.text, `${logIn(kept)}: No such file or directory`)
          assert.match(again.text, /^tool\n[^]*^1\n2\n/m)
          assert.not.match(again.text, /^(?:prompt|person)$|^6000$/m)
        },
        { flags: sandboxed, cwd: server.home.workspace },
      )
    }))

  test('the path of the first output that a conversation kept was not there in its sandbox', ({
    home,
  }) =>
    withModelServer(async (server) => {
      Object.assign(server.home.env, home.env)
      let told = ''
      server.mock.onMessage('keep it', ({ messages }) => {
        const last = messages.at(-1)
        if (last?.role !== 'tool') return { toolCalls: [callOf(bash('seq 5000'))] }
        const path = logIn(last.content as string)
        if (told !== '') return { content: last.content as string }
        told = path
        return { toolCalls: [callOf(bash(`tail -n 1 ${path}`))] }
      })
      const { stdout } = await runCli(['-p', ...sandboxed, '--model', models[0], 'keep it'], {
        cwd: server.home.workspace,
        env: server.home.env,
      })
      assert.match(stdout.toString(), /^5000/)
    }))
}

test.run()
