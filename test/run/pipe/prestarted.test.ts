import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createDeferred } from '../../../lib/protocol/deferred.ts'
import { parseRequest } from '../../../lib/protocol/request/parse-request.ts'
import type { RequestInput } from '../../../lib/protocol/request/request.ts'
import { createFifoPool } from '../../../lib/run/pipe/fifo.ts'
import { createPipeRunner } from '../../../lib/run/pipe/pipe.ts'
import { createPrestarted, type Prestarted } from '../../../lib/run/pipe/prestarted.ts'
import { createPrepareLaunch } from '../../../lib/run/launch.ts'
import type { ControlGroups } from '../../../lib/system/process/control-group.ts'
import { until } from '../../helpers/until.ts'

interface Bench {
  directory: string
  /** Runs it in the waiting shell, or says that none would do. */
  waited: (command: string, more?: Partial<RequestInput>) => Promise<Ended>
  /** Runs it in a shell of its own. */
  fresh: (command: string, more?: Partial<RequestInput>) => Promise<Ended>
}

interface Ended {
  code: number | null
  signal: string | null
  stdout: string
  stderr: string
  prestarted: boolean
}

async function withBench(check: (bench: Bench) => Promise<void>, environment = {}): Promise<void> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'nacre-test-')))
  const pipes = createFifoPool()
  const uninherited = new Set<number>()
  const inner = createPrestarted(uninherited)
  let taken = false
  const prestarted: Prestarted = {
    ready: true,
    prepare: (launch) => inner.prepare(launch),
    close: () => inner.close(),
    async take(launch, paths) {
      const child = await inner.take(launch, paths)
      taken = child !== null
      return child
    },
  }
  const prepare = createPrepareLaunch({
    environment: { ...process.env, ...environment },
    toTerminal: false,
  })
  const plain = createPipeRunner({ prepare, pipes, uninherited })
  const waiting = createPipeRunner({ prepare, pipes, uninherited, prestarted })
  const run = async (runner: typeof plain, command: string, more: Partial<RequestInput> = {}) => {
    const input: RequestInput = { command, origin: 'rpc', shell: 'bash', ...more }
    const request = parseRequest({ streams: 'separate', ...input }, { cwd: directory })
    const texts: Record<string, string> = { stdout: '', stderr: '' }
    taken = false
    const running = await runner(request, {
      write(stream, bytes) {
        texts[stream] += Buffer.from(bytes).toString()
      },
    })
    const { code, signal } = await running.exited
    const { stdout = '', stderr = '' } = texts
    return { code, signal, stdout, stderr, prestarted: taken }
  }
  try {
    await check({
      directory,
      fresh: (command, more) => run(plain, command, more),
      async waited(command, more) {
        const { cwd: _, ...before } = more ?? {}
        inner.prepare(await prepare(parseRequest(request('true', before), { cwd: directory })))
        await until(() => inner.ready)
        return run(waiting, command, more)
      },
    })
  } finally {
    await inner.close()
    pipes.close()
    rmSync(directory, { recursive: true })
  }
}

function request(command: string, more: Partial<RequestInput> = {}): RequestInput {
  return { command, origin: 'rpc', shell: 'bash', ...more }
}

/** Each as in a shell that was started for it. */
const commands: Record<string, string> = {
  'a builtin': 'echo hi',
  'a program': 'ls -la /usr/lib/os-release',
  'a program by its path': '/bin/echo a b',
  'a missing program': 'no-such-program a',
  'a missing path': '/no/such/program a',
  'a directory': '/usr a',
  'a failing program': 'false',
  'a status': 'exit 7',
  'what the shell knows of itself':
    'echo "$0 $- $# $LINENO $BASH_SUBSHELL $SHLVL [$BASH_EXECUTION_STRING]"',
  'who started it': 'echo "$PPID"; sh -c \'echo $PPID\' | grep -c .',
  'that it leads its session': "ps -o pid=,sid=,pgid= -p $$ | awk '{print ($1==$2), ($1==$3)}'",
  'a killed program': `kill -SEGV $$`,
  'a killed last program': `sh -c 'kill -SEGV $$'`,
  'an error with its line': 'echo a\nno-such-program',
  'a syntax error': 'if',
  'an unset variable': 'set -u; echo $none',
  quotes: `echo 'it'"'"'s' "a  b" \\$x`,
  'set -x': 'set -x; echo a',
  'standard input': 'cat; read -r x; echo $?',
  'open descriptors': 'ls /proc/self/fd | wc -l',
  'the environment': 'env | grep -v ^NACRE_RUN= | sort',
  'the environment of a shell': '{ env; } | grep -v -e ^NACRE_RUN= | sort',
  'its directory': 'pwd; echo $PWD $OLDPWD; cd - 2>&1',
  'its limits and mask': 'umask; ulimit -a',
  // Read by the shell itself: while it waits for a program, its masks come and go.
  'its signals': `while read -r line; do case $line in Sig[PBIC]*:*) echo "$line";; esac; done </proc/$$/status; trap -p`,
  'the signals of its programs': `grep -E '^Sig(Pnd|Blk|Ign|Cgt)' /proc/self/status; :`,
  variables: 'compgen -v | grep -v -e ^BASH_ARGV -e ^_$ -e RANDOM | sort',
}

test('a waiting shell that no other shell has started reads no ~/.bashrc', async () => {
  const home = mkdtempSync(join(tmpdir(), 'nacre-test-'))
  writeFileSync(join(home, '.bashrc'), 'export FROM_RC=1\n')
  const check = async ({ waited }: Bench) => {
    const { prestarted, stdout } = await waited('echo "[$FROM_RC]"')
    assert.equal({ prestarted, stdout }, { prestarted: true, stdout: '[]\n' })
  }
  await withBench(check, { HOME: home, SHLVL: undefined })
  rmSync(home, { recursive: true })
})

for (const [name, command] of Object.entries(commands)) {
  test(`in a waiting shell as in its own: ${name}`, async () => {
    await withBench(async ({ waited, fresh }) => {
      const { prestarted, ...result } = await waited(command)
      assert.is(prestarted, true)
      const { prestarted: _, ...expected } = await fresh(command)
      assert.equal(result, expected)
    })
  })
}

test('the environment of a request, and no state of the run before', async () => {
  await withBench(async ({ waited }) => {
    const first = await waited('echo "$A"; B=1; export C=2; cd /', { env: { A: `it's\nnew` } })
    assert.equal([first.stdout, first.prestarted], [`it's\nnew\n`, true])
    const second = await waited('echo "[$A$B$C]"; pwd | grep -c nacre-test')
    assert.equal([second.stdout, second.prestarted], ['[]\n1\n', true])
  })
})

test('where it would not be the same, the run gets a shell of its own', async () => {
  await withBench(async ({ waited, directory }) => {
    writeFileSync(join(directory, 'env'), 'echo sourced\n')
    const text = { kind: 'text', text: 'in\n' } as const
    assert.equal(await waited('cat', { stdin: text }), ended('in\n'))
    const env = { BASH_ENV: join(directory, 'env') }
    assert.equal(await waited('echo a', { env }), ended('sourced\na\n'))
    assert.equal(await waited(`echo ${'x'.repeat(5000)}`), ended(`${'x'.repeat(5000)}\n`))
    assert.equal(await waited('echo b', { shell: 'sh' }), ended('b\n'))
    assert.equal(await waited('echo "$1"', { env: { SHLVL: '7' } }), ended('\n'))
  })
})

test('a waiting shell serves a run in any directory', async () => {
  await withBench(async ({ waited, fresh, directory }) => {
    const linked = join(directory, "a link's")
    symlinkSync('/usr/lib', linked)
    for (const cwd of ['/usr', linked, '/']) {
      const command = 'pwd; pwd -P; echo "$PWD [$OLDPWD]"; cd - 2>&1; env | grep PWD | sort'
      const { prestarted, ...result } = await waited(command, { cwd })
      const { prestarted: _, ...expected } = await fresh(command, { cwd })
      assert.equal([prestarted, result], [true, expected])
    }
  })
})

test('a run that came while a shell was about to wait was started after that shell', async () => {
  let isAsked = false
  const mayStart = createDeferred()
  const groups: ControlGroups = {
    expectStart: () => undefined,
    async enclose(start) {
      isAsked = true
      await mayStart.promise
      return { started: start(), group: null }
    },
    close: async () => undefined,
  }
  const prestarted = createPrestarted(new Set<number>(), groups)
  const prepare = createPrepareLaunch({ environment: process.env, toTerminal: false })
  const launch = await prepare(parseRequest(request('exit 3'), { cwd: tmpdir() }))
  prestarted.prepare(launch)
  await until(() => isAsked)
  const taken = prestarted.take(launch, { stdout: '/dev/null', stderr: '/dev/null' })
  mayStart.resolve()
  const child = await taken
  assert.ok(child)
  const code = await new Promise((resolve) => child.once('exit', resolve))
  assert.is(code, 3)
  await prestarted.close()
})

test('a waiting shell ends when nacre lets go of it', async () => {
  const pipes = createFifoPool()
  const uninherited = new Set<number>()
  const prestarted = createPrestarted(uninherited)
  const prepare = createPrepareLaunch({ environment: process.env, toTerminal: false })
  prestarted.prepare(await prepare(parseRequest(request('true'), { cwd: tmpdir() })))
  await until(() => prestarted.ready)
  await prestarted.close()
  assert.is(prestarted.ready, false)
  pipes.close()
})

function ended(stdout: string): Ended {
  return { code: 0, signal: null, stdout, stderr: '', prestarted: false }
}

test.run()
