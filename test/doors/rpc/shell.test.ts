import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { RpcError, RpcNotification } from '../../../lib/client.ts'
import { openJobs } from '../../../lib/executor/jobs/jobs.ts'
import { endJobs } from '../../helpers/jobs.ts'
import { createState, startRpc, withClient, withRpc } from '../../helpers/rpc.ts'

async function failureOf(promise: Promise<unknown>): Promise<RpcError> {
  try {
    await promise
  } catch (error) {
    return error as RpcError
  }
  throw new Error('it did not reject')
}

/** Collects notifications, and waits for one. */
function listen() {
  const heard: RpcNotification[] = []
  const waiting: { method: string; resolve(params: { id: string }): void }[] = []
  return {
    heard,
    onNotification: (notification: RpcNotification): void => {
      heard.push(notification)
      const index = waiting.findIndex(({ method }) => method === notification.method)
      if (index < 0) return
      waiting.splice(index, 1)[0]?.resolve(notification.params as { id: string })
    },
    /** The next notification of this method. */
    next: (method: RpcNotification['method']) =>
      new Promise<{ id: string }>((resolve) => waiting.push({ method, resolve })),
  }
}

test('a time may be written with its unit, whatever it limits', () =>
  withRpc(async (rpc) => {
    const call = async (method: string, params: object) =>
      (await rpc.call(method, params))['result'] as Record<string, unknown>
    const stopped = await call('shell.exec', { command: 'sleep 1000', timeout_seconds: '50ms' })
    assert.is(stopped['reason'], 'timeout')
    const { id } = await call('shell.start', { command: 'sleep 1000', wait_seconds: '0s' })
    assert.is((await call('shell.wait', { id, timeout_seconds: '10ms' }))['status'], 'running')
    await call('shell.cancel', { id })
    const tool = async (name: string, given: object) =>
      (await call('tool.call', { name, arguments: given }))['details'] as {
        id: string
        status: string
      }
    const job = await tool('bash', { command: 'sleep 1000', timeout: '1s' })
    assert.is(job.status, 'running')
    const waited = { action: 'wait', job_id: job.id, wait_seconds: '10ms' }
    assert.is((await tool('bash_job', waited)).status, 'running')
  }))

test('shell.exec takes the options of a run', () =>
  withClient(async (client) => {
    const exec = (params: Parameters<typeof client.request<'shell.exec'>>[1]) =>
      client.request('shell.exec', params)
    assert.is((await exec({ command: 'cat', stdin: 'given' })).stdout, 'given')
    assert.is((await exec({ command: 'echo $A', env: { A: 'b' } })).stdout, 'b\n')
    assert.is((await exec({ command: 'pwd', cwd: '/' })).stdout, '/\n')
    assert.is((await exec({ command: 'seq 9', tail: 2 })).stdout, '8\n9\n')
    assert.match((await exec({ command: 'test -t 1 && echo tty', pty: true })).stdout, /^tty/)
    const stopped = await exec({ command: 'sleep 1000', timeout_seconds: 0.05 })
    assert.is(stopped.status, 'stopped')
    assert.is(stopped.reason, 'timeout')
    const killed = await exec({ command: 'kill -9 $$' })
    assert.is(killed.signal, 'SIGKILL')
    assert.is(killed.exit_code, null)
    const long = `true ${'x'.repeat(1000)}`
    assert.is((await exec({ command: long })).command_preview, long.slice(0, 400))
    const emoji = `true ${'😀'.repeat(300)}`
    assert.is((await exec({ command: emoji })).command_preview, emoji.slice(0, 399), 'whole ones')
    const merged = await exec({ command: 'echo a; echo b >&2', streams: 'merged' })
    assert.equal([merged.stdout, merged.stderr], ['a\nb\n', ''])
    const denied = await exec({ command: 'rm -rf /' })
    assert.is(denied.status, 'denied')
    assert.is(denied.verdict?.rule, 'rm-critical')
  }))

test('each stream is cut and kept by itself', () =>
  withClient(async (client) => {
    const result = await client.request('shell.exec', {
      command: 'echo short; seq 100000 >&2',
      max_lines: 10,
    })
    assert.equal(result.truncated, { stdout: false, stderr: true, combined: true })
    assert.is(result.stdout_cache_id, undefined)
    const ref = result.stderr_cache_id ?? ''
    const lines = await client.request('tool_output_cache', { ref_id: ref, tail: 2 })
    assert.is(lines.text, '99999\n100000\n')
  }))

test('requests run at the same time', () =>
  withClient(async (client) => {
    const order: string[] = []
    const run = async (name: string, command: string) => {
      await client.request('shell.exec', { command })
      order.push(name)
    }
    const gate = '/tmp/nacre-rpc-gate-$PPID'
    await Promise.all([
      run('first', `mkfifo ${gate}; read line < ${gate}; rm ${gate}`),
      run('second', `until test -p ${gate}; do :; done; echo > ${gate}`),
    ])
    assert.is(order.length, 2)
  }))

test('a cancel overtakes the run that it cancels, in a session too', async () => {
  const { onNotification, next } = listen()
  await withClient(
    async (client) => {
      for (const session of [undefined, 'one']) {
        const cancelling = new AbortController()
        const running = client.request(
          'shell.exec',
          { command: 'sleep 1000', stream: true, ...(session && { session }) },
          { signal: cancelling.signal },
        )
        await next('shell.started')
        cancelling.abort()
        const result = await running
        assert.is(result.status, 'stopped')
        assert.is(result.reason, 'cancel')
      }
      // The session's shell has survived.
      const after = await client.request('shell.exec', { command: 'echo here', session: 'one' })
      assert.is(after.stdout, 'here\n')
    },
    { onNotification },
  )
})

test('shell.wait that is cancelled answers with how the run stands', () =>
  withClient(async (client) => {
    const { id } = await client.request('shell.start', { command: 'sleep 1000' })
    const result = await client.request('shell.wait', { id }, { signal: AbortSignal.abort() })
    assert.is(result.status, 'running')
    assert.is((await client.request('shell.cancel', { id })).reason, 'cancel')
    assert.is((await client.request('shell.wait', { id })).status, 'stopped')
  }))

test('characters are whole in shell.output however they are written', async () => {
  const { heard, onNotification } = listen()
  await withClient(
    async (client) => {
      const command = "printf '\\303'; sleep 0.05; printf '\\244\\n'; printf '\\303'"
      await client.request('shell.exec', { command, stream: true })
    },
    { onNotification },
  )
  const data = heard.map(({ params }) => ('data' in params ? params.data : '')).join('')
  assert.is(data, 'ä\n\ufffd')
  assert.is(heard.at(-1)?.method, 'shell.exited')
})

test('a detached run goes on and is still followed', async () => {
  const { onNotification, next } = listen()
  await withClient(
    async (client) => {
      const start = next('shell.started')
      const running = client.request('shell.exec', {
        command: 'read x; echo $x',
        pty: true,
        stream: true,
      })
      const { id } = await start
      await client.request('shell.detach', { id })
      const left = await running
      assert.is(left.status, 'running')
      assert.is(left.job_id, id)
      const failure = await failureOf(client.request('shell.detach', { id }))
      assert.is(failure.data?.code, 'not_waiting')
      const end = next('shell.exited')
      await client.request('shell.input', { id, data: 'typed\n' })
      assert.is((await end).id, id)
      assert.is((await client.request('shell.status', { id })).exit_code, 0)
    },
    { onNotification },
  )
})

test('the end of each task of an array is told', async () => {
  const told: RpcNotification[] = []
  const onNotification = (it: RpcNotification) => void told.push(it)
  await withClient(
    async (client) => {
      const command = 'echo "task $NACRE_TASK"; exit $((NACRE_TASK == 2))'
      const { id } = await client.request('shell.start', { command, array: '3', jobs: 1 })
      await client.request('shell.wait', { id })
    },
    { onNotification },
  )
  const tasks = told.flatMap(({ method, params }) => (method === 'shell.task' ? [params] : []))
  assert.equal(
    tasks.map(({ task, ended, failed, total, result }) => ({
      ...{ task, ended, failed, total },
      output: result.output,
      code: result.exit_code,
    })),
    [
      { task: 1, ended: 1, failed: 0, total: 3, output: 'task 1\n', code: 0 },
      { task: 2, ended: 2, failed: 1, total: 3, output: 'task 2\n', code: 1 },
      { task: 3, ended: 3, failed: 1, total: 3, output: 'task 3\n', code: 0 },
    ],
  )
})

test('an array that a client waits for outlives its nacre, and can be let go', async () => {
  const state = createState()
  const rpc = startRpc(['--rpc'], state.env)
  const command = 'until [ -e go ]; do sleep 0.05; done; echo "task $NACRE_TASK"'
  const params = { command, array: '2', jobs: 1, cwd: state.dir, stream: true }
  try {
    const ids: string[] = []
    for (const id of [1, 2]) {
      rpc.send({ jsonrpc: '2.0', id, method: 'shell.exec', params })
      const started = await rpc.next(({ method }) => method === 'shell.started')
      ids.push((started['params'] as { id: string }).id)
    }
    const [left = '', waitedFor = ''] = ids
    await rpc.call('shell.detach', { id: left })
    const { result } = (await rpc.response(1)) as { result: { status: string; job_id: string } }
    assert.equal([result.status, result.job_id], ['running', left])
    rpc.child.kill('SIGKILL')
    await rpc.ended
    writeFileSync(join(state.dir, 'go'), '')
    const jobs = openJobs(join(state.dir, 'nacre', 'jobs'))
    for (const id of [left, waitedFor]) {
      assert.is((await jobs.wait(id)).exitCode, 0)
      assert.is((await jobs.read(id)).text, 'task 1\ntask 2\n')
    }
  } finally {
    rpc.child.kill('SIGKILL')
    await rpc.ended
    await endJobs(state.dir)
    state.remove()
  }
})

test('a job reads what is sent until its input ends', () =>
  withClient(async (client) => {
    const { id } = await client.request('shell.start', {
      command: 'cat; echo end',
      open_stdin: true,
    })
    await client.request('shell.input', { id, data: 'a\n' })
    await client.request('shell.input', { id, data: 'b\n', end: true })
    const result = await client.request('shell.wait', { id })
    assert.is(result.output, 'a\nb\nend\n')
    const late = await failureOf(client.request('shell.input', { id, data: 'c' }))
    assert.is(late.code, -32_000)
    const given = await client.request('shell.start', { command: 'cat; echo end', stdin: 'all\n' })
    assert.is((await client.request('shell.wait', { id: given.id })).output, 'all\nend\n')
    const both = { command: 'cat', stdin: 'all', open_stdin: true }
    const refused = await failureOf(client.request('shell.start', both))
    assert.is(
      refused.message,
      '`open_stdin` and `stdin` contradict each other; leave one of them out',
    )
  }))

test('what is typed into a terminal that is gone is refused', () =>
  withClient(async (client) => {
    const { id } = await client.request('shell.start', { command: 'true', pty: true })
    await client.request('shell.wait', { id })
    const late = await failureOf(client.request('shell.input', { id, data: 'x' }))
    assert.equal([late.code, late.data?.code], [-32_000, 'no_input'])
  }))

test('a job that has ended is not forgotten for the runs after it', () =>
  withClient(async (client) => {
    const run = { command: 'read line; echo $line', shell: '/bin/sh', open_stdin: true }
    const { id } = await client.request('shell.start', run)
    await client.request('shell.input', { id, data: 'kept\n' })
    await client.request('shell.wait', { id })
    for (let index = 0; index < 70; index++) {
      await client.request('shell.exec', { command: 'true', shell: '/bin/sh' })
    }
    assert.is((await client.request('shell.output', { id })).text, 'kept\n')
  }))

test('a wrong pattern is told by the name that it has on the wire', () =>
  withClient(async (client) => {
    const run = await client.request('shell.exec', { command: 'seq 9', artifact: 'always' })
    const search = { id: run.stdout_cache_id ?? '', pattern: '(' }
    const wrong = await failureOf(client.request('artifact.grep', search))
    assert.equal([wrong.code, wrong.data?.field], [-32_602, 'pattern'])
    const call = { name: 'artifact', arguments: { id: search.id, grep: '(' } }
    const ofTool = await failureOf(client.request('tool.call', call))
    assert.is(ofTool.data?.field, 'grep')
    assert.match(ofTool.message, /^grep: Invalid regular expression/)
  }))

test('sessions keep their state apart from each other', () =>
  withClient(async (client) => {
    const opened = await client.request('session.open', { cwd: '/', env: { A: "it's" } })
    const exec = async (command: string, session: string) =>
      (await client.request('shell.exec', { command, session })).stdout
    assert.is(await exec('x=1; echo $A $PWD', opened.name), "it's /\n")
    assert.is(await exec('echo $x$y', opened.name), '1\n')
    assert.is(await exec('y=2; echo $x$y', 'other'), '2\n')
    const { sessions } = await client.request('session.list', {})
    assert.equal(sessions.map(({ name }) => name).sort(), [opened.name, 'other'].sort())
    assert.equal(await client.request('session.close', { name: 'other' }), { closed: true })
    assert.equal(await client.request('session.close', { name: 'other' }), { closed: false })
    assert.is(await exec('echo $y.', 'other'), '.\n')
    const gone = await failureOf(client.request('session.open', { cwd: '/nowhere' }))
    assert.is(gone.data?.code, 'cwd_not_found')
  }))

test('what the guard asks goes to the client, and its answer decides', async () => {
  const asked: string[] = []
  for (const approved of [false, true]) {
    await withClient(
      async (client) => {
        // Asked about since it may be anything; it is nothing.
        const command = 'rm -rf $NACRE_NOBODY && echo removed'
        const result = await client.request('shell.exec', { command })
        assert.is(result.status, approved ? 'exited' : 'denied')
        assert.is(result.stdout, approved ? 'removed\n' : '')
      },
      {
        onApproval({ command, verdict }) {
          asked.push(`${verdict.rule} ${command.length}`)
          return approved
        },
      },
    )
  }
  assert.is(asked.length, 2)
})

test('a command whose shell never gets ready is given up at its deadline, also if it may go on after that', () =>
  withRpc(async (rpc) => {
    const profile = "printf 'sleep 1000' > ~/.bash_profile"
    await rpc.call('shell.exec', { command: profile })
    const session = { session: 'hung', shell: '/bin/bash', login: true }
    const limits = { timeout_seconds: 1, on_timeout: 'background' }
    const answer = await rpc.call('shell.exec', { command: 'true', ...session, ...limits })
    const { status, reason } = answer['result'] as Record<string, unknown>
    assert.equal([status, reason], ['not_started', 'timeout'])
  }))

test('the tools of a model obey all rules and answer in text', () =>
  withClient(async (client) => {
    const { tools } = await client.request('tool.list', {})
    assert.equal(
      tools.map(({ name }) => name),
      ['bash', 'bash_job', 'artifact'],
    )
    const call = (name: string, args: Record<string, unknown>) =>
      client.request('tool.call', { name, arguments: args })
    const denied = await call('bash', { command: 'git push --force' })
    assert.is(denied.is_error, true)
    assert.match(denied.content[0]?.text ?? '', /git-push-force/)
    const unended = await call('bash', { command: 'echo "x' })
    assert.match(unended.content[0]?.text ?? '', /unexpected EOF while looking for matching `"'/)
    const cut = await call('bash', { command: 'seq 10000 | tail -n 2' })
    assert.match(cut.content[0]?.text ?? '', /^9999\n10000\n\[Lines 9999-10000 of 10000/)
    const { id } = (cut.details as { artifact: { id: string } }).artifact
    const read = await call('artifact', { id, head: 1 })
    assert.is(read.content[0]?.text, '1\n[to go on: offset 1]')
    const long = await call('bash', { command: 'echo begun; sleep 300', timeout: 1 })
    assert.match(long.content[0]?.text ?? '', /^begun\nStill running after/)
    await call('bash_job', { action: 'kill', job_id: (long.details as { id: string }).id })
    const wrong = await failureOf(call('bash', { comand: 'ls' }))
    assert.is(wrong.code, -32_602)
    const nothing = await failureOf(call('bish', {}))
    assert.is(nothing.data?.field, 'name')
  }))

test('a tool that the client has is suggested where that is configured', async () => {
  const state = createState()
  mkdirSync(join(state.dir, 'nacre'))
  writeFileSync(
    join(state.dir, 'nacre', 'config.json'),
    JSON.stringify({ guard: { suggest_tool: true } }),
  )
  const readFile = { name: 'bash', arguments: { command: 'cat package.json' } }
  for (const toolNames of [[], ['view_file']]) {
    await withClient(
      async (client) => {
        const result = await client.request('tool.call', readFile)
        assert.is(result.is_error, toolNames.length > 0)
        const { verdict } = result.details as { verdict: { suggested_tool: string } | null }
        assert.is(verdict?.suggested_tool, toolNames[0])
      },
      { toolNames, env: { ...state.env, XDG_CONFIG_HOME: state.dir } },
    )
  }
  state.remove()
})

test('prompt.cancel stops a command that a prompt has started', async () => {
  const { onNotification, next } = listen()
  await withClient(
    async (client) => {
      const first = next('prompt.event')
      const running = client.request('prompt', { text: '!sleep 1000' })
      await first
      assert.equal(await client.request('prompt.cancel', {}), { cancelled: 1 })
      assert.is((await running).result?.reason, 'cancel')
      const empty = await failureOf(client.request('prompt', { text: '! ' }))
      assert.is(empty.message, 'bang command is empty')
    },
    { onNotification },
  )
})

test.run()
