import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { keys, variableOf } from '../../lib/config/keys.ts'
import { readConfiguration } from '../../lib/config/configuration.ts'
import { isTrusted } from '../../lib/config/said.ts'
import { type Home, withHome } from '../helpers/home.ts'

const read = ({ env, workspace }: Home) => readConfiguration({ environment: env, cwd: workspace })

/** What the user has, what the workspace says, whether it holds. */
const rights: [user: object, workspace: object, holds: boolean][] = [
  [{}, { max_lines: 5 }, false],
  [{}, { timeouts: { slow: 5 } }, false],
  [{}, { array: '3' }, false],
  [{}, { mode: 'background' }, false],
  [{}, { wait_seconds: 0 }, false],
  [{}, { output_format: 'json' }, false],
  [{}, { sandbox: 'workspace' }, true],
  [{}, { sandbox: 'off' }, false],
  [{}, { audit: 'off' }, false],
  [{}, { agent: { pass_env: ['GITHUB_TOKEN'] } }, false],
  [{}, { sandbox: 'read-only' }, true],
  [{}, { sandbox: 'auto' }, true],
  [{ sandbox: 'workspace' }, { sandbox: 'read-only' }, true],
  [{ sandbox: 'workspace' }, { sandbox: 'auto' }, false],
  [{ sandbox: 'workspace' }, { sandbox: 'off' }, false],
  [{ sandbox: 'read-only' }, { sandbox: 'workspace' }, false],
  [{}, { network: 'off' }, true],
  [{ network: 'off' }, { network: 'on' }, false],
  [{}, { guard: true }, true],
  [{ guard: false }, { guard: true }, true],
  [{}, { guard: false }, false],
  [{}, { guard: { enabled: false } }, false],
  [{}, { guard: { rules: [{ match: 'x', decision: 'deny' }] } }, true],
  [{}, { guard: { suggest_tool: true } }, true],
  [{ guard: { suggest_tool: true } }, { guard: { suggest_tool: false } }, false],
  [{}, { hardening: true }, false],
  [{}, { hardening: false }, false],
  [{}, { shell: '/tmp/evil' }, false],
  [{}, { prefix: 'evil' }, false],
  [{}, { model: 'evil/model' }, false],
  [{}, { env: { BASH_ENV: 'evil' } }, false],
  [{}, { login: true }, false],
  [{}, { writable_folders: ['/'] }, false],
  [{}, { hidden_paths: ['secret'] }, true],
  [{}, { visible_paths: ['/'] }, false],
  [{}, { workspace: '/' }, false],
  [{}, { artifact_dir: '/' }, false],
  [{}, { artifacts: { store_bytes: 1 } }, false],
  [{}, { trusted_folders: ['/'] }, false],
]
for (const [user, workspace, holds] of rights) {
  const words = `${JSON.stringify(workspace)} over ${JSON.stringify(user)}`
  test(
    `a workspace ${holds ? 'may' : 'may not'} say ${words}`,
    withHome(async (home) => {
      home.write(home.userFile, user)
      const { notices: _, files: __, ...before } = await read(home)
      home.write(home.workspaceFile, workspace)
      const { notices, files, ...after } = await read(home)
      assert.equal(files, [home.userFile, home.workspaceFile])
      assert.is(notices.length, holds ? 0 : 1)
      if (holds) return
      assert.equal(after, before)
      assert.match(notices[0] ?? '', new RegExp(String.raw`config\.json:\d+: .* is ignored: `))
    }),
  )
}

test(
  'in a trusted folder it may say everything but whom to trust',
  withHome(async (home) => {
    home.write(home.userFile, { trusted_folders: ['~/work'], sandbox: 'workspace' })
    home.write(home.workspaceFile, {
      sandbox: 'off',
      shell: 'zsh',
      guard: false,
      prefix: ['a', 'b'],
      artifact_dir: 'kept',
      trusted_folders: ['/'],
    })
    const { defaults, values, notices } = await read(home)
    assert.equal(defaults, { sandbox: 'off', shell: 'zsh', guard: false })
    assert.equal(values.prefix, ['a', 'b'])
    assert.is(values.artifact_dir, join(home.workspace, 'kept'), 'relative to the workspace')
    assert.is(notices.length, 1)
    assert.match(
      notices[0] ?? '',
      /`trusted_folders` is ignored: it is read from .*config\.json only$/,
    )
  }),
)

test(
  'a workspace hides more, never less',
  withHome(async (home) => {
    home.write(home.userFile, { hidden_paths: ['/a'] })
    home.write(home.workspaceFile, { hidden_paths: ['b'] })
    assert.equal((await read(home)).values.hidden_paths, ['/a', join(home.workspace, 'b')])
    home.write(home.workspaceFile, { hidden_paths: [] })
    assert.equal((await read(home)).values.hidden_paths, ['/a'])
  }),
)

test(
  'a workspace that asks for the sandbox takes the way out that `auto` leaves',
  withHome(async (home) => {
    home.write(home.userFile, { sandbox: 'auto' })
    assert.is((await read(home)).values.sandbox, 'auto')
    home.write(home.workspaceFile, { sandbox: 'workspace' })
    assert.is((await read(home)).values.sandbox, 'workspace')
  }),
)

test(
  'the environment is the user: it may name a trusted folder',
  withHome(async (home) => {
    home.write(home.workspaceFile, { shell: 'zsh' })
    const environment = { ...home.env, NACRE_TRUSTED_FOLDERS: `/nowhere:${home.workspace}` }
    const { defaults } = await readConfiguration({ environment, cwd: home.workspace })
    assert.is(defaults.shell, 'zsh')
  }),
)

test(
  'trust follows links to what they name, and holds below a folder',
  withHome(async ({ dir, workspace }) => {
    const link = join(dir, 'link')
    symlinkSync(workspace, link)
    const inside = join(workspace, 'inside')
    mkdirSync(inside)
    assert.ok(isTrusted(workspace, [link]))
    assert.ok(isTrusted(link, [workspace]))
    assert.ok(isTrusted(inside, [workspace]))
    assert.not(isTrusted(dir, [workspace]), 'not above')
    assert.not(isTrusted(`${workspace}-2`, [workspace]), 'not beside')
    symlinkSync(dir, join(workspace, 'out'))
    assert.not(isTrusted(join(workspace, 'out'), [workspace]), 'a link that leads out')
  }),
)

test('no key is open to a workspace but those that tighten the guard or the sandbox, and `cwd`', () => {
  const open = [...keys].filter(([, { workspace }]) => typeof workspace === 'function')
  assert.equal(open.map(([name]) => name).sort(), [
    ...['cwd', 'guard.default', 'guard.enabled', 'guard.rules', 'guard.suggest_tool'],
    ...['hidden_paths', 'network', 'sandbox'],
  ])
})

test('each variable belongs to one key', () => {
  const variables = [...keys.keys()].flatMap((name) => variableOf(name) ?? [])
  assert.is(new Set(variables).size, variables.length)
})

test.run()
