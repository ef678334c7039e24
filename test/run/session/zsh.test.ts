import { spawnSync } from 'node:child_process'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { withSessions } from '../../helpers/sessions.ts'

const installed = spawnSync('zsh', ['-fc', 'true']).status === 0
const shell = 'zsh'

function zshTest(name: string, check: () => Promise<void>): void {
  if (installed) test(name, check)
  else process.stdout.write(`SKIP ${name}: zsh is not installed\n`)
}

zshTest('a zsh keeps directory, variables, functions, aliases and options', async () => {
  await withSessions(async ({ run }) => {
    await run(`cd /usr/bin; v=1; export e=2; f() { echo f }; alias al='echo alias'`, { shell })
    const next = await run(
      'pwd; echo $v; env | grep ^e=; f; al; echo $ZSH_VERSION | grep -c .; cd ..',
      { shell },
    )
    assert.equal([next.stdout, next.stderr], ['/usr/bin\n1\ne=2\nf\nalias\n1\n', ''])
    assert.is((await run('pwd; echo $LINENO', { shell })).stdout, '/usr\n1\n')
  })
})

zshTest('a zsh tells statuses, and survives errors', async () => {
  await withSessions(async ({ run }) => {
    const seen = []
    for (const command of [
      'false | true',
      'f() { return 3 }; f',
      'echo $?',
      'echo $((1 / 0)) 2>/dev/null',
      'no-such-program 2>/dev/null',
      'if',
      'set -e; false && true',
      'set +e; exec >/dev/null; echo lost',
      'cat; echo end',
      'set -x 2>/dev/null; set +x 2>/dev/null',
    ]) {
      const { code, pipeStatus, stdout, notices } = await run(command, { shell })
      seen.push([code, pipeStatus, stdout, notices])
    }
    assert.equal(seen, [
      [0, [1, 0], '', []],
      [3, [3], '', []],
      [0, [0], '3\n', []],
      [1, null, '', []],
      [127, [127], '', []],
      [1, null, '', []],
      [1, [1], '', []],
      [0, [0], '', []],
      [0, [0], 'end\n', []],
      [0, null, '', []],
    ])
  })
})

zshTest('a zsh goes on whatever its options make of our own words', async () => {
  await withSessions(async ({ run }) => {
    const asked = { shell, env: { LENT: 'a b' } }
    const seen = []
    const options = ['setopt ksharrays', 'emulate sh', 'emulate csh', 'emulate zsh; set -u']
    for (const option of options) {
      await run(`${option}; false`, asked)
      const { stdout, pipeStatus, notices } = await run('echo "$? $LENT"; false | true', asked)
      // What it tells of them holds a pattern, and a NUL.
      const { code } = await run(`sh -c 'exit 3' '/*'`, asked)
      const { notices: then } = await run(`: $'a\\0b'`, asked)
      seen.push([stdout, pipeStatus, notices, code, then])
    }
    const expected = ['1 a b\n', [1, 0], [], 3, []]
    assert.equal(
      seen,
      options.map(() => expected),
    )
  })
})

zshTest('a zsh that ends is replaced where it stood', async () => {
  await withSessions(async ({ run, start }) => {
    await run('cd /usr', { shell })
    assert.is((await run('exit 5', { shell })).code, 5)
    const next = await run('pwd', { shell })
    assert.equal([next.stdout, next.notices?.length], ['/usr\n', 1])
    const { running, wrote, collected } = await start('echo up; sleep 100; echo no', { shell })
    await wrote('up')
    assert.equal((await running.stop('cancel')).survivors, [])
    const stopped = await collected
    assert.equal([stopped.code, stopped.signal, stopped.stdout], [null, 'SIGTERM', 'up\n'])
    assert.is((await run('pwd', { shell })).stdout, '/usr\n')
    for (const limit of [3, 13]) {
      assert.is((await run(`ulimit -n ${limit}`, { shell })).code, 0)
      const after = await run('pwd', { shell })
      assert.equal([after.stdout, after.notices?.length], ['/usr\n', 1])
    }
  })
})

zshTest('a zsh lends variables to one command', async () => {
  await withSessions(async ({ run }) => {
    await run('given=before', { shell })
    const env = { given: `it's "new"`, other: 'x' }
    assert.is(
      (await run('echo $given; env | grep -c -e ^given= -e ^other=', { shell, env })).stdout,
      `it's "new"\n2\n`,
    )
    assert.is(
      (await run('echo $given ${other-none}; env | grep -c ^given=', { shell })).stdout,
      'before none\n0\n',
    )
  })
})

test.run()
