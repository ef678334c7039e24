import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Home, withHome } from '../helpers/home.ts'
import { runCli, runJson } from '../helpers/run-cli.ts'

const at = ({ env, workspace }: Home, changes: Record<string, string> = {}) => ({
  cwd: workspace,
  env: { ...env, ...changes },
})

test(
  'file, workspace, variable, flag: the last one wins',
  withHome(async (home) => {
    const shown = async (args: string[] = [], changes = {}) =>
      (await runJson(['-c', 'seq 9', ...args], at(home, changes)))['output']
    assert.is(await shown(), '1\n2\n3\n4\n5\n6\n7\n8\n9\n')
    home.write(home.userFile, { tail: 4, trusted_folders: [home.workspace] })
    assert.is(await shown(), '6\n7\n8\n9\n')
    home.write(home.workspaceFile, { tail: 3 })
    assert.is(await shown(), '7\n8\n9\n')
    assert.is(await shown([], { NACRE_TAIL: '2' }), '8\n9\n')
    assert.is(await shown(['--tail', '1'], { NACRE_TAIL: '2' }), '9\n')
  }),
)

test(
  'variables of the file and of the flag are both there',
  withHome(async (home) => {
    home.write(home.userFile, { env: { A: 'file', B: 'file' } })
    const finished = await runCli(['-c', 'echo $A $B', '--env', 'B=flag'], at(home))
    assert.is(finished.stdout.toString(), 'file flag\n')
  }),
)

test(
  'limits of the configuration leave output alone that passes through',
  withHome(async (home) => {
    home.write(home.userFile, { max_lines: 1, tail: 1, truncate: 'head-tail' })
    const finished = await runCli(['-c', 'seq 3'], at(home))
    assert.is(finished.stdout.toString(), '1\n2\n3\n')
  }),
)

test(
  'output_format of the configuration, and a flag over it',
  withHome(async (home) => {
    home.write(home.userFile, { output_format: 'json' })
    const { stdout } = await runCli(['-c', 'echo hi'], at(home))
    assert.is((JSON.parse(stdout.toString()) as { output: string }).output, 'hi\n')
    const plain = await runCli(['-c', 'echo hi', '--output-format', 'text'], at(home))
    assert.is(plain.stdout.toString(), 'hi\n')
  }),
)

test(
  'the configured shell runs the command; a missing one is told',
  withHome(async (home) => {
    home.write(home.userFile, { shell: 'sh' })
    const finished = await runCli(['-c', 'echo "$0"'], at(home))
    assert.is(finished.stdout.toString(), 'sh\n')
    home.write(home.userFile, { shell: '/no/shell' })
    assert.is((await runCli(['-c', 'true'], at(home))).status, 127)
  }),
)

test(
  'a deadline from `timeouts` and from `timeout_seconds`',
  withHome(async (home) => {
    home.write(home.userFile, { timeouts: { slow: 0.2 } })
    const slow = await runJson(['-c', 'sleep 30', '--slow'], at(home))
    assert.is(slow['reason'], 'timeout')
    home.write(home.userFile, { timeout_seconds: 0.2 })
    const any = await runJson(['-c', 'sleep 30'], at(home))
    assert.is(any['reason'], 'timeout')
  }),
)

test(
  'terminals: on for all, off in spite of a request, off for good by NACRE_NO_PTY',
  withHome(async (home) => {
    const isTerminal = async (args: string[], changes = {}) =>
      runJson(['-c', 'test -t 1 && echo yes || echo no', ...args], at(home, changes))
    assert.match(String((await isTerminal([]))['output']), /^no/)
    home.write(home.userFile, { pty: 'on' })
    assert.match(String((await isTerminal([]))['output']), /^yes/)
    home.write(home.userFile, { pty: 'off' })
    assert.match(String((await isTerminal(['--pty']))['output']), /^yes/, 'a flag wins')
    const never = await isTerminal(['--pty'], { NACRE_NO_PTY: '1' })
    assert.match(String(never['output']), /^no/)
    assert.match(String(never['notices']), /pty_off/)
  }),
)

test(
  'a wrong key ends it with one sentence and 125, before anything runs',
  withHome(async (home) => {
    home.write(home.userFile, '{\n  "max_line": 3\n}')
    const { status, stdout, stderr } = await runCli(['-c', 'echo ran'], at(home))
    assert.is(status, 125)
    assert.is(stdout.toString(), '')
    assert.is(
      stderr.toString(),
      `nacre: ${home.userFile}:2: Unknown key \`max_line\`; did you mean \`max_lines\`?\n`,
    )
  }),
)

test(
  'a wrong file does not keep from the help',
  withHome(async (home) => {
    home.write(home.userFile, '{')
    assert.is((await runCli(['--help'], at(home))).status, 0)
    assert.is((await runCli(['--version'], at(home))).status, 0)
    assert.is((await runCli(['guard', '--help'], at(home))).status, 0)
  }),
)

test(
  'a rule that cannot be used is told by its name',
  withHome(async (home) => {
    home.write(home.userFile, { guard: { rules: [{ match: '/(/', decision: 'deny' }] } })
    const { status, stderr } = await runCli(['-c', 'true'], at(home))
    assert.is(status, 125)
    assert.match(stderr.toString(), `${home.userFile}:4`)
    assert.match(stderr.toString(), /no valid regular expression/)
  }),
)

test(
  'what a workspace may not say is told on stderr, unless --quiet',
  withHome(async (home) => {
    home.write(home.workspaceFile, { shell: '/tmp/evil', env: { BASH_ENV: '/tmp/evil' } })
    const told = await runCli(['-c', 'echo fine'], at(home))
    assert.is(told.stdout.toString(), 'fine\n')
    assert.is(told.stderr.toString().split('\n').length, 3)
    assert.match(told.stderr.toString(), /`shell` is ignored: .*`trusted_folders`/)
    const quiet = await runCli(['-c', 'echo fine', '--quiet'], at(home))
    assert.is(quiet.stderr.toString(), '')
    home.write(home.userFile, { trusted_folders: [home.workspace] })
    assert.is((await runCli(['-c', 'true'], at(home))).status, 127, 'now it is taken')
  }),
)

for (const said of [{ array: '3' }, { mode: 'background' }, { wait_seconds: 0 }, { tail: 0 }]) {
  test(
    `a repository that nobody trusts does not change what a command does: ${JSON.stringify(said)}`,
    withHome(async (home) => {
      home.write(home.workspaceFile, said)
      const { stdout, stderr, status } = await runCli(['-c', 'echo hi; exit 3'], at(home))
      assert.equal([stdout.toString(), status], ['hi\n', 3])
      const [key] = Object.keys(said)
      const told = `nacre: ${home.workspaceFile}:2: \`${key}\` is ignored: a workspace may not set it`
      assert.ok(stderr.toString().startsWith(told), stderr.toString())
      assert.match(stderr.toString(), `\`trusted_folders\` of ${home.userFile}\n`)
    }),
  )
}

test(
  'what is wrong in the file of a workspace is a warning, and the rest of it holds',
  withHome(async (home) => {
    const run = async () => {
      const { stderr, status } = await runCli(['-c', 'touch made'], at(home))
      return `${status} ${stderr.toString()}`
    }
    home.write(home.workspaceFile, '# x')
    assert.match(
      await run(),
      /^0 nacre: .*config\.json:1: This is no JSON: .*the file is ignored\n$/,
    )
    const rule = { match: 'touch', decision: 'deny' }
    home.write(home.workspaceFile, { newer: 1, guard: { rules: [rule], newer: 1 } })
    assert.match(await run(), /^126 nacre: .*:2: Unknown key `newer`.*nacre: .*:10: Unknown key/s)
  }),
)

test(
  'a link that leads out of the workspace is no configuration of it',
  withHome(async (home) => {
    const elsewhere = join(home.dir, 'elsewhere.json')
    home.write(elsewhere, { sandbox: 'read-only' })
    mkdirSync(join(home.workspace, '.nacre'))
    symlinkSync(elsewhere, home.workspaceFile)
    const { stderr, status } = await runCli(['-c', 'touch made'], at(home))
    assert.is(status, 0)
    assert.match(stderr.toString(), `it is a link out of ${home.workspace}; the file is ignored`)
  }),
)

test(
  'rules of the workspace hold for a command of its folder, given by --cwd',
  withHome(async (home) => {
    const rule = { name: 'no-touch', match: 'touch', decision: 'deny', reason: 'Not here.' }
    home.write(home.workspaceFile, { guard: { rules: [rule] } })
    const args = ['-c', 'touch made', '--cwd', home.workspace]
    const finished = await runCli(args, { ...at(home), cwd: home.dir })
    assert.is(finished.status, 126)
    assert.match(finished.stderr.toString(), /no-touch: Not here\./)
  }),
)

test(
  'artifacts: folder and quota',
  withHome(async (home) => {
    home.write(home.userFile, { artifact_dir: '~/kept', artifacts: { artifact_bytes: 1000 } })
    const result = await runJson(['-c', 'seq 9999', '--artifact', 'always'], at(home))
    const artifact = result['artifact'] as { path: string; complete: boolean }
    assert.ok(artifact.path.startsWith(join(home.dir, 'kept')))
    assert.is(artifact.complete, false)
  }),
)

test.run()
