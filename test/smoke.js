/**
 * The main jobs of a built nacre, whatever it runs on, without any package:
 *
 *     node test/smoke.js                                  bin/nacre.js under this Node
 *     node test/smoke.js dist/nacre                       the single executable
 *     node test/smoke.js deno run -A bin/nacre.js
 *     node test/smoke.js chroot <root> /nacre             one that sees another root (.ci/tools/bare-machine.sh)
 *
 * Ends with `N passed, N failed` and exit status 1 if anything failed.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const given = process.argv.slice(2)
const [program = '', ...words] =
  given.length > 0 ? given : [process.execPath, join(root, 'bin', 'nacre.js')]
const home = mkdtempSync(join(tmpdir(), 'nacre-smoke-'))

const environment = {
  ...process.env,
  TERM: 'xterm',
  XDG_STATE_HOME: join(home, 'state'),
  XDG_CACHE_HOME: join(home, 'cache'),
  XDG_CONFIG_HOME: join(home, 'config'),
}

/**
 * Runs nacre to its end; `stdout` and `stderr` are bytes.
 *
 * @param {string[]} args
 * @param {string | Uint8Array} [input]
 */
function nacre(args, input = '') {
  const outcome = spawnSync(program, [...words, ...args], {
    cwd: root,
    input,
    timeout: 30_000,
    maxBuffer: 64 * 1024 * 1024,
    env: environment,
  })
  if (outcome.error !== undefined) throw outcome.error
  return outcome
}

/**
 * Asserts what a run gave, everything at once, so that a failure shows the whole of it.
 *
 * @param {string[]} args
 * @param {{ status?: number, stdout?: string, stderr?: string, input?: string }} expected
 */
function expectRun(args, { status = 0, stdout = '', stderr = '', input = '' }) {
  const run = nacre(args, input)
  assert.deepEqual(
    { status: run.status, stdout: run.stdout.toString(), stderr: run.stderr.toString() },
    { status, stdout, stderr },
  )
}

/** @type {Record<string, () => void>} */
const checks = {
  'tells its version'() {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expectRun(['--version'], { stdout: `${version}\n` })
  },
  'does the command of the README'() {
    const command = 'git log --oneline | head -3'
    // There is neither git nor this repository on a bare machine.
    if (nacre(['-c', 'git rev-parse']).status !== 0) return console.log('       (no repository)')
    const expected = spawnSync('bash', ['-c', command], { cwd: root, encoding: 'utf8' }).stdout
    assert.notEqual(expected, '')
    expectRun(['-c', command], { stdout: expected })
  },
  'takes a command as a prompt'() {
    expectRun(['-p', '!echo one two'], { stdout: 'one two\n' })
  },
  'keeps stdout and stderr apart'() {
    expectRun(['-c', 'echo out; echo err >&2'], { stdout: 'out\n', stderr: 'err\n' })
  },
  'exits with the status of the command'() {
    expectRun(['-c', 'exit 7'], { status: 7 })
  },
  'dies by the signal that ends its command'() {
    assert.equal(nacre(['-c', 'kill -TERM $$']).signal, 'SIGTERM')
  },
  'exits with 128 + n for signal n where it supervises the command'() {
    assert.equal(nacre(['-p', '!kill -TERM $$', '--output-format', 'json']).status, 143)
  },
  'passes 5 MB from stdin to stdout unchanged'() {
    const bytes = randomBytes(5 * 1024 * 1024)
    const run = nacre(['-c', 'cat'], bytes)
    assert.equal(run.status, 0)
    assert.ok(run.stdout.equals(bytes), `${run.stdout.length} bytes came back`)
  },
  'lets a command open its output by name'() {
    const command = 'echo out > /dev/stdout; echo err > /dev/stderr'
    const run = nacre(['--output-format', 'json', '-c', command])
    assert.equal(JSON.parse(run.stdout.toString()).output, 'out\nerr\n')
  },
  'gives the result as JSON'() {
    const run = nacre(['--output-format', 'json', '-c', 'echo out; echo err >&2; exit 3'])
    const result = JSON.parse(run.stdout.toString())
    const { status, exit_code, signal, output } = result
    assert.deepEqual(
      { status, exit_code, signal, output, exit: run.status },
      { status: 'exited', exit_code: 3, signal: null, output: 'out\nerr\n', exit: 3 },
    )
  },
  'gives events and then the result as JSON lines'() {
    const run = nacre(['--output-format', 'stream-json', '-c', 'echo out'])
    const lines = run.stdout.toString().trimEnd().split('\n')
    assert.ok(lines.length > 1, run.stdout.toString())
    for (const line of lines) assert.equal(typeof JSON.parse(line), 'object')
  },
  'stops a command at its deadline, with all it started'() {
    const seconds = `3${process.pid}`
    const run = nacre(['--timeout', '1', '-c', `sleep ${seconds} & setsid sleep ${seconds} & wait`])
    assert.equal(run.status, 124)
    const left = spawnSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).stdout.split('\n')
    assert.ok(!left.includes(`sleep ${seconds}`), 'a sleep is left')
  },
  'is not held up by a background process that holds its output'() {
    const run = nacre(['--output-format', 'json', '-c', 'sleep 60 & echo $!'])
    process.kill(Number(JSON.parse(run.stdout.toString()).output), 'SIGKILL')
    assert.equal(run.status, 0)
  },
  'tells a program that is not there'() {
    assert.equal(nacre(['-c', 'no-such-program-here']).status, 127)
  },
  'tells wrong use in one sentence'() {
    const run = nacre(['--no-such-option', '-c', 'echo ran'])
    assert.equal(run.status, 125)
    assert.equal(run.stdout.toString(), '')
    assert.match(run.stderr.toString(), /^[^\n]*no-such-option[^\n]*\n$/)
  },
  'searches what was kept with a pattern, in a thread of its own'() {
    const run = nacre(['--output-format', 'json', '-c', 'seq 1 30000'])
    const { artifact } = JSON.parse(run.stdout.toString())
    expectRun(['artifact', 'grep', artifact.id, '^2999[89]$'], {
      stdout: '29998:29998\n29999:29999\n',
    })
  },
  'cleans what it shows'() {
    const run = nacre(['--output-format', 'json', '-c', String.raw`printf 'a\e[31mred\e[0m é\n'`])
    assert.equal(JSON.parse(run.stdout.toString()).output, 'ared é\n')
  },
  'serves MCP'() {
    const hello = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'smoke', version: '1' },
    }
    const lines = [
      { jsonrpc: '2.0', id: 1, method: 'initialize', params: hello },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/list' },
    ].map((message) => JSON.stringify(message))
    const run = nacre(['mcp'], `${lines.join('\n')}\n`)
    const answers = run.stdout
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const { tools } = answers.find(({ id }) => id === 2).result
    const names = tools.map((/** @type {{ name: string }} */ { name }) => name)
    assert.deepEqual(names, ['bash', 'bash_job', 'artifact'])
  },
  'answers over RPC'() {
    const request = { jsonrpc: '2.0', id: 1, method: 'shell.exec', params: { command: 'echo hi' } }
    const run = nacre(['--rpc'], `${JSON.stringify(request)}\n`)
    assert.equal(JSON.parse(run.stdout.toString()).result.stdout, 'hi\n')
  },
  'keeps the state of a session'() {
    const lines = ['cd /tmp; x=kept', 'echo $x in $PWD'].map((command, id) =>
      JSON.stringify({
        jsonrpc: '2.0',
        id,
        method: 'shell.exec',
        params: { command, session: 's' },
      }),
    )
    const run = nacre(['--rpc'], `${lines.join('\n')}\n`)
    const [, second] = run.stdout.toString().trimEnd().split('\n')
    assert.equal(JSON.parse(second ?? '').result.stdout, 'kept in /tmp\n')
  },
  'leaves a job that can be waited for'() {
    const id = nacre(['-c', 'sleep 0.2; exit 5', '--background', '--quiet'])
      .stdout.toString()
      .trim()
    assert.equal(nacre(['job', 'wait', id, '--quiet']).status, 5)
  },
  'runs the REPL on a terminal'() {
    if (spawnSync('script', ['--version']).error) return console.log('       (no script(1) here)')
    const line = [program, ...words].map((word) => `'${word}'`).join(' ')
    // Each is typed once what was before it has shown its effect.
    const session = [
      `coproc script -qec "${line}" /dev/null`,
      'shows() { while IFS= read -r -N1 -t 20 c <&"${COPROC[0]}"; do seen+=$c; ' +
        '[[ $seen == *"$1"* ]] && { seen=; return; }; done; echo "not shown: $1 in $seen"; exit 1; }',
      "shows 'what to type'",
      `printf '!echo "$((6 * 7)) of it"\\r' >&"\${COPROC[1]}"; shows '42 of it'; shows 'exit 0'`,
      `printf '/quit\\r' >&"\${COPROC[1]}"; wait "$COPROC_PID"; echo quit`,
    ]
    const options = /** @type {const} */ ({ cwd: root, env: environment, timeout: 60_000 })
    const shown = spawnSync('bash', ['-c', session.join('\n')], { ...options, encoding: 'utf8' })
    assert.equal(shown.stdout.trim(), 'quit')
  },
  'gives a command a terminal'() {
    const run = nacre(['--pty', '-c', 'test -t 0 && test -t 1 && test -t 2 && echo a terminal'])
    assert.equal(run.stdout.toString().trimEnd(), 'a terminal')
    assert.equal(run.status, 0)
  },
}

const counts = { passed: 0, failed: 0 }
try {
  for (const [name, check] of Object.entries(checks)) {
    try {
      check()
      counts.passed += 1
      console.log(`ok     ${name}`)
    } catch (error) {
      counts.failed += 1
      const message = error instanceof Error ? error.message : String(error)
      console.log(`FAILED ${name}\n${message.replaceAll(/^/gm, '  | ')}`)
    }
  }
} finally {
  rmSync(home, { recursive: true, force: true })
}
console.log(`${counts.passed} passed, ${counts.failed} failed`)
process.exitCode = counts.failed > 0 ? 1 : 0
