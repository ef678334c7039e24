import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { origins } from '../../../lib/protocol/origin.ts'
import { parseRequest } from '../../../lib/protocol/request/parse-request.ts'
import type { RequestInput } from '../../../lib/protocol/request/request.ts'
import { describeProcess, listProcesses } from '../../../lib/system/process/process-table.ts'
import { findObstacle, openPlaces, type Places, withPlaces } from '../../helpers/sandbox-places.ts'
import { until } from '../../helpers/until.ts'

const obstacle = await findObstacle()
if (obstacle !== null) console.log(`SKIP runs in the sandbox: ${obstacle}`)

function testInside(name: string, body: (places: Places) => Promise<void>): void {
  if (obstacle !== null) return
  const leavesNoStatus = async (places: Places) => {
    await body(places)
    assert.equal(
      readdirSync(join(places.state, 'sandbox')).flatMap((folder) => {
        const names = readdirSync(join(places.state, 'sandbox', folder))
        return names.filter((file) => file.startsWith('status'))
      }),
      [],
      'status files are removed',
    )
  }
  test(name, withPlaces(leavesNoStatus))
}

function hasCompiler(): boolean {
  try {
    execFileSync('cc', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

testInside('the result says what confined it', async ({ run }) => {
  const on = await run('true')
  assert.equal(on.sandbox, { mechanism: 'bubblewrap', network: 'on', degraded: false })
  const off = await run('true', { sandbox: 'read-only', network: 'off' })
  assert.equal(off.sandbox, { mechanism: 'bubblewrap', network: 'off', degraded: false })
  assert.is((await run('true', { sandbox: 'off' })).sandbox, undefined)
})

testInside('output, exit codes and messages are those of a run without', async ({ run }) => {
  const commands = [
    'echo out; echo err >&2; exit 7',
    'no-such-command; echo $?',
    'echo $0 "$#" "$-"; pwd; umask; ulimit -n; echo ~',
    'if then',
    'exit 255',
    'head -c 300000 /dev/zero | tr "\\0" x; echo >&2 end',
    'set -o pipefail; false | true',
    'cat; echo $?',
    'exec 1>&-; echo x',
    'trap "echo bye" EXIT; echo hello',
    'readlink /proc/self/fd/0',
  ]
  for (const command of commands) {
    for (const streams of ['merged', 'separate'] as const) {
      const pick = async (sandbox: 'workspace' | 'off') => {
        const { exitCode, output, stdout, stderr, status } = await run(command, {
          sandbox,
          streams,
        })
        return { exitCode, output, stdout, stderr, status }
      }
      assert.equal(await pick('workspace'), await pick('off'), command)
    }
  }
  const text = { stdin: { kind: 'text', text: 'given' } } as const
  assert.is((await run('cat', text)).output, 'given')
})

testInside('an end by a signal that no program chooses is told as one', async ({ run }) => {
  for (const name of ['SEGV', 'ABRT', 'KILL']) {
    const { status, signal, exitCode } = await run(`kill -${name} $$`)
    assert.equal([status, signal, exitCode], ['signaled', `SIG${name}`, null])
  }
  // A program may say so by itself.
  const { status, exitCode, exitMeaning } = await run('exit 143')
  assert.equal([status, exitCode], ['exited', 143])
  assert.is(exitMeaning, 'a command was ended by SIGTERM')
})

testInside('a stopped run may clean up before it ends', async ({ stopWhenUp }) => {
  const command = `trap 'echo clean; exit 5' TERM; echo ready; sleep 100 & echo >"$WS/up"; wait`
  const result = await stopWhenUp(command)
  assert.is(result.status, 'stopped')
  assert.is(result.output, 'ready\nclean\n')
  assert.is(result.reason, 'cancel')
  const plain = await stopWhenUp('cd "$WS"; echo >up; sleep 100')
  assert.is(plain.signal, 'SIGTERM')
  assert.equal(plain.survivors, [])
})

testInside('a stop ends what has left its group and dropped its environment', async ({ run }) => {
  const command = `env -i setsid sh -c 'trap "" TERM; while :; do sleep 1; done' & sleep 100`
  const result = await run(command, { timeoutSeconds: 1 })
  assert.equal(result.survivors, [])
  assert.equal([result.status, result.reason], ['stopped', 'timeout'])
})

testInside(
  'what is left in the background ends with the run, which names it',
  async ({ run, workspace }) => {
    const result = await run(`nohup setsid sleep 98765 >/dev/null 2>&1 & echo started`)
    assert.is(result.output, 'started\n')
    assert.match(result.notices.join(), /ended with the sandbox of this run: sleep 98765\./)
    assert.not.ok(
      listProcesses().some(({ pid }) => describeProcess(pid) === 'sleep 98765'),
      workspace,
    )
    const awaitNames =
      'for pid in $(jobs -p); do until grep -q sleep /proc/$pid/comm; do :; done; done'
    for (let index = 0; index < 10; index++) {
      const { notices } = await run(`sleep 100 & sleep 100 & ${awaitNames}`)
      assert.match(notices.join(), /: sleep 100, sleep 100\./)
    }
  },
)

testInside(
  'a directory outside of the workspace is not entered',
  async ({ run, outside, workspace }) => {
    mkdirSync(join(workspace, 'deep'))
    const outsideRun = await run('pwd', { cwd: outside, workspace })
    assert.is(outsideRun.status, 'not_started')
    assert.equal(outsideRun.error, {
      code: 'cwd_outside_workspace',
      message: `Working directory is outside the workspace: ${outside}`,
    })
    assert.is((await run('pwd', { cwd: join(workspace, 'deep'), workspace })).status, 'exited')
  },
)

testInside(
  'nobody chooses another workspace by choosing a directory',
  async ({ run, outside, workspace }) => {
    for (const origin of origins) {
      const result = await run('pwd', { cwd: outside, origin })
      assert.is(result.error?.code, 'cwd_outside_workspace', origin)
      assert.is((await run('touch x', { cwd: workspace, origin })).exitCode, 0, origin)
    }
  },
)

testInside('the default workspace is the root of the repository', async ({ run, workspace }) => {
  mkdirSync(join(workspace, '.git'))
  mkdirSync(join(workspace, 'a/b'), { recursive: true })
  const result = await run('touch ../../here && ls ../..', { cwd: join(workspace, 'a/b') })
  assert.match(result.output ?? '', 'here')
})

testInside(
  'the whole file system and a hidden folder are no workspaces',
  async ({ run, state, home }) => {
    const cases = [
      [{ cwd: '/', workspace: '/' }, 'workspace_too_wide'],
      [{ cwd: join(home, '.ssh'), workspace: join(home, '.ssh') }, 'cwd_hidden'],
      [{ cwd: state, workspace: state }, 'cwd_hidden'],
      [{ workspace: '/nacre/nowhere' }, 'workspace_not_found'],
    ] as const
    for (const [changes, code] of cases) {
      const result = await run('true', changes)
      assert.is(result.error?.code, code)
      assert.is(result.status, 'not_started')
    }
  },
)

testInside('a refused write is told', async ({ run, workspace }) => {
  const commands = [
    'touch "$OUT/new"',
    'echo x >"$OUT/target"',
    'touch ../outside/new',
    "node -e \"fs.writeFileSync(process.env.OUT + '/new', '')\"",
    'sh -c \'echo x >"$OUT/target"\'',
    'rm "$OUT/target"',
    'mkdir "$OUT/folder/x" || true',
    'cd .. && cd outside && touch new',
    'cd "../outside"; echo x >target',
  ]
  for (const command of commands) {
    const { notices } = await run(command)
    assert.is(notices.length, 1, command)
    assert.match(notices[0] ?? '', 'A write was refused: ')
    assert.match(notices[0] ?? '', workspace)
  }
  const readOnly = await run('touch here', { sandbox: 'read-only' })
  assert.match(readOnly.notices[0] ?? '', 'lets this run write a private /tmp')
})

testInside('a refused write is told in the words of any language', async ({ run }) => {
  const words = [
    ['open /usr/x: read', '-only file system'],
    ['java.io.FileNotFoundException: /usr/x (Read', '-only file system)'],
    ['OSError: [Errno 30] Read', "-only file system: '/usr/x'"],
    ['Error: EBUSY: resource', " busy or locked, rename '/a' -> '/b'"],
  ]
  for (const [before = '', after = ''] of words) {
    const { notices } = await run(`printf '%s%s\\n' "${before}" "${after}"`)
    assert.match(notices[0] ?? '', 'A write was refused: ', before)
  }
})

testInside('words about a read-only file system are no refused write', async ({ run }) => {
  const commands = [
    'echo "touch: cannot touch \'/etc/x\': Read-only file system"',
    'echo "the Read-""only file system"',
  ]
  for (const command of commands) assert.equal((await run(command)).notices, [], command)
})

testInside(
  'caches go to the private tmp unless their own folder is open',
  async ({ run, home }) => {
    const show = 'echo "$npm_config_cache $TMPDIR"'
    assert.is((await run(show)).output, '/tmp/nacre-cache/.npm /tmp\n')
    mkdirSync(join(home, '.npm'))
    const inCache = await run(show, { cwd: join(home, '.npm'), workspace: join(home, '.npm') })
    assert.is(inCache.output, ' /tmp\n')
    const given = { npm_config_cache: '/tmp/mine', TMPDIR: '/tmp/other' }
    assert.is((await run(show, { env: given })).output, '/tmp/mine /tmp/other\n')
  },
)

if (hasCompiler()) {
  testInside(
    'a library of the command is not loaded into what builds the sandbox',
    async ({ run, root, outside, observe }) => {
      const code = `#include <stdio.h>\n__attribute__((constructor)) void f(void) { FILE *o = fopen("${outside}/loaded", "w"); if (o) fclose(o); }`
      writeFileSync(join(root, 'evil.c'), code)
      execFileSync('cc', ['-shared', '-fPIC', '-o', 'evil.so', 'evil.c'], { cwd: root })
      const env = { LD_PRELOAD: join(root, 'evil.so') }
      const before = observe()
      const ways = [{}, { pty: true }]
      for (const way of ways) {
        const result = await run('echo $LD_PRELOAD', { env, ...way })
        assert.match(result.output ?? '', 'evil.so')
        assert.is(observe(), before)
      }
      await run('true', { env, sandbox: 'off' })
      assert.is.not(observe(), before)
      rmSync(join(outside, 'loaded'))
    },
  )
} else {
  console.log('SKIP a library loaded into the sandbox: there is no C compiler')
}

testInside(
  'programs of the command are not taken for those that build the sandbox',
  async ({ run, workspace, observe }) => {
    mkdirSync(join(workspace, 'bin'))
    for (const name of ['bwrap', 'sh', 'env', 'setsid', 'script', 'true']) {
      writeFileSync(join(workspace, 'bin', name), '#!/bin/bash\necho >"$OUT/target"\n', {
        mode: 0o755,
      })
    }
    const before = observe()
    const env = {
      PATH: `${workspace}/bin:/usr/bin:/bin`,
      BASH_ENV: `${workspace}/bin/sh`,
      ENV: `${workspace}/bin/sh`,
    }
    for (const way of [{}, { pty: true }]) {
      assert.is((await run('echo $PATH', { env, ...way })).sandbox?.mechanism, 'bubblewrap')
      assert.is(observe(), before)
    }
  },
)

testInside('a terminal run has its terminal, its size and its keys', async ({ run }) => {
  const result = await run(
    'stty size; [ -t 0 ] && [ -t 1 ] && echo x >/dev/tty && ps -o tty= -p $$',
    {
      pty: true,
      columns: 100,
      rows: 30,
    },
  )
  assert.match(result.output ?? '', /^30 100\nx\n/)
  assert.is(result.exitCode, 0)
})

test('Ctrl-C reaches the command and only it', async () => {
  if (obstacle !== null) return
  const { createExecutor } = await import('../../../lib/executor/executor.ts')
  const places = await openPlaces()
  const executor = createExecutor({ stateDir: null, cwd: places.workspace })
  try {
    let text = ''
    const command = `trap 'echo caught; exit 9' INT; echo ready; read line`
    const started = await executor.run(
      { command, origin: 'print', sandbox: 'workspace', pty: true, waitSeconds: 0, guard: false },
      {
        onEvent(event) {
          if (event.type === 'output') text += Buffer.from(event.bytes).toString()
        },
      },
    )
    await until(() => text.includes('ready'))
    await until(() => executor.jobs.find(started.id).look().waitingForInput === 'line')
    void executor.jobs.write(started.id, '\u0003')
    const result = await executor.jobs.wait(started.id, { timeoutSeconds: 30 })
    assert.match(result.output ?? '', 'caught')
    assert.is(result.exitCode, 9)
  } finally {
    await executor.close()
    await places.remove()
  }
})

if (obstacle === null && process.getuid?.() === 0) {
  test('a socket in the private folder of another user does not keep root from its sandbox', async () => {
    const places = await openPlaces({ socket: true })
    try {
      chownSync(places.outside, 65_534, 65_534)
      chmodSync(places.outside, 0o700)
      const { output, exitCode } = await places.run('cat $OUT/socket')
      assert.match(output ?? '', /^cat: .*Permission denied\n$/)
      assert.is(exitCode, 1, output)
    } finally {
      await places.remove()
    }
  })
}

test('where the sandbox does not work, nothing runs unless the configuration allows it', async () => {
  const { createSandbox } = await import('../../../lib/run/sandbox/sandbox.ts')
  const { terminalRequest } = await import('../../helpers/terminal-run.ts')
  const broken = async () => ({
    path: null,
    problem: 'Broken here',
    networkProblem: 'No network',
  })
  const places = {
    home: '/',
    stateDir: null,
    artifactDir: null,
    folders: new Map(),
    writable: [],
    hidden: [],
    visible: [],
  }
  const base = { ...places, probe: broken }
  const request = terminalRequest('true', { sandbox: 'workspace', pty: null })
  const launch = { file: '/bin/true', argv0: 'true', args: [], env: {}, cwd: '/', mark: 'x' }
  const strict = createSandbox(base)
  for (const attempt of [strict.decide(request), strict.confine(launch, request)]) {
    const error = await attempt.then(
      () => null,
      (reason: unknown) => reason,
    )
    assert.match(String(error), 'Broken here')
    assert.is((error as { failure: { code: string } }).failure.code, 'sandbox_unavailable')
  }
  const loose = { ...request, sandboxMayFallBack: true }
  assert.is(await strict.confine(launch, loose), launch)
  const { use, notices } = await strict.decide({ ...loose, network: 'off' })
  assert.equal(use, { mechanism: 'none', network: 'on', degraded: true })
  assert.match(notices[0] ?? '', /^NOT SANDBOXED: .* No network$/)
  strict.close()
})

test('a sandbox where the state folder cannot be made', async () => {
  const { createSandbox } = await import('../../../lib/run/sandbox/sandbox.ts')
  const stateDir = '/dev/null/state'
  const sandbox = createSandbox({
    home: '/',
    stateDir,
    artifactDir: null,
    folders: new Map(),
    writable: [],
    hidden: [],
    visible: [],
  })
  try {
    assert.ok(sandbox.statusFile('run_1').includes('nacre-sandbox-'), 'among temporary files')
  } finally {
    sandbox.close()
  }
})

test('a run that asks for the sandbox itself never goes on without one', () => {
  const context = { cwd: '/', defaults: { sandbox: 'auto' } } as const
  const mayFallBack = (changes: Partial<RequestInput>) =>
    parseRequest({ command: 'true', origin: 'print', ...changes }, context).sandboxMayFallBack
  assert.ok(mayFallBack({}))
  assert.not.ok(mayFallBack({ sandbox: 'workspace' }))
  assert.not.ok(mayFallBack({ network: 'off' }))
})

test.run()
