import { chmodSync, mkdtempSync, openSync, closeSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../helpers/cli.ts'
import { runCli, runJson } from '../helpers/run-cli.ts'
import { runProgram, type ProgramOptions } from '../helpers/run-program.ts'
import { testTogether } from '../helpers/together.ts'

/** One clear sentence on stderr, nothing on stdout, and the status. */
async function refuses(
  args: string[],
  status: number,
  message: RegExp,
  options: ProgramOptions = {},
): Promise<void> {
  const finished = await runCli(args, options)
  assert.is(finished.stdout.toString(), '')
  assert.match(finished.stderr.toString(), message)
  assert.is(finished.stderr.toString().trimEnd().split('\n').length, 1, 'one line')
  assert.is(finished.status, status)
}

test('an unknown option names the nearest one', () =>
  refuses(['-c', 'true', '--tiemout', '3'], 125, /Unknown option `--tiemout`.*`--timeout`/))
test('an option without its value', () => refuses(['-c', 'true', '--cwd'], 125, /`--cwd` needs a/))
test('a number that is none', () =>
  refuses(
    ['-c', 'true', '--timeout', 'soon'],
    125,
    /`--timeout` must be a number, 0 or more, in seconds or as 500ms, 30s, 5m, 2h, not "soon"/,
  ))
test('a number out of range', () =>
  refuses(
    ['-c', 'true', '--timeout', '-1'],
    125,
    /`--timeout` must be a number, 0 or more, .*not "-1"/,
  ))
test('a choice that is none', () =>
  refuses(['-c', 'true', '--output-format', 'xml'], 125, /must be one of text, json, stream-json/))
test('a run without the network where nothing keeps it from it', () =>
  refuses(['-c', 'true', '--network', 'off'], 125, /`network` off needs a sandbox/))
test('an assignment without a value', () =>
  refuses(['-c', 'true', '--env', 'X'], 125, /NAME=VALUE/))
test('an empty program', () => refuses(['--', ''], 125, /command is empty/))
test('a program that is missing', () => refuses(['--'], 125, /program is missing/))
test('a second command', () => refuses(['-c', 'a', '-c', 'b'], 125, /`-c` was given twice/))
test('a bang alone among lines is told, and the next line runs', async () => {
  const lines = (input: string) => runCli(['-p', '--input-format', 'lines'], { input })
  const between = await lines('!echo one\n!\n!echo two; exit 3\n')
  assert.is(between.stdout.toString(), 'one\ntwo\n')
  assert.is(between.stderr.toString(), 'nacre: bang command is empty\n')
  assert.is(between.status, 3)
  assert.is((await lines('!echo one\n!\n')).status, 125)
})

test('a bang alone', () => refuses(['-p', '!'], 125, /bang command is empty/))
test('a bang alone on stdin', () => refuses(['-p'], 125, /bang command is empty/, { input: '!\n' }))
test('an unknown word', () => refuses(['run'], 127, /Unknown command `run`/))
for (const words of [['doctor'], ['mcp'], ['acp'], ['completion', 'bash'], ['config', 'path']]) {
  test(`a word too many for ${words.join(' ')}`, () =>
    refuses([...words, 'zz'], 125, /^nacre: Usage: nacre /))
}
test('an unknown mode', () =>
  refuses(['--mode', 'rcp'], 125, /`--mode` must be one of .*did you mean "rpc"/))
test('no terminal for the REPL', () => refuses([], 125, /needs a terminal; use --print/))
test('a command for the RPC mode', () =>
  refuses(['--rpc', '-c', 'true'], 125, /standard input alone/))
test('words for the RPC mode', () => refuses(['--mode', 'rpc', 'a'], 125, /standard input alone/))
test('lines of input beside a prompt', () =>
  refuses(['-p', '!echo a', '--input-format', 'lines'], 125, /leave this one out/))
test('the newest conversation and another one', () =>
  refuses(['-p', '--continue', '--resume', 'x', 'hello'], 125, /`--continue` and `--resume` contr/))
test('the name of a built-in rule where a command is to be allowed', () =>
  refuses(
    ['-p', '--allow', 'git-add-blind', '!true'],
    125,
    /--allow git-add-blind.*is the name of a built-in rule/,
  ))
test('a prompt for a model without a model', () =>
  refuses(['-p', 'hello'], 1, /No model is set: .*--model/))

test('a directory that does not exist', () =>
  refuses(['-c', 'pwd', '--cwd', '/does/not/exist'], 125, /does not exist: \/does\/not\/exist/))
test('a file as directory', () =>
  refuses(['-c', 'pwd', '--cwd', '/etc/passwd'], 125, /is not a directory: \/etc\/passwd/))
test('a file within the directory', () =>
  refuses(['-c', 'pwd', '--cwd', '/etc/passwd/x'], 125, /is not a directory/))
test('a shell that does not exist', () =>
  refuses(['-c', 'true', '--shell', '/no/shell'], 127, /Shell does not exist: \/no\/shell/))
test('a shell by a name that is not on the path', () =>
  refuses(['-c', 'true', '--shell', 'no-such-shell'], 127, /Shell does not exist/))
test('a shell that is not executable', () =>
  refuses(['-c', 'true', '--shell', '/etc/passwd'], 126, /not executable: \/etc\/passwd/))

/** What Node says where it cannot open the file that it is to run. */
const failsToLoad = /^node:(?:fs|internal\/[\w/]+):\d+\n/

/** Nacre under the first limits of open files that are too low; which ones these are depends on the runtime. */
async function lowerOpenFiles(way: string, options: readonly string[]): Promise<void> {
  const words = ['-c', 'ulimit -n "$1"; shift; exec "$@"', '_']
  const run = (limit: number) =>
    runProgram('bash', [...words, `${limit}`, ...cliCommand(), ...options, '-c', 'true'])
  const unlimited = await run(1024)
  if (/sandbox|user namespaces/i.test(unlimited.stderr.toString())) {
    return console.log(`SKIP too few open files, ${way}: ${unlimited.stderr.toString().trim()}`)
  }
  assert.is(unlimited.status, 0)
  let refused = 0
  let begins = true
  for (let limit = 40; begins && limit > 4 && refused < 3; limit -= 6) {
    const ended = await Promise.all([run(limit), run(limit - 2), run(limit - 4)])
    for (const { status, stderr } of ended) {
      if (status === 0) continue
      begins &&= status !== null && status < 127 && !failsToLoad.test(stderr.toString())
      if (!begins) break
      refused++
      assert.is(status, 125)
      assert.is(
        stderr.toString(),
        'nacre: No more files can be opened: raise the limit (`ulimit -n`) or end other runs\n',
      )
    }
  }
  assert.ok(refused > 0, 'no limit is too low')
}

testTogether(
  Object.fromEntries(
    [['plain'], ['in a session', '--session', 's'], ['in a sandbox', '--sandbox', 'workspace']].map(
      ([way = '', ...options]) => [
        `a limit of open files that is too low, ${way}`,
        () => lowerOpenFiles(way, options),
      ],
    ),
  ),
)

test('a start that fails is a result in json', async () => {
  const result = await runJson(['-c', 'pwd', '--cwd', '/does/not/exist'])
  assert.is(result['status'], 'not_started')
  assert.is(result['exit_code'], null)
  assert.equal(result['error'], {
    code: 'cwd_not_found',
    message: 'Working directory does not exist: /does/not/exist',
  })
})

test('a stdin that cannot be read', async () => {
  const fd = openSync(tmpdir(), 'r')
  try {
    await refuses(['-p'], 125, /Cannot read standard input: it is a directory/, {
      stdio: [fd, 'pipe', 'pipe'],
    })
  } finally {
    closeSync(fd)
  }
})

test('a session that is given a socket to read', () =>
  refuses(['-c', 'cat', '--session', 's'], 125, /A session reads .*: pass the text/, {
    input: 'unread\n',
  }))

test('a state folder that cannot be written costs a notice, never the run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'state-'))
  // A file where the folder should be: it cannot be made, not even by root.
  writeFileSync(join(folder, 'state'), '')
  chmodSync(join(folder, 'state'), 0o400)
  try {
    const env = { XDG_STATE_HOME: join(folder, 'state') }
    const result = await runJson(['-c', 'echo fine'], { env })
    assert.is(result['output'], 'fine\n')
    assert.match((result['notices'] as string[]).join(), /audit line could not be written/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('--quiet silences messages', async () => {
  const finished = await runCli(['-c', 'sleep 5', '--timeout', '0.1', '--quiet'])
  assert.is(finished.stderr.toString(), '')
  assert.is(finished.status, 124)
})

test.run()
