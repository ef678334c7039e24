import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { ToolContext } from '../../../lib/agent/tools/tool.ts'
import { findTool, tools } from '../../../lib/agent/tools/tools.ts'
import { createExecutor } from '../../../lib/executor/executor.ts'
import { createReach } from '../../../lib/executor/reach.ts'
import { MisuseError } from '../../../lib/protocol/errors.ts'
import { until } from '../../helpers/until.ts'

interface Called {
  text: string
  isError: boolean
  details: Record<string, unknown>
}

async function withTools(
  use: (
    call: (name: string, args?: object, more?: Partial<ToolContext>) => Promise<Called>,
  ) => Promise<void>,
): Promise<void> {
  const stateDir = mkdtempSync(join(tmpdir(), 'nacre-tools-test-'))
  // bwrap tells an end by a signal as an exit code of 128 and more.
  const executor = createExecutor({ stateDir, defaults: { sandbox: 'off' } })
  const reach = createReach(executor, 'conv_test')
  try {
    await use(async (name, args = {}, more = {}) => {
      const context = { executor: reach, origin: 'agent' as const, ...more }
      const { content, isError, details } = await findTool(name).call(args, context)
      const text = content.map((part) => part.text).join('')
      return { text, isError, details: details as Called['details'] }
    })
  } finally {
    await executor.close()
    rmSync(stateDir, { recursive: true, force: true })
  }
}

test('a result says how it ended, after its output', () =>
  withTools(async (call) => {
    const cases: [object, string, boolean][] = [
      [{ command: 'echo hi' }, 'hi\n[exit status 0]', false],
      [{ command: 'true' }, '(no output)\n[exit status 0]', false],
      [{ command: 'echo no; exit 3' }, 'no\n[exit status 3]', true],
      [{ command: 'grep x /dev/null' }, '(no output)\n[exit status 1 (no lines matched)]', true],
      [{ command: 'kill -9 $$' }, '(no output)\n[ended by SIGKILL]', true],
    ]
    for (const [args, text, isError] of cases) {
      const result = await call('bash', args)
      assert.is(result.text, text)
      assert.is(result.isError, isError)
    }
  }))

test('what was cut is told with its place, and can be read there', () =>
  withTools(async (call) => {
    const { text, details } = await call('bash', { command: 'seq 5000' })
    assert.match(
      text,
      /\n5000\n\[Lines 3001-5000 of 5000 of output shown, cut by lines\. The complete output: \//,
    )
    const { id } = details['artifact'] as { id: string }
    assert.match(text, id)
    assert.is(
      (await call('artifact', { id, offset: 10, limit: 2 })).text,
      '11\n12\n[to go on: offset 12]',
    )
    assert.is(
      (await call('artifact', { id, grep: '^49.9$', offset: 4988 })).text,
      '4989:4989\n4999:4999',
    )
    const around = { id, grep: '^250X?$', '-C': '1', '-i': true }
    assert.is((await call('artifact', around)).text, '249-249\n250:250\n251-251')
  }))

test('a command with a trailing `| head` or `| tail` ends as it would in bash', () =>
  withTools(async (call) => {
    const commands = [
      // They go on behind their head, or fail before it.
      'seq 1000000000 | head -n 2',
      'find / 2>/dev/null | head -1',
      'seq 3 | head -2',
      'ls / /missing 2>/dev/null | head -1',
      'ls / /missing 2>/dev/null | tail -1',
      'cd /missing && grep x /dev/null 2>&1 | tail -1',
      'cd / && grep x /dev/null 2>&1 | head -1',
      "python3 -c 'while True: print(1)' 2>/dev/null | head -3",
    ]
    for (const command of commands) {
      const { text, isError, details } = await call('bash', { command })
      assert.is(details['command'], command, 'what was asked for is recorded')
      const bash = spawnSync('bash', ['-c', `exec 2>&1; ${command}`], { encoding: 'utf8' })
      assert.equal([details['exit_code'], details['output']], [bash.status, bash.stdout], command)
      assert.is(isError, bash.status !== 0)
      assert.match(text, bash.stdout.trimEnd())
    }
    const session = 'strict'
    await call('bash', { command: 'set -e; kept=yes', session })
    await call('bash', { command: 'grep x /dev/null 2>&1 | tail -1', session })
    assert.is((await call('bash', { command: 'echo "$kept"', session })).details['output'], 'yes\n')
    await call('bash', { command: 'set +e -o pipefail', session })
    const failed = await call('bash', { command: 'grep x /dev/null 2>&1 | tail -1', session })
    assert.is(failed.details['exit_code'], 1)
  }))

test('a job is started, read, waited for and stopped', () =>
  withTools(async (call) => {
    const started = await call('bash', { command: 'echo on; sleep 1000', mode: 'background' })
    assert.not(started.isError)
    const { job_id: jobId, artifact } = started.details as {
      job_id: string
      artifact: { path: string }
    }
    assert.match(
      started.text,
      new RegExp(`job id: ${jobId}; process id: \\d+; output file: ${artifact.path}`),
    )
    for (const action of ['read', 'wait', 'kill']) {
      assert.match(started.text, `bash_job {"action": "${action}", "job_id": "${jobId}"}`)
    }
    assert.match((await call('bash_job', { action: 'list' })).text, `${jobId}  running`)
    let cursor = 0
    let text = ''
    await until(async () => {
      const read = await call('bash_job', { action: 'read', job_id: jobId, cursor })
      text += read.text
      cursor = read.details['cursor'] as number
      return text.includes('on\n')
    })
    const waited = await call('bash_job', { action: 'wait', job_id: jobId, timeout: 0.01 })
    assert.match(waited.text, /Still running after/)
    const killed = await call('bash_job', { action: 'kill', job_id: jobId })
    assert.is(killed.details['reason'], 'kill')
  }))

test('a job is read from its end, and waited for until it is ready', () =>
  withTools(async (call) => {
    const start = async (command: string) => {
      const { details } = await call('bash', { command, run_in_background: true })
      return String(details['job_id'])
    }
    const short = await start('seq 100')
    await call('bash_job', { action: 'wait', job_id: short })
    const tail = await call('bash_job', { action: 'read', job_id: short, tail: '2' })
    assert.match(tail.text, /\n99\n100\nStatus: exited; to go on reading: cursor 292$/)
    const two = await call('bash_job', { action: 'read', job_id: short, head: 2 })
    assert.match(two.text, /^1\n2\nStatus: exited; 288 bytes more are there; .*cursor 4$/)
    const ready = await start('echo up; sleep 1000')
    const up = await call('bash_job', { action: 'wait', job_id: ready, ready: 'regex:^up$' })
    assert.match(up.text, /Still running/)
    await call('bash_job', { action: 'kill', job_id: ready })
  }))

test('a door whose callers give up gets a running job in time', () =>
  withTools(async (call) => {
    const { details } = await call('bash', { command: 'sleep 1000' }, { maxWaitSeconds: 0.05 })
    assert.is(details['status'], 'running')
  }))

test('a denial says which rule, and nothing is run', () =>
  withTools(async (call) => {
    const { text, isError } = await call('bash', { command: 'git add -A' })
    assert.ok(isError)
    assert.match(text, /^Denied, nothing was run: git-add-blind/)
  }))

test('wrong arguments are misuse that names them', () =>
  withTools(async (call) => {
    const wrong: [string, object, string][] = [
      ['bash', {}, 'command'],
      ['bash', { command: '' }, 'command'],
      ['bash', { command: 'ls', timeout: 'x' }, 'timeout'],
      ['bash', { command: 'ls', timeout: -4 }, 'timeout'],
      ['bash', { command: 'ls', waitSeconds: 1 }, 'waitSeconds'],
      ['bash_job', { action: 'read' }, 'job_id'],
      ['bash_job', { action: 'nope' }, 'action'],
      ['artifact', { id: 'art_x', limit: 0 }, 'limit'],
      ['artifact', { id: 'art_x', grep: 'x', tail: 3 }, 'grep'],
    ]
    for (const [name, args, field] of wrong) {
      try {
        await call(name, args)
        assert.unreachable(`${name} ${JSON.stringify(args)}`)
      } catch (error) {
        assert.instance(error, MisuseError)
        assert.is((error as MisuseError).field, field)
      }
    }
  }))

test('every tool tells its parameters, each with a description', () => {
  for (const tool of tools) {
    assert.ok(tool.description('/here').length > 50)
    for (const [name, schema] of Object.entries(tool.inputSchema.properties)) {
      assert.match(name, /^[a-z_]+$/)
      assert.type(schema['description'], 'string')
    }
  }
  assert.match(findTool('bash').description('/here'), '/here')
})

test.run()
