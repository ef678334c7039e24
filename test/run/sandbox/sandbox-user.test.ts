import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../../helpers/cli.ts'
import { runProgram } from '../../helpers/run-program.ts'
import { findObstacle } from '../../helpers/sandbox-places.ts'

/** Another user of the system: nobody. */
const user = 65_534

async function findUserObstacle(): Promise<string | null> {
  if (process.getuid?.() !== 0) return 'only root can become another user'
  const probe = ['--reuid', String(user), '--regid', String(user), '--clear-groups']
  const look = "require('node:fs').readdirSync(process.argv[1])"
  const words = [...probe, process.execPath, '-e', look, import.meta.dirname]
  const tried = await runProgram('setpriv', words).catch(() => null)
  if (tried?.status !== 0) return 'another user can not start Node, or not read this folder'
  return findObstacle()
}

const obstacle = await findUserObstacle()
if (obstacle !== null) console.log(`SKIP the sandbox as an ordinary user: ${obstacle}`)

if (obstacle === null) {
  test('a user whom the system does not know ran into an internal error', async () => {
    const home = mkdtempSync('/var/tmp/nacre-user-')
    chmodSync(home, 0o777)
    try {
      const program = [...cliCommand(), '--sandbox', 'read-only', '-c', 'echo confined']
      const words = ['--reuid', '54397', '--regid', '54397', '--clear-groups', ...program]
      const { status, stdout, stderr } = await runProgram('setpriv', words, {
        cwd: home,
        env: {
          HOME: home,
          TMPDIR: home,
          XDG_STATE_HOME: home,
          PATH: '/usr/local/bin:/usr/bin:/bin',
        },
      })
      assert.equal([status, String(stdout), String(stderr)], [0, 'confined\n', ''])
    } finally {
      rmSync(home, { recursive: true, force: true })
    }
  })

  test('a file that its user may not open is read all the same', async () => {
    const home = mkdtempSync('/var/tmp/nacre-user-')
    chmodSync(home, 0o777)
    writeFileSync(join(home, 'given'), 'one\ntwo\n', { mode: 0o600 })
    try {
      const program = [...cliCommand(), '--sandbox', 'workspace', '-c', 'cat']
      const become = ['--reuid', String(user), '--regid', String(user), '--clear-groups']
      const words = ['-c', 'exec setpriv "$@" <given', 'sh', ...become, ...program]
      const { status, stdout, stderr } = await runProgram('sh', words, {
        cwd: home,
        env: {
          HOME: join(home, 'none'),
          TMPDIR: home,
          XDG_STATE_HOME: join(home, 'state'),
          PATH: '/usr/local/bin:/usr/bin:/bin',
        },
      })
      assert.equal([status, String(stdout), String(stderr)], [0, 'one\ntwo\n', ''])
    } finally {
      rmSync(home, { recursive: true, force: true })
    }
  })

  const files = [
    'sandbox-doors',
    'sandbox-escape',
    'sandbox-mounts',
    'sandbox-home',
    'sandbox-setuid',
    'sandbox-work',
  ]
  for (const file of files.map((name) => `${name}.test.ts`)) {
    test(`${file} passes for an ordinary user`, async () => {
      const home = mkdtempSync('/var/tmp/nacre-user-')
      chmodSync(home, 0o777)
      try {
        const become = ['--reuid', String(user), '--regid', String(user), '--clear-groups']
        const program = [process.execPath, '--import', 'tsx', join(import.meta.dirname, file)]
        const { status, stdout } = await runProgram('setpriv', [...become, ...program], {
          cwd: join(import.meta.dirname, '../../..'),
          env: {
            HOME: home,
            TMPDIR: home,
            XDG_STATE_HOME: home,
            PATH: '/usr/local/bin:/usr/bin:/bin',
            // Of the doors one, as they differ by no user.
            NACRE_TEST_DOORS: 'mcp',
          },
        })
        const text = stdout.toString()
        assert.is(status, 0, text)
        assert.match(text, /Passed: +[1-9]\d/)
      } finally {
        rmSync(home, { recursive: true, force: true })
      }
    })
  }
}

test.run()
