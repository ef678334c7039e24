import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../../helpers/cli.ts'
import { withHome } from '../../helpers/home.ts'
import { type Message, type RpcProcess, withRpc } from '../../helpers/rpc.ts'
import { runCli, runJson } from '../../helpers/run-cli.ts'
import { runProgram } from '../../helpers/run-program.ts'
import { findObstacle } from '../../helpers/sandbox-places.ts'
import { withScreen } from '../../helpers/screen.ts'
import { until } from '../../helpers/until.ts'

const obstacle = await findObstacle()
if (obstacle !== null) console.log(`SKIP the workspace of a sandbox: ${obstacle}`)

function testInside(name: string, body: (project: string, outside: string) => Promise<void>): void {
  if (obstacle !== null) return
  test(name, async () => {
    const root = realpathSync(mkdtempSync('/var/tmp/nacre-workspace-'))
    const [project, outside] = [join(root, 'project'), join(root, 'outside')]
    mkdirSync(join(project, '.git'), { recursive: true })
    mkdirSync(join(project, 'deep'))
    mkdirSync(outside)
    try {
      await body(project, outside)
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  })
}

/** The result of a command, or the error that its request is answered with. */
async function exec(rpc: RpcProcess, params: object): Promise<Message> {
  const { result, error } = await rpc.call('shell.exec', params)
  return (result ?? error) as Message
}

const serve = (project: string, ...more: string[]) => [
  ...['--rpc', '--sandbox', 'workspace', '--cwd', project],
  ...more,
]

testInside('a request over RPC does not take its workspace along by its cwd', (project, outside) =>
  withRpc(async (rpc) => {
    const moved = await exec(rpc, { command: 'touch made', cwd: outside })
    assert.equal(moved['error'], {
      code: 'cwd_outside_workspace',
      message: `Working directory is outside the workspace: ${outside}`,
    })
    assert.not(existsSync(join(outside, 'made')))
    const command = `touch ../made; rmdir ../.git; touch ${outside}/made`
    const below = await exec(rpc, { command, cwd: join(project, 'deep') })
    assert.match(String(below['stderr']), 'Read-only file system')
    assert.ok(existsSync(join(project, 'made')))
    const again = await exec(rpc, { command: 'touch ../again', cwd: join(project, 'deep') })
    assert.is(again['exit_code'], 0, 'a repository that is gone does not move it')
  }, serve(project)),
)

for (const isNamed of [true, false]) {
  const how = isNamed ? 'named' : 'found'
  testInside(`a request took its sandbox beside the one ${how} at the start`, (project, outside) =>
    withRpc(
      async (rpc) => {
        const request = { command: 'touch made', cwd: outside, workspace: outside }
        for (const method of ['shell.exec', 'shell.start']) {
          const { error } = await rpc.call(method, request)
          const { data, message } = error as { data: unknown; message: string }
          assert.equal(data, { code: 'workspace_fixed' }, method)
          assert.match(message, project)
        }
        assert.not(existsSync(join(outside, 'made')))
        assert.is((await exec(rpc, { command: 'true', workspace: project }))['exit_code'], 0)
      },
      serve(project, ...(isNamed ? ['--workspace', project] : [])),
    ),
  )
}

testInside('--cwd below a repository opens all of it', async (project) => {
  const deep = join(project, 'deep')
  const words = ['--sandbox', 'workspace', '-c', 'touch ../made']
  assert.is((await runJson(['--cwd', deep, ...words]))['exit_code'], 0)
  const named = ['--cwd', 'deep', '--workspace', '.', '--wait', '60', ...words]
  assert.is((await runJson(named, { cwd: project }))['exit_code'], 0, 'held by another process')
})

testInside(
  'a session that left the workspace is replaced, and keeps what went to /tmp',
  (project) =>
    withRpc(async (rpc) => {
      const run = (command: string) => exec(rpc, { command, session: 's' })
      await run('cd /tmp; word=kept')
      assert.is((await run('echo $word; pwd'))['stdout'], 'kept\n/tmp\n')
      assert.is((await run('cd /etc && exit 3'))['exit_code'], 3)
      await run('word=kept; cd /etc')
      const next = await run('echo $word; pwd')
      assert.is(next['stdout'], `\n${project}\n`)
      assert.match(
        String(next['notices']),
        `left the workspace for /etc: this ran in a fresh one in ${project}`,
      )
    }, serve(project)),
)

for (const how of [{ args: ['--sandbox', 'workspace'] }, { env: { NACRE_SANDBOX: 'workspace' } }]) {
  const prepare = (home: string) => mkdirSync(join(home, 'code/.git'))
  testInside(`the shell of the REPL stands in the project: ${JSON.stringify(how)}`, () =>
    withScreen({ ...how, columns: 100, prepare }, async (screen) => {
      const place = join(screen.home, 'code')
      await screen.answers('!pwd && touch made\r', `! pwd && touch made\n${place}\n✓ exit 0`)
      assert.ok(existsSync(join(place, 'made')))
      await screen.shows('\n~/code · sandbox workspace')
      await screen.answers('!cd /etc && exit 3\r', '✗ exit 3')
      await screen.answers('!pwd\r', `! pwd\n${place}\n✓ exit 0`)
      await screen.answers('!cd /etc\r', '\n/etc · sandbox workspace')
      await screen.answers('!exit 4\r', '✗ exit 4')
      await screen.answers(
        '!pwd -P\r',
        `! pwd -P\nWorking directory is outside the workspace: /etc`,
      )
      await screen.shows(/the shell starts in\s[^]*\n✓ exit 0/)
      await screen.shows('\n~/code · sandbox workspace')
    }),
  )
}

testInside('a shell that gets a sandbox outside of the workspace stands in the project', () =>
  withScreen({ columns: 100 }, async (screen) => {
    const place = join(screen.home, 'code')
    await screen.answers('!export kept=yes && cd /etc\r', '\n/etc')
    await screen.answers('/sandbox workspace\r', 'gets a new shell in it')
    await screen.answers('!echo $kept; pwd\r', `! echo $kept; pwd\nYour shell starts anew`)
    await screen.shows(`\nyes\n${place}\n✓ exit 0`)
    await screen.shows('\n~/code · sandbox workspace')
  }),
)

if (obstacle === null) {
  test(
    'a state folder that is removed under a sandboxed run costs nothing of its result',
    withHome(async ({ dir, env, workspace }) => {
      const gate = join(workspace, 'gate')
      execFileSync('mkfifo', [gate])
      const words = ['--sandbox', 'workspace', '-c', 'touch up; read -r line <gate; exit 4']
      const options = { cwd: workspace, env }
      // A nacre that waits for ever is not left behind.
      const ended = runProgram('timeout', ['-k', '1', '30', ...cliCommand(), ...words], options)
      await until(() => existsSync(join(workspace, 'up')))
      // Spare pipes are made meanwhile.
      const again = { maxRetries: 20, retryDelay: 20 }
      rmSync(join(dir, 'state/nacre'), { recursive: true, ...again })
      await writeFile(gate, 'go on\n')
      const { status, stderr } = await ended
      assert.is(stderr.toString(), '')
      assert.is(status, 4)
      assert.is((await runCli(['--sandbox', 'workspace', '-c', 'true'], options)).status, 0)
    }),
  )
}

test.run()
