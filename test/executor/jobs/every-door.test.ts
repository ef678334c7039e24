import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Client, type RpcNotification, startClient } from '../../../lib/client.ts'
import { createExecutor } from '../../../lib/executor/executor.ts'
import { cliCommand } from '../../helpers/cli.ts'
import { type Home, openHome } from '../../helpers/jobs.ts'
import { until } from '../../helpers/until.ts'

/** U+2028 is a line break for JavaScript's readline and for nothing else. */
const command = '# a \u2028 b\necho \'line \u2028 sep\'; echo up; read x; echo "got $x"; sleep 300'

/** What a door does with a job that another process holds. */
interface Door {
  list(): Promise<string[]>
  read(id: string): Promise<string>
  /** Whether it still runs after a short wait. */
  wait(id: string): Promise<boolean>
  write(id: string, text: string): Promise<void>
  kill(id: string): Promise<void>
  close(): Promise<void>
}

/** Another nacre of the same user, over RPC. */
function connect(
  home: Home,
  onNotification: (told: RpcNotification) => void = () => undefined,
): Promise<Client> {
  const [program = '', ...words] = cliCommand()
  const env = { ...process.env, ...home.env }
  return startClient({ command: [program, ...words, '--rpc'], env, onNotification })
}

const doors: Record<string, (home: Home) => Promise<Door>> = {
  async 'another terminal'(home) {
    return {
      list: async () => (await home.list()).map((job) => String(job['id'])),
      read: async (id) => (await home.run(['job', 'read', id])).stdout.toString(),
      wait: async (id) => (await home.run(['job', 'wait', id, '--timeout', '0.1'])).status === 124,
      write: async (id, text) => void (await home.run(['job', 'write', id, text])),
      kill: async (id) => void (await home.run(['job', 'kill', id])),
      close: async () => undefined,
    }
  },

  async rpc(home) {
    const client = await connect(home)
    return {
      list: async () => (await client.request('shell.list', {})).jobs.map(({ id }) => id),
      read: async (id) => (await client.request('shell.output', { id })).text,
      async wait(id) {
        const wait = { id, timeout_seconds: 0.1 }
        return (await client.request('shell.wait', wait)).status === 'running'
      },
      write: async (id, data) => void (await client.request('shell.input', { id, data })),
      kill: async (id) => void (await client.request('shell.cancel', { id })),
      close: async () => void (await client.close()),
    }
  },

  async library(home) {
    const stateDir = join(home.env['XDG_STATE_HOME'] ?? '', 'nacre')
    const executor = createExecutor({ stateDir })
    const { jobs } = executor
    return {
      list: async () => (await jobs.list()).map(({ id }) => id),
      read: async (id) => (await jobs.read(id)).text,
      wait: async (id) => (await jobs.wait(id, { timeoutSeconds: 0.1 })).status === 'running',
      write: (id, text) => jobs.write(id, text),
      kill: async (id) => void (await jobs.kill(id)),
      close: () => executor.close(),
    }
  },
}

const test = suite<{ home: Home }>('jobs of another nacre')
test.before.each((context) => {
  context.home = openHome()
})
test.after.each(({ home }) => home.close())

for (const [name, open] of Object.entries(doors)) {
  test(`a job of print is listed, read, waited for, written to and killed: ${name}`, async ({
    home,
  }) => {
    const id = await home.start(command, '--pty')
    const door = await open(home)
    try {
      assert.ok((await door.list()).includes(id))
      assert.match(await door.read(id), 'line \u2028 sep')
      assert.is(await door.wait(id), true)
      await door.write(id, 'typed \u2028\n')
      await until(async () => (await door.read(id)).includes('got typed \u2028'))
      await door.kill(id)
      const ended = await home.json(['job', 'show', id])
      assert.is(ended['status'], 'stopped')
    } finally {
      await door.close()
    }
  })
}

test('who follows a job of another nacre to its end is told how it ended', async ({ home }) => {
  const id = await home.start('echo up; read x; exit 7', '--open-stdin')
  const client = await connect(home)
  const attached = client.request('shell.attach', { id })
  await client.request('shell.status', { id })
  await client.request('shell.input', { id, end: true })
  const { status, exit_code: exitCode } = await attached
  assert.equal([status, exitCode], ['exited', 7])
  await client.close()
})

test('a job of another nacre is followed, and left again', async ({ home }) => {
  const id = await home.start('echo up; read x; echo "got $x"; sleep 300', '--pty')
  let heard = ''
  const client = await connect(home, ({ method, params }) => {
    if (method !== 'shell.output') return
    heard += params.data
  })
  const attached = client.request('shell.attach', { id })
  await client.request('shell.status', { id })
  await client.request('shell.input', { id, data: 'x\n' })
  await until(
    () => heard.includes('got x'),
    () => heard,
  )
  const left = await client.request('shell.detach', { id })
  assert.equal([left.id, left.status], [id, 'running'])
  assert.is((await attached).status, 'running')
  const both = await client.request('shell.wait', { ids: [id], timeout_seconds: 0.1 })
  assert.equal(
    both.jobs?.map(({ status }) => status),
    ['running'],
  )
  await client.close()
  // The one who held it still does.
  assert.is((await home.json(['job', 'show', id]))['status'], 'running')
})

test('jobs of other nacres are chosen by status and number, and waited for together', async ({
  home,
}) => {
  const ended = await home.start('echo up; read x; exit 3', '--open-stdin')
  const first = await home.start('echo up; read x; exit 4', '--open-stdin')
  const second = await home.start('echo up; sleep 300')
  await home.run(['job', 'write', ended, '--eof'])
  assert.is((await home.run(['job', 'wait', ended])).status, 3)

  const listed = async (...options: string[]) => {
    const { jobs } = await home.json(['job', 'list', ...options])
    return (jobs as { id: string }[]).map(({ id }) => id)
  }
  assert.equal(await listed('--status', 'running'), [first, second])
  assert.equal(await listed('--status', 'ended'), [ended])
  assert.equal(await listed('--limit', '2'), [first, second])

  const client = await connect(home)
  const { jobs } = await client.request('shell.list', { status: 'running', limit: 1 })
  assert.equal(
    jobs.map(({ id, pty }) => [id, pty]),
    [[second, false]],
  )
  const both = client.request('shell.wait', { ids: [first, second], any: true })
  await home.run(['job', 'write', first, '--eof'])
  const waited = await both
  assert.equal([waited.id, waited.exit_code], [first, 4])
  assert.equal(
    waited.jobs?.map(({ id, status }) => [id, status]),
    [
      [first, 'exited'],
      [second, 'running'],
    ],
  )
  const alone = client.request('shell.wait', { id: second })
  await client.request('shell.detach', { id: second })
  assert.is((await alone).status, 'running')
  await client.close()
})

test.run()
