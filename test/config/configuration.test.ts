import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Configuration, readConfiguration } from '../../lib/config/configuration.ts'
import { type Home, withHome } from '../helpers/home.ts'

const read = ({ env, workspace }: Home, changes: Record<string, string> = {}, more = {}) =>
  readConfiguration({ environment: { ...env, ...changes }, cwd: workspace, ...more })

/** Without what is only told of it: where it was said. */
function plain({ entries: _1, candidates: _2, ...rest }: Configuration) {
  return rest
}

test(
  'without a file everything is as usual',
  withHome(async (home) => {
    assert.equal(plain(await read(home)), {
      defaults: {},
      values: {},
      neverTerminals: false,
      files: [],
      notices: [],
    })
  }),
)

/** For each key: what the user says, then the workspace, then the environment. */
const precedence: [key: string, user: number, workspace: number, variable: string][] = [
  ['max_lines', 1, 2, '3'],
  ['max_bytes', 10, 20, '30'],
  ['timeout_seconds', 1.5, 2.5, '3.5'],
  ['tail', 5, 6, '7'],
]
for (const [key, user, workspace, variable] of precedence) {
  test(
    `what comes later wins: ${key}`,
    withHome(async (home) => {
      const field = key.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())
      const value = async (changes = {}) =>
        ((await read(home, changes)).defaults as Record<string, unknown>)[field]
      home.write(home.userFile, { [key]: user, trusted_folders: [home.workspace] })
      assert.is(await value(), user)
      home.write(home.workspaceFile, { [key]: workspace })
      assert.is(await value(), workspace)
      assert.is(await value({ [`NACRE_${key.toUpperCase()}`]: variable }), Number(variable))
      assert.is(await value({ [`NACRE_${key.toUpperCase()}`]: '' }), workspace, 'empty is not set')
    }),
  )
}

test(
  'every kind of value reaches its place',
  withHome(async (home) => {
    home.write(home.userFile, {
      shell: 'zsh',
      prefix: 'nix develop -c',
      pty: 'off',
      sandbox: 'auto',
      network: 'off',
      writable_folders: ['~/.cache', '/opt/x'],
      hidden_paths: ['keys'],
      timeouts: { slow: 60 },
      guard: {
        enabled: false,
        default: 'ask',
        suggest_tool: { read: 'read_file' },
        rules: [{ name: 'a', match: 'npm publish', not_match: ['x'], decision: 'ask' }],
      },
      artifacts: { age_days: 2, store_bytes: 1000 },
      artifact_dir: '~/kept',
      output_format: 'json',
      model: 'ollama/qwen3',
      env: { A: '1', B: '2' },
    })
    const configuration = await read(home, { NACRE_ENV: '{"B":"3"}', NACRE_TIMEOUTS_DEFAULT: '5' })
    assert.equal(plain(configuration), {
      defaults: {
        shell: 'zsh',
        sandbox: 'auto',
        network: 'off',
        guard: false,
        env: { A: '1', B: '3' },
      },
      values: {
        shell: 'zsh',
        prefix: 'nix develop -c',
        pty: 'off',
        sandbox: 'auto',
        network: 'off',
        writable_folders: [join(home.dir, '.cache'), '/opt/x'],
        hidden_paths: [join(home.dir, 'keys')],
        'timeouts.slow': 60,
        'timeouts.default': 5,
        'guard.enabled': false,
        'guard.default': 'ask',
        'guard.suggest_tool': { read: 'read_file' },
        'guard.rules': [{ name: 'a', match: 'npm publish', notMatch: ['x'], decision: 'ask' }],
        'artifacts.age_days': 2,
        'artifacts.store_bytes': 1000,
        artifact_dir: join(home.dir, 'kept'),
        output_format: 'json',
        model: 'ollama/qwen3',
        env: { A: '1', B: '3' },
      },
      neverTerminals: false,
      files: [home.userFile],
      notices: [],
    })
  }),
)

test(
  'comments and trailing commas are fine',
  withHome(async (home) => {
    home.write(home.userFile, '// mine\n{\n  "tail": 3, /* lines */\n}\n')
    assert.is((await read(home)).defaults.tail, 3)
  }),
)

test(
  'rules of both files hold, and one without a name is known by its line',
  withHome(async (home) => {
    const rule = (match: string) => ({ match, decision: 'deny' })
    home.write(home.userFile, { guard: { rules: [rule('a'), rule('b')] } })
    home.write(home.workspaceFile, { guard: { rules: [{ ...rule('c'), name: 'third' }] } })
    const names = (await read(home)).values['guard.rules']?.map(({ name }) => name)
    assert.equal(names, [`${home.userFile}:4`, `${home.userFile}:8`, 'third'])
  }),
)

test(
  'the workspace is the git root above, the named one, or the directory itself',
  withHome(async (home) => {
    home.write(home.userFile, { trusted_folders: ['~/work', '~/other'] })
    home.write(home.workspaceFile, { tail: 1 })
    const deep = join(home.workspace, 'a', 'b')
    mkdirSync(deep, { recursive: true })
    const tail = async (cwd: string, more = {}) =>
      (await readConfiguration({ environment: home.env, cwd, ...more })).defaults.tail
    assert.is(await tail(deep), 1)
    assert.is(await tail('/', { runCwd: deep }), 1)
    assert.is(await tail('/'), undefined)
    home.write(join(home.dir, 'other', '.nacre', 'config.json'), { tail: 2 })
    assert.is(await tail(join(home.dir, 'other')), 2, 'no git root')
    assert.is(await tail(deep, { workspace: join(home.dir, 'other') }), 2)
    assert.is(await tail(home.dir, { workspace: 'other' }), 2, 'relative')
  }),
)

test(
  'NACRE_NO_PTY',
  withHome(async (home) => {
    assert.is((await read(home, { NACRE_NO_PTY: '1' })).neverTerminals, true)
    assert.is((await read(home, { NACRE_NO_PTY: '0' })).neverTerminals, false)
  }),
)

test(
  'variables of runs and of others are left alone',
  withHome(async (home) => {
    const variables = {
      NACRE_RUN: 'run_1',
      NACRE_SESSION: 's',
      NACRE_HOME: '/x',
      NACRE_TEST_TIMEOUT_SECONDS: '9',
      NACRE_CI: '1',
      NACRE_LOG: 'x',
      NACRE_ZZZZZ: '1',
    }
    assert.equal((await read(home, variables)).defaults, {})
  }),
)

test.run()
