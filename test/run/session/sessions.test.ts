import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { StartError } from '../../../lib/protocol/ports.ts'
import { readProcess } from '../../../lib/system/process/process-table.ts'
import { removeLeftIn } from '../../../lib/system/temporary-folder.ts'
import { withSessions } from '../../helpers/sessions.ts'
import { until } from '../../helpers/until.ts'

/** Commands that end the shell: how the run settles. */
const endings: Record<string, { command: string; code: number | null; signal: string | null }> = {
  exit: { command: 'echo a; exit 3', code: 3, signal: null },
  'an exit in a function': {
    command: 'f() { exit 4; }; echo a; f; echo no',
    code: 4,
    signal: null,
  },
  exec: { command: 'echo a; exec sh -c "exit 5"', code: 5, signal: null },
  'exec of nothing': { command: 'echo a; exec no-such-program', code: 127, signal: null },
  errexit: { command: 'echo a; set -e; (exit 6); echo no', code: 6, signal: null },
  'errexit from a run before': { command: 'set -e', code: 0, signal: null },
  'an unset variable': { command: 'echo a; set -u; echo $none; echo no', code: 1, signal: null },
  'a parameter that must be set': { command: 'echo a; : ${none:?}', code: 1, signal: null },
  'kill -9 of itself': { command: 'echo a; kill -9 $$', code: null, signal: 'SIGKILL' },
  'TERM to itself': { command: 'echo a; kill -TERM $$; echo no', code: null, signal: 'SIGTERM' },
}

for (const [name, { command, code, signal }] of Object.entries(endings)) {
  test(`a run that ends the shell settles with its own status: ${name}`, async () => {
    await withSessions(async ({ run }) => {
      await run('cd /usr; kept=1')
      let ended = await run(command)
      if (name === 'errexit from a run before') ended = await run('echo a; false')
      assert.equal([ended.code, ended.signal, ended.stdout], [code === 0 ? 1 : code, signal, 'a\n'])
      assert.equal(ended.notices, [])
      const next = await run('echo "[$kept]"; pwd')
      assert.is(next.stdout, '[]\n/usr\n')
      assert.is(next.notices?.length, 1)
      assert.match(next.notices?.[0] ?? '', /in a fresh one in \/usr/)
      assert.equal((await run('true')).notices, [])
    })
  })
}

for (const [opener, other] of [
  ['rpc', 'mcp'],
  ['mcp', 'rpc'],
] as const) {
  test(`a session that ${opener} has opened is not one for ${other}`, async () => {
    await withSessions(async ({ run }) => {
      await run('secret=1', { origin: opener })
      const refused = await run('echo $secret', { origin: other }).catch((error: unknown) => error)
      assert.instance(refused, StartError)
      assert.is((refused as StartError).failure.code, 'session_of_another')
      assert.is((await run('echo $secret', { origin: opener })).stdout, '1\n')
    })
  })
}

test('an EXIT trap writes to the run that ends the shell', async () => {
  await withSessions(async ({ run }) => {
    await run(`trap 'echo bye' EXIT`)
    const ended = await run('exit 2')
    assert.equal([ended.code, ended.stdout], [2, 'bye\n'])
  })
})

test('state goes on: directory, variables, functions, aliases, options, traps, jobs', async () => {
  await withSessions(async ({ run }) => {
    await run(
      `cd /usr/bin; v=1; export e=2; f() { echo f; }; alias al='echo alias'; shopt -s extglob; set -u; trap 'echo usr' USR1`,
    )
    const { stdout, cwd } = await run(
      'pwd; echo $v; env | grep ^e=; f; al; shopt -q extglob && echo ext; case $- in *u*) echo u;; esac; kill -USR1 $$; cd ..; cd -',
    )
    assert.is(stdout, '/usr/bin\n1\ne=2\nf\nalias\next\nu\nusr\n/usr/bin\n')
    assert.is(cwd, '/usr/bin')
  })
})

test('$?, $_, $! and jobs are carried over', async () => {
  await withSessions(async ({ run }) => {
    await run('sleep 100 & echo a b >/dev/null; (exit 9)')
    const next = await run('echo $? $_; [[ -n $! ]] && echo $(jobs -r | wc -l); kill $!; wait')
    assert.is(next.stdout, '9 b\n1\n')
  })
})

test('set -e, ERR and DEBUG traps act on commands only, run after run', async () => {
  await withSessions(async ({ run }) => {
    await run(`n=0; set -e; trap 'n=$((n+1))' DEBUG`)
    await run('true')
    const { stdout } = await run('true; echo $n; echo $-')
    assert.match(stdout, /^\d+\n\w*e\w*\n$/)
    const syntax = await run('if')
    assert.is(syntax.code, 2)
    const after = await run(`trap -p DEBUG; trap - DEBUG; trap 'echo err' ERR; set +e`)
    assert.is(after.stdout, `trap -- 'n=$((n+1))' DEBUG\n`)
    assert.is((await run('false')).stdout, 'err\n')
    assert.is((await run('false; trap - ERR')).stdout, 'err\n')
    assert.is((await run('false')).stdout, '')
  })
})

test('set -x shows the command, and nothing of ours', async () => {
  await withSessions(async ({ run }) => {
    assert.is((await run('set -x; echo a')).stderr, '++ echo a\n')
    assert.is((await run('false')).stderr, '++ false\n')
    assert.is((await run('{ set +x; } 2>/dev/null')).stderr, '')
    assert.is((await run('echo a')).stderr, '')
  })
})

test('a command cannot reach what carries commands and records', async () => {
  await withSessions(async ({ run }) => {
    await run('kept=1')
    const open = await run('ls -l /proc/self/fd | grep -c -e socket -e nacre-shell')
    assert.is(open.stdout, '0\n')
    const all = await run('for fd in {0..300}; do eval "exec $fd>&-"; done; exit 0')
    assert.is(all.code, 0)
    assert.is((await run('echo sane')).stdout, 'sane\n')
  })
})

test('set -n, a stray break and a closed shell never hang', async () => {
  await withSessions(async ({ run }) => {
    for (const command of ['set -n', 'break', 'continue', 'set -n; break', 'exec 0<&- 1>&- 2>&-']) {
      await run(command)
      assert.is((await run('echo sane $LINENO')).code, 0)
    }
    for (let turn = 0; turn < 5; turn++) await run('echo $((1 / 0))')
    const { stdout, notices } = await run('echo sane')
    assert.equal([stdout, notices], ['sane\n', []])
  })
})

test('late output of a background job never lands in the next run', async () => {
  await withSessions(async ({ run, directory }) => {
    const gate = join(directory, 'gate')
    const first = await run(
      `mkfifo ${gate}; { read -r _ <${gate}; echo late; echo late >&2; } & echo now`,
    )
    assert.is(first.stdout, 'now\n')
    const second = await run(`echo go >${gate}; wait; echo second`)
    assert.equal([second.stdout, second.stderr], ['second\n', ''])
    const third = await run('echo third')
    assert.equal([third.stdout, third.stderr], ['third\n', ''])
  })
})

test('a background job that floods its old output is not held up, nor is the session', async () => {
  await withSessions(async ({ run }) => {
    await run('head -c 3000000 /dev/zero &')
    assert.is((await run('wait $!; echo $?')).stdout, '0\n')
  })
})

test('every byte is there when the run settles', async () => {
  await withSessions(async ({ run }) => {
    for (const bytes of [0, 1, 4096, 65_536, 65_537, 200_000, 3_000_000]) {
      const { stdout } = await run(`head -c ${bytes} /dev/zero | tr '\\0' x`)
      assert.is(stdout.length, bytes)
    }
    const many = await run('for ((i = 0; i < 20000; i++)); do echo $i; done')
    assert.is(many.stdout.split('\n').length, 20_001)
  })
})

test('merged output keeps the order of writing', async () => {
  await withSessions(async ({ run }) => {
    const { output } = await run('for i in 1 2 3; do echo o$i; echo e$i >&2; done', {
      streams: 'merged',
    })
    assert.is(output, 'o1\ne1\no2\ne2\no3\ne3\n')
    const named = await run('echo a >/dev/stdout; echo b >/dev/stderr; echo c | tee /dev/stderr')
    assert.equal([named.stdout, named.stderr], ['a\nc\n', 'b\nc\n'])
  })
})

test('standard input is a text, or nothing', async () => {
  await withSessions(async ({ run }) => {
    const text = 'one\ntwo\n'.repeat(50_000)
    const counted = await run('read -r first; echo $first; wc -c', {
      stdin: { kind: 'text', text },
    })
    assert.is(counted.stdout.trim().split(/\s+/).join(), `one,${text.length - 4}`)
    assert.is((await run('cat; echo $?')).stdout, '0\n')
  })
})

test('a session reads no named pipe', async () => {
  if (process.platform !== 'linux') return console.log('SKIP named pipes: they want /proc')
  await withSessions(async ({ directory, run }) => {
    const path = join(directory, 'pipe')
    execFileSync('mkfifo', [path])
    const fd = openSync(path, 'r+')
    await rejects(run('cat', { stdin: { kind: 'descriptor', fd } }), 'session_stdin')
    closeSync(fd)
  })
})

test('env is for one run, cwd moves the session', async () => {
  await withSessions(async ({ run }) => {
    await run('PATH_BEFORE=$PATH; given=before')
    const env = { given: `it's "new"\n`, PATH: '/nowhere' }
    const inside = await run('echo "$given$PATH"; /usr/bin/env | /usr/bin/grep -c ^given', { env })
    assert.is(inside.stdout, `it's "new"\n/nowhere\n1\n`)
    assert.is(
      (await run('echo $given; [[ $PATH = "$PATH_BEFORE" ]] && echo same')).stdout,
      'before\nsame\n',
    )
    await run('set -u')
    const { stdout, notices } = await run('echo "$unknown"', { env: { unknown: 'lent' } })
    assert.equal([stdout, notices], ['lent\n', []])
    await run('set +u')
    assert.is((await run('pwd', { cwd: '/usr' })).stdout, '/usr\n')
    assert.is((await run('pwd; cd /')).stdout, '/usr\n')
    assert.is((await run('pwd; cd - >/dev/null; pwd')).stdout, '/\n/usr\n')
    await rejects(run('pwd', { cwd: '/no/such/place' }), 'cwd_not_found')
    await rejects(run('pwd', { env: { UID: '7' } }), 'session_environment')
    assert.is((await run('pwd')).stdout, '/usr\n')
  })
})

test('a command of 250 KB and one with a NUL', async () => {
  await withSessions(async ({ run, start }) => {
    const long = `echo ${'x'.repeat(250_000)} | wc -c`
    assert.is((await run(long)).stdout.trim(), '250001')
    assert.is((await run('echo short')).stdout, 'short\n')
    await rejects(start('echo a\0b'), 'MisuseError')
  })
})

test('any text of quotes, spaces and signs is evaluated as bash does', async () => {
  await withSessions(async ({ run }) => {
    const sign = fc.constantFrom(...'\'"\\$`!#&;|<>(){}[]*?~ \t\nabüé')
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: sign, maxLength: 30 }), async (text) => {
        const quoted = `'${text.replaceAll("'", `'\\''`)}'`
        assert.is((await run(`printf %s ${quoted}`)).stdout, text)
      }),
      { numRuns: 100 },
    )
  })
})

test('a stop ends the command and spares the shell and what ran before', async () => {
  await withSessions(async ({ run, start }) => {
    // Until it has become its program, only its age tells it from what the next command starts.
    await run(
      'kept=1; sleep 100 & old=$!; until [ "$(ps -o comm= -p $old)" = sleep ]; do sleep 0.01; done',
    )
    for (const command of [
      'echo up; sleep 100; echo no',
      'echo up; while :; do :; done',
      'f() { echo up; sleep 100; echo no; }; f; f',
      'echo up; sleep 100 | cat | cat',
      'sleep 100 & echo up; wait',
      '(trap "" TERM; echo up; while :; do sleep 0.05; done)',
      'setsid sh -c "sleep 100 & sleep 100" & echo up; sleep 100',
      'echo up; kill -STOP $$; echo no',
    ]) {
      const { running, wrote, collected } = await start(command)
      await wrote('up')
      const report = await running.stop('cancel')
      assert.equal(report.survivors, [], command)
      const ended = await collected
      assert.equal([ended.code, ended.signal, ended.stdout], [null, 'SIGTERM', 'up\n'], command)
      const next = await run('echo $kept; kill -0 $old && echo old; jobs -r | wc -l')
      assert.equal([next.stdout, next.notices], ['1\nold\n1\n', []], command)
    }
    await run('kill $old')
  })
})

test('a shell that is stopped while its command ends is not lost', async () => {
  await withSessions(async ({ run, start }) => {
    await run('kept=1')
    for (const command of [
      '(trap "" TERM; echo up; sleep 0.2; kill -STOP $$); echo no',
      '(trap "" TERM; echo up; sleep 0.2; kill -STOP $$) & wait',
    ]) {
      const { running, wrote, collected } = await start(command)
      await wrote('up')
      await running.stop('cancel')
      assert.is((await collected).stdout, 'up\n', command)
      const next = await run('echo $kept')
      assert.equal([next.stdout, next.notices], ['1\n', []], command)
    }
  })
})

test('shells of many sessions stopped at once all come back', async () => {
  await withSessions(async ({ run, start }) => {
    const names = Array.from({ length: 12 }, (_, number) => `s${number}`)
    const started = await Promise.all(
      names.map((session) => start('kept=1; echo up; sleep 100', { session })),
    )
    await Promise.all(started.map(({ wrote }) => wrote('up')))
    await Promise.all(started.map(({ running }) => running.stop('cancel')))
    await Promise.all(started.map(({ collected }) => collected))
    const next = await Promise.all(names.map((session) => run('echo $kept', { session })))
    assert.equal(
      next.map(({ stdout, notices }) => [stdout, notices]),
      names.map(() => ['1\n', []]),
    )
  })
})

test('a shell lost in a directory that is gone does not say that it went on there', async () => {
  await withSessions(async ({ run, directory }) => {
    await run('mkdir gone && cd gone && rmdir ../gone')
    await run('exit 3')
    const next = await run('pwd')
    assert.is(next.stdout, `${directory}\n`)
    assert.match(next.notices?.join('\n') ?? '', new RegExp(`does not exist: ${directory}/gone; `))
    assert.match(next.notices?.join('\n') ?? '', new RegExp(`fresh one in ${directory},`))
  })
})

test('a stop spares what an earlier command starts meanwhile', async () => {
  await withSessions(async ({ run, start }) => {
    await run('while :; do sleep 0.001 || echo hurt; done >log 2>&1 & old=$!')
    for (let turn = 0; turn < 20; turn++) {
      const { running, wrote, collected } = await start('echo up; sleep 100')
      await wrote('up')
      await running.stop('cancel')
      await collected
    }
    assert.is((await run('kill $old; wait $old; cat log')).stdout, '')
  })
})

test('a shell that will not leave its command is replaced', async () => {
  await withSessions(async ({ run, start }) => {
    await run('cd /usr')
    const { running, wrote, collected } = await start(`trap '' URG; echo up; while :; do :; done`)
    await wrote('up')
    await running.stop('timeout')
    assert.is((await collected).signal, 'SIGTERM')
    const next = await run('pwd')
    assert.is(next.stdout, '/usr\n')
    assert.match(next.notices?.join() ?? '', /did not survive the stop/)
  })
})

test('runs of one session take turns, another session is not held up', async () => {
  await withSessions(async ({ run, start, sessions }) => {
    const first = await start('echo up; read -r _ </dev/stdin; sleep 100')
    await first.wrote('up')
    const second = await start('echo second')
    const third = await start('echo third')
    assert.is(second.running.pid(), null)
    assert.is((await run('echo other', { session: 'other' })).stdout, 'other\n')
    assert.equal(
      sessions.list().map(({ name, busy, queued }) => [name, busy, queued]),
      [
        ['main', true, 2],
        ['other', false, 0],
      ],
    )
    await second.running.stop('cancel')
    const waited = await second.collected
    assert.is(waited.signal, null)
    assert.match(waited.notStarted?.message ?? '', 'never started: its session was busy')
    await first.running.stop('cancel')
    assert.is((await third.collected).stdout, 'third\n')
  })
})

test('the last argument of a command was handed to every program after `set -a`', async () => {
  await withSessions(async ({ run }) => {
    await run('set -a; : secret')
    assert.is((await run('env | grep __nacre')).stdout, '')
    assert.is((await run('set +a; env | grep __nacre')).stdout, '')
    assert.is((await run("declare -i _; sh -c 'exit 7' 5")).code, 7)
  })
})

test('a slow reader slows the command down and loses nothing', async () => {
  await withSessions(async ({ sessions, start }) => {
    const { collected } = await start(`for ((i = 0; i < 50000; i++)); do echo $i; done`)
    assert.is((await collected).stdout.split('\n').length, 50_001)
    assert.is(sessions.list().length, 1)
  })
})

test('at most so many sessions', async () => {
  await withSessions(
    async ({ run, start }) => {
      await run('true')
      await rejects(start('true', { session: 'second' }), 'too_many_sessions')
    },
    { maxSessions: 1 },
  )
})

test('an idle session ends, and the next command is told', async () => {
  await withSessions(
    async ({ run, sessions }) => {
      await run('cd /usr; kept=1')
      await until(() => sessions.list().length === 0)
      const next = await run('echo "[$kept]"; pwd')
      assert.is(next.stdout, '[]\n/usr\n')
      assert.match(next.notices?.join() ?? '', /idle minutes/)
    },
    { idleMs: 1000 },
  )
})

test('another shell runs fresh, with a notice', async () => {
  await withSessions(async ({ run, sessions }) => {
    const { stdout, notices } = await run('echo $0', { shell: 'sh' })
    assert.match(stdout, /sh\n$/)
    assert.match(notices?.join() ?? '', /sh cannot keep a session/)
    assert.equal(sessions.list(), [])
  })
})

test('a run that names another shell than that of its session was run in that', async () => {
  await withSessions(async ({ run }) => {
    await run('kept=1')
    await rejects(run('echo "[$kept]"', { shell: 'zsh' }), 'session_shell')
    assert.is((await run('echo "[$kept]"', { shell: '/bin/bash' })).stdout, '[1]\n')
  })
})

test('a run in a sandbox never runs in the shell of a session', async () => {
  await withSessions(async ({ run }) => {
    await run('kept=1')
    await rejects(run('echo "[$kept]"', { sandbox: 'workspace' }), 'session_sandbox')
    assert.is((await run('echo "[$kept]"')).stdout, '[1]\n')
  })
})

test('closing ends the shell and all that it started', async () => {
  await withSessions(async ({ run, sessions, directory }) => {
    await run(`trap 'echo bye >${directory}/trap' EXIT; setsid sleep 100 & sleep 100 & disown -a`)
    assert.is(await sessions.close('main'), true)
    assert.is(await sessions.close('main'), false)
    assert.is(readFileSync(join(directory, 'trap'), 'utf8'), 'bye\n')
  })
})

test('a session whose shell was killed from outside starts again', async () => {
  await withSessions(async ({ run, sessions }) => {
    await run('cd /usr')
    const [session] = sessions.list()
    process.kill(session?.pid as number, 'SIGKILL')
    await until(() => sessions.list()[0]?.pid === null)
    const next = await run('pwd')
    assert.equal([next.code, next.stdout, next.notices?.length], [0, '/usr\n', 1])
  })
})

if ('Deno' in globalThis) process.stdout.write('SKIP a killed nacre: started with Node and tsx\n')
else {
  test('the shell of a session ends with a killed nacre', async () => {
    const program = join(import.meta.dirname, '../../../fixtures/programs/killed-with-a-session.ts')
    const { stdout, signal } = spawnSync(process.execPath, ['--import', 'tsx', program], {
      encoding: 'utf8',
    })
    assert.is(signal, 'SIGKILL')
    const pid = Number(stdout)
    assert.ok(pid > 1)
    await until(() => readProcess(pid)?.zombie ?? true)
    // As the next nacre does at its start.
    removeLeftIn(tmpdir())
  })
}

for (const spoiled of [
  "IFS=$'\\001'; echo a",
  'set -r',
  'ulimit -n 3',
  'ulimit -n 10',
  'readonly IFS',
]) {
  test(`the end of ${spoiled} is seen, and the next command runs`, async () => {
    await withSessions(async ({ run }) => {
      assert.is((await run(spoiled)).code, 0)
      const next = await run('echo here')
      assert.equal([next.code, next.stdout], [0, 'here\n'])
    })
  })
}

test('a shell that can open no more files is replaced with a notice', async () => {
  await withSessions(async ({ run }) => {
    await run('kept=1; set -r')
    const next = await run('echo "[$kept]"')
    assert.is(next.stdout, '[]\n')
    assert.match(next.notices?.join() ?? '', 'could open no more files')
  })
})

test('a DEBUG trap that a script has set says nothing of what nacre asks', async () => {
  await withSessions(async ({ run, directory }) => {
    writeFileSync(join(directory, 'traps.sh'), "trap 'echo debug $BASH_COMMAND' DEBUG\n")
    const { stdout, stderr } = await run(`. ${directory}/traps.sh`)
    assert.not.match(`${stdout}${stderr}`, 'nacre')
  })
})

test('a thousand runs leave no descriptor and no process behind', async () => {
  await withSessions(async ({ run }) => {
    for (let turn = 0; turn < 1000; turn++) {
      const { stdout } = await run(`echo ${turn}`)
      assert.is(stdout, `${turn}\n`)
    }
  })
})

async function rejects(promise: Promise<unknown>, code: string): Promise<void> {
  try {
    await promise
  } catch (error) {
    if (error instanceof StartError) assert.is(error.failure.code, code)
    else assert.is((error as Error).name, code)
    return
  }
  assert.unreachable(`no ${code}`)
}

test.run()
