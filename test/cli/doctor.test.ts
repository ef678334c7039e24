import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Home, withHome } from '../helpers/home.ts'
import { runCli } from '../helpers/run-cli.ts'

interface Check {
  name: string
  status: 'ok' | 'missing' | 'broken'
  detail: string
  advice: string | null
}

async function doctor({ env, workspace }: Home, changes: Record<string, string> = {}) {
  const { status, stdout, stderr } = await runCli(['doctor', '--output-format', 'json'], {
    env: { ...env, ...changes },
    cwd: workspace,
  })
  assert.is(stderr.toString(), '')
  const { ok, checks } = JSON.parse(stdout.toString()) as { ok: boolean; checks: Check[] }
  const find = (name: string) => checks.find((check) => check.name === name)
  return { status, ok, checks, find }
}

test(
  'what works here, each thing once',
  withHome(async (home) => {
    const { status, ok, checks, find } = await doctor(home)
    assert.equal([status, ok], [0, true])
    assert.equal(
      checks.map(({ name }) => name),
      [
        'configuration',
        'shell',
        'terminal',
        'sandbox',
        'temporary folder',
        'state folder',
        'model',
      ],
    )
    for (const name of ['configuration', 'shell', 'state folder']) {
      assert.is(find(name)?.status, 'ok', name)
    }
    for (const { name, status: found, advice } of checks) {
      if (found !== 'ok') assert.ok(advice, `${name}: says what to do`)
    }
  }),
)

test(
  'for people: a line each',
  withHome(async ({ env, workspace }) => {
    const { stdout } = await runCli(['doctor'], { env, cwd: workspace })
    assert.match(stdout.toString(), /^ok {7}configuration {4}.*\n.*shell .*\n/)
    assert.match(stdout.toString(), /missing {2}model .*\n +Set `model`/)
  }),
)

test(
  'a wrong configuration is broken, and the rest is still looked at',
  withHome(async (home) => {
    home.write(home.userFile, '{ "shel": "x" }')
    const { status, find } = await doctor(home)
    assert.is(status, 1)
    assert.match(find('configuration')?.detail ?? '', /config\.json:1: Unknown key `shel`/)
    assert.is(find('shell')?.status, 'ok')
  }),
)

test(
  'a rule that the guard does not take is broken, and the rest is still looked at',
  withHome(async (home) => {
    home.write(home.userFile, { guard: { rules: [{ name: 'x', match: '/(/', decision: 'deny' }] } })
    const { status, find, checks } = await doctor(home)
    assert.is(status, 1)
    assert.match(find('configuration')?.detail ?? '', /guard rule "x"/)
    assert.is(find('shell')?.status, 'ok')
    assert.is(new Set(checks.map(({ name }) => name)).size, checks.length)
  }),
)

test(
  'a shell that is not there is broken',
  withHome(async (home) => {
    home.write(home.userFile, { shell: '/no/shell' })
    const { status, find } = await doctor(home)
    assert.is(status, 1)
    assert.match(find('shell')?.detail ?? '', /Shell does not exist: \/no\/shell/)
  }),
)

test(
  'a state folder that cannot be made, terminals switched off, a model',
  withHome(async (home) => {
    home.write(`${home.dir}/file`, '')
    const { status, find } = await doctor(home, {
      XDG_STATE_HOME: `${home.dir}/file`,
      NACRE_NO_PTY: '1',
      NACRE_MODEL: 'ollama/x',
    })
    assert.is(status, 0, 'nacre can do without them')
    assert.is(find('state folder')?.status, 'missing')
    assert.match(find('terminal')?.advice ?? '', /NACRE_NO_PTY/)
    assert.is(find('model')?.detail, 'ollama/x')
  }),
)

/** A small file system of one's own; false where this user may mount none. */
function mountSmall(folder: string): boolean {
  mkdirSync(folder)
  const words = ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder]
  return spawnSync('mount', words).status === 0
}

test(
  'a full disk and a read-only file system are told as what they are',
  withHome(async (home) => {
    const small = `${home.dir}/small`
    if (!mountSmall(small)) return console.log('SKIP doctor on a full disk: cannot mount')
    try {
      assert.throws(() => writeFileSync(`${small}/all`, Buffer.alloc(1_000_000)), /ENOSPC/)
      const kept = await doctor(home, { XDG_STATE_HOME: small })
      assert.is(kept.status, 0, 'commands run all the same')
      assert.is(kept.find('state folder')?.status, 'missing')
      assert.match(kept.find('state folder')?.detail ?? '', /ENOSPC/)
      const full = await doctor(home, { TMPDIR: small })
      assert.is(full.status, 1)
      assert.match(full.find('temporary folder')?.detail ?? '', /ENOSPC/)
      spawnSync('mount', ['-o', 'remount,ro', small])
      const closed = await doctor(home, { TMPDIR: small, XDG_STATE_HOME: small })
      assert.is(closed.status, 1)
      assert.match(closed.find('state folder')?.detail ?? '', /EROFS|read-only/)
    } finally {
      spawnSync('umount', [small])
    }
  }),
)

test.run()
