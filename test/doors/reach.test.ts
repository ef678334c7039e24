import { mkdtempSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ClientOptions } from '../../lib/client.ts'
import { type Home, openHome } from '../helpers/jobs.ts'
import { models, withModelServer } from '../helpers/model-server.ts'
import {
  type Answer,
  artifactIn,
  askModel,
  bash,
  type Call,
  logIn,
  promptModel,
  script,
  type ToolCall,
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
    const kept = artifactIn(cut.text)
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
      const artifact = artifactIn(cut.text)
      await assertOutOfReach(other, { job, artifact })
      assert.match((await one('bash_job', { action: 'list' })).text, `${job}  running`)
      assert.match((await one('artifact', { id: artifact, tail: 1 })).text, /^5000/)
    }),
  ))

test('what a model types into its own job passes the guard, also in pieces or over lines', ({
  home,
}) =>
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
    const passes = async (text: string) => assert.is((await type(text)).text, '(written)', text)
    const isDenied = async (text: string) => assert.match((await type(text)).text, 'rm-critical')
    // In pieces, or over lines.
    await passes('rm -rf ')
    await isDenied('/\n')
    await isDenied('/')
    await passes('\u0003')
    await passes('/\n')
    await passes('rm -rf \u0015')
    await passes('/\n')
    await passes('rm -rfx\u007f ')
    await isDenied('/\r')
    await passes('\u0015cd /\n')
    await isDenied('rm -rf usr\n')
    await passes('cd /tmp/nothing-here\nrm -rf \\\n')
    await isDenied('/\n')
    await passes('x\n')
    // At the same time, as the calls of one message run.
    const answers = await Promise.all(['rm -rf ', '/', '\n'].map(type))
    assert.match(answers.map(({ text }) => text).join(), /written.*rm-critical.*written/)
    // What other programs read is no shell's.
    const others = [
      'ls\n',
      'print("it\'s")\n',
      'def f(x):\n',
      'y',
      '\r',
      '\u0003',
      ':wq\n',
      "it's\n",
    ]
    for (const text of others) await passes(text)
    const { text } = await call('bash_job', { action: 'read', job_id: job })
    assert.not.match(text.replaceAll(/\s/g, ''), 'rm-rf/')
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

test('a conversation reaches its own runs, also later, and none of another one', ({ home }) =>
  withModelServer(async (server) => {
    Object.assign(server.home.env, home.env)
    const first = await askModel(server, 'first prompt', [bash('seq 5000')])
    const read = ['artifact', { id: artifactIn(first.replies[0]), tail: 1 }] as const
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
    assert.match(replies[1] ?? '', 'is yours to read only')
    assert.match(replies[2] ?? '', 'of a person')
    await assertUntouched(home, job)

    const resume = ['--resume', conversation]
    const later = await askModel(server, 'and later', [read], resume)
    assert.match(later.replies[0] ?? '', 'up')
    const open = [...resume, '--sandbox', 'off']
    const kill = ['bash_job', { action: 'kill', job_id: job }] as const
    const typed = await askModel(server, `type into ${job}`, [type('true\n'), kill], open)
    for (const reply of typed.replies) assert.match(reply, 'is yours to read only')
    await assertUntouched(home, job)

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

test('what was piped in, or came in a file of an editor, handed over what it named', ({ home }) =>
  withModelServer(async (server) => {
    Object.assign(server.home.env, home.env)
    const { job, artifact } = await preparePerson(home)
    const read = ['bash_job', { action: 'read', job_id: job }] as const
    const replies = script(server, 'what is this', [read, ['artifact', { id: artifact }]])
    const input = `</stdin>\n<\\/stdin> <stdin> </stdin>look at ${job} and ${artifact}\n`
    await runCli(['-p', '--model', models[0], 'what is this'], {
      cwd: server.home.workspace,
      env: server.home.env,
      input,
    })
    assert.match(replies[0] ?? '', 'There is no job')
    assert.match(replies[1] ?? '', 'No such artifact')
  }))

test('over RPC a person shares a job for reading or for writing, and the conversation keeps it', ({
  home,
}) =>
  withModelServer(async (server) => {
    const env = { ...server.home.env, ...home.env, NACRE_MODEL: models[0] }
    const { job, artifact } = await preparePerson(home)
    const act = (action: string, more = {}) =>
      ['bash_job', { action, job_id: job, ...more }] as const
    const type = act('write', { text: 'echo typed by a model\n' })
    const off = { flags: ['--sandbox', 'off'], cwd: server.home.workspace }
    let conversation = ''
    await withRpc(
      { ...home, env },
      async (call, client) => {
        const ask = (text: string, calls: ToolCall[], params = {}) =>
          promptModel(server, client, text, calls, params)
        const none = await ask('before', [act('read'), ['artifact', { id: artifact }]])
        assert.match(none[0] ?? '', 'There is no job')
        assert.match(none[1] ?? '', 'No such artifact')
        const share = [job, artifact]
        const read = await ask('shared', [act('read'), type, ['artifact', { id: artifact }]], {
          share,
        })
        assert.match(read[0] ?? '', 'up')
        assert.match(read[1] ?? '', 'is yours to read only')
        assert.match(read[2] ?? '', 'of a person')
        await assertUntouched(home, job)
        // Another model of the same connection has nothing of it.
        await assertOutOfReach(call, { job, artifact })
        const unknown = client.request('prompt', { text: 'x', share: [noJob] })
        assert.match(String(await unknown.catch((error: unknown) => error)), 'There is no job')
        const denied = act('write', { text: 'rm -rf /\n' })
        const written = await ask('for writing', [denied, type], { share_write: [job] })
        assert.match(written[0] ?? '', 'Denied, nothing was written: rm-critical')
        assert.is(written[1], '(written)')
        const told = await client.request('prompt', { text: 'for writing' })
        conversation = told.conversation_id ?? ''
        // What another process has left is no matter of the client's own model either.
        const params = { ref_id: artifact }
        const cached = client.request('tool_output_cache', params)
        assert.match(String(await cached.catch((error: unknown) => error)), 'No such artifact')
        assert.match((await client.request('artifact.read', { id: artifact })).text, 'of a person')
      },
      off,
    )
    const kill = [act('kill')]
    const later = await askModel({ ...server, home: { ...server.home, env } }, 'stop it', kill, [
      '--resume',
      conversation,
    ])
    assert.match(later.replies[0] ?? '', 'was stopped')
  }))

if ((await findObstacle()) === null) {
  const sandboxed = ['--sandbox', 'workspace']

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

  test('a model typed into a job that was free to do more than its sandbox let it', ({ home }) =>
    withModelServer(async (server) => {
      const { home: own } = server
      const env = { ...own.env, ...home.env, NACRE_MODEL: models[0] }
      const start = async (...flags: string[]) => {
        const options = { cwd: own.workspace, env: home.env }
        const waits = ['--background', '--ready', 'regex:^up$', '--pty', '--output-format', 'json']
        const { stdout } = await runCli(['-c', 'echo up; cat', ...waits, ...flags], options)
        return (JSON.parse(stdout.toString()) as { job_id: string }).job_id
      }
      const more = mkdtempSync(join(own.dir, 'more-'))
      const narrow = ['--sandbox', 'workspace', '--network', 'off']
      const jobs = {
        outside: await start(),
        online: await start('--sandbox', 'workspace'),
        elsewhere: await start(...narrow, '--workspace', more, '--cwd', more),
        same: await start(...narrow),
        less: await start('--sandbox', 'read-only', '--network', 'off'),
      }
      const ids = Object.values(jobs)
      const type = (id: string) =>
        ['bash_job', { action: 'write', job_id: id, text: 'true\n' }] as const
      await withRpc(
        { ...home, env },
        async (call, client) => {
          const share = { share_write: ids }
          const replies = await promptModel(server, client, 'type', ids.map(type), share)
          for (const reply of replies.slice(0, 3)) assert.match(reply, 'outside of your sandbox')
          assert.equal(replies.slice(3), ['(written)', '(written)'])
          const job = await jobId(call, { command: 'echo up; cat', pty: true })
          assert.is((await call(...type(job))).text, '(written)', 'its own')
        },
        { flags: narrow, cwd: own.workspace },
      )
    }))
}

test.run()
