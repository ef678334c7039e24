import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { keys } from '../../lib/config/keys.ts'
import { check } from '../helpers/json-schema.ts'
import { type Home, withHome } from '../helpers/home.ts'
import { cliCommand, cliRuntime } from '../helpers/cli.ts'
import { runCli } from '../helpers/run-cli.ts'
import { runProgram } from '../helpers/run-program.ts'

const config = (home: Home, ...words: string[]) =>
  runCli(['config', ...words], { cwd: home.workspace, env: { ...process.env, ...home.env } })

interface Row {
  key: string
  value: unknown
  places: string[]
}

async function readKeys(home: Home): Promise<Map<string, Row>> {
  const { stdout, stderr } = await config(home, 'list', '--output-format', 'json')
  assert.is(stderr.toString(), '')
  const { keys: rows } = JSON.parse(stdout.toString()) as { keys: Row[] }
  return new Map(rows.map((row) => [row.key, row]))
}

test(
  'every key is told with its value here and where that was said',
  withHome(async (home) => {
    home.write(
      home.userFile,
      '{\n  "tail": 5,\n  "timeouts": { "slow": "10m" },\n  "trusted_folders": ["~/work"]\n}',
    )
    home.write(home.workspaceFile, { tail: 7, hidden_paths: ['secret'] })
    home.env['NACRE_MAX_LINES'] = '9'
    const rows = await readKeys(home)
    assert.equal([...rows.keys()], [...keys.keys()])
    assert.is(rows.get('tail')?.value, 7)
    assert.equal(rows.get('tail')?.places, [`${home.workspaceFile}:2`])
    assert.is(rows.get('timeouts.slow')?.value, 600)
    assert.equal(rows.get('timeouts.slow')?.places, [`${home.userFile}:3`])
    assert.equal(rows.get('max_lines')?.places, ['NACRE_MAX_LINES'])
    assert.is(rows.get('head')?.value, null)
    const { stdout } = await config(home)
    assert.match(stdout.toString(), `tail = 7  (${home.workspaceFile}:2)`)
  }),
)

test(
  'one key by its name; a wrong name tells the nearest',
  withHome(async (home) => {
    home.write(home.userFile, { model: 'openai/x' })
    assert.is((await config(home, 'get', 'model')).stdout.toString(), 'openai/x\n')
    home.write(home.userFile, { timeouts: { slow: '10m' } })
    assert.is((await config(home, 'get', 'timeouts.slow')).stdout.toString(), '600\n')
    const unset = await config(home, 'get', 'tail')
    assert.equal([unset.stdout.toString(), unset.stderr.toString(), unset.status], ['', '', 1])
    const wrong = await config(home, 'get', 'timeout.slow')
    assert.match(wrong.stderr.toString(), /did you mean `timeouts.slow`/)
    assert.is(wrong.status, 125)
    assert.match((await config(home, 'lits')).stderr.toString(), /did you mean `list`/)
  }),
)

test(
  'the names of variables, hosts and providers are told as they were written',
  withHome(async (home) => {
    const own = { api: 'openai-chat', base_url: 'http://localhost', key_env: 'OWN_KEY' }
    const said = { env: { PATH_a: '1', fooBar: '2' }, hosts: { buildA: 'ssh://a' } }
    home.write(home.userFile, { ...said, providers: { myOwn: own } })
    const rows = await readKeys(home)
    assert.equal(rows.get('env')?.value, said.env)
    assert.equal(rows.get('hosts')?.value, said.hosts)
    assert.equal(rows.get('providers')?.value, { myOwn: own })
  }),
)

test(
  'the files that are read',
  withHome(async (home) => {
    home.write(home.userFile, {})
    const { stdout } = await config(home, 'path')
    assert.is(stdout.toString(), `${home.userFile}\n${home.workspaceFile} (not there)\n`)
    const asJson = await config(home, 'path', '--output-format', 'json')
    assert.equal(JSON.parse(asJson.stdout.toString()), {
      files: [
        { path: home.userFile, is_there: true },
        { path: home.workspaceFile, is_there: false },
      ],
    })
  }),
)

test(
  'the schema takes what nacre takes, and is named by $schema',
  withHome(async (home) => {
    const { stdout } = await config(home, 'schema')
    const schema = JSON.parse(stdout.toString()) as Record<string, unknown>
    const right = {
      $schema: './config.schema.json',
      tail: 5,
      guard: { rules: [{ match: 'npm publish', decision: 'deny' }] },
      timeouts: { slow: '10m' },
      providers: { own: { api: 'openai-chat', base_url: 'http://localhost' } },
    }
    assert.equal(check(right, schema), [])
    assert.is.not(check({ tial: 5 }, schema).length, 0)
    assert.is.not(check({ tail: 'five' }, schema).length, 0)
    home.write(home.userFile, right)
    const { stderr, status } = await config(home)
    assert.is(stderr.toString(), '')
    assert.is(status, 0)
  }),
)

test(
  'a byte order mark before the file',
  withHome(async (home) => {
    home.write(home.userFile, '\uFEFF{"tail": 5}')
    assert.is((await config(home, 'get', 'tail')).stdout.toString(), '5\n')
  }),
)

test(
  'a home of another user, as after su, keeps no command from running; a closed one of its own does',
  withHome(async (home) => {
    if (process.getuid?.() !== 0) return console.log('SKIP a home of another: only root has one')
    const closed = join(home.dir, 'closed')
    mkdirSync(closed, { mode: 0o000 })
    const env = {
      ...process.env,
      ...home.env,
      HOME: closed,
      XDG_STATE_HOME: undefined,
      TMPDIR: '/tmp',
    }
    const drop = ['--reuid', '54398', '--clear-groups', ...cliCommand()]
    const options = { cwd: '/', env: { ...env, XDG_RUNTIME_DIR: undefined } }
    chmodSync(home.dir, 0o755)
    for (const [args, said] of [
      [['-c', 'echo ran'], 'ran\n'],
      [['job', 'list'], 'No jobs.\n'],
    ] as const) {
      const { stdout, stderr, status } = await runProgram('setpriv', [...drop, ...args], options)
      assert.equal([status, String(stdout), String(stderr)], [0, said, ''])
    }
    if (cliRuntime() !== 'deno') {
      // Deno starts nothing in a directory that it may not enter, though it is there.
      const inside = await runProgram('setpriv', [...drop, '-c', 'pwd; pwd -P'], {
        ...{ ...options, cwd: closed },
        env: { ...options.env, HOME: '/' },
      })
      assert.equal([inside.status, String(inside.stdout)], [0, `${closed}\n${closed}\n`])
    }
  }),
)

test(
  'a file in the place of the state folder is told by no stack',
  withHome(async (home) => {
    const env = { ...process.env, ...home.env, XDG_STATE_HOME: '/dev/null' }
    const { stdout, stderr, status } = await runCli(['job', 'list'], { env })
    assert.equal([status, String(stdout), String(stderr)], [0, 'No jobs.\n', ''])
  }),
)

const damaged: [string, (file: string, home: Home) => void, RegExp][] = [
  [
    'a pipe',
    (file) => void execFileSync('mkfifo', [file]),
    /config\.json: The configuration cannot be read: it is no regular file/,
  ],
  ['a folder', (file) => mkdirSync(file), /it is no regular file/],
  ['a device', (file) => symlinkSync('/dev/zero', file), /it is no regular file/],
  [
    'half a file',
    (file, home) => home.write(file, '{"tail": 5'),
    /config\.json:1: This is no JSON/,
  ],
  ['bytes', (file, home) => home.write(file, '\0\u0001\u0002'), /config\.json:1: This is no JSON/],
  [
    'a deep one',
    (file, home) => home.write(file, '['.repeat(200_000)),
    /config\.json:\d+: This is no JSON/,
  ],
]
for (const [name, place, message] of damaged) {
  test(
    `${name} in the place of the file is told in one sentence`,
    withHome(async (home) => {
      home.write(join(home.userFile, '..', 'beside'), '')
      place(home.userFile, home)
      for (const words of [['-c', 'true'], ['config']]) {
        const { stderr, status } = await runCli(words, {
          cwd: home.workspace,
          env: { ...process.env, ...home.env },
        })
        assert.match(stderr.toString(), message)
        assert.is(stderr.toString().trim().split('\n').length, 1)
        assert.is(status, 125)
      }
    }),
  )
}

test(
  'the directory that a workspace names stays below it',
  withHome(async (home) => {
    mkdirSync(join(home.workspace, 'sub'))
    symlinkSync('/', join(home.workspace, 'out'))
    for (const [cwd, holds] of [
      ['sub', true],
      ['.', true],
      ['..', false],
      [home.dir, false],
      ['/', false],
      ['out', false],
    ] as const) {
      home.write(home.workspaceFile, { cwd })
      const { stdout, stderr } = await config(home, 'get', 'cwd')
      assert.is(stdout.toString() !== '', holds, cwd)
      assert.is(/`cwd` is ignored/.test(stderr.toString()), !holds, cwd)
    }
  }),
)

test.run()
