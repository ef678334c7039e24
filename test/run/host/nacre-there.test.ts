import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../../lib/executor/executor.ts'
import type { RequestInput } from '../../../lib/protocol/request/request.ts'
import { cliCommand } from '../../helpers/cli.ts'
import { hostCommands, outputProbe, tryEscapes } from '../../helpers/host-commands.ts'
import { findMarked, markOf } from '../../helpers/jobs.ts'
import { findObstacle } from '../../helpers/sandbox-places.ts'
import { findSshObstacle, makeClientFolder, startServer } from '../../helpers/ssh-host.ts'
import { until } from '../../helpers/until.ts'

const obstacle = findSshObstacle() ?? (await findObstacle())
if (obstacle !== null) console.log(`SKIP sandboxes on a host of ssh: ${obstacle}`)

if (obstacle === null) {
  const home = mkdtempSync(join(tmpdir(), 'there-'))
  const programs = join(home, 'bin')
  const work = join(home, 'work')
  for (const folder of [programs, work]) mkdirSync(folder)
  const environment = `PATH=${programs}:/usr/bin:/bin HOME=${home} XDG_STATE_HOME=${home}/state`
  const server = await startServer('', [], null, { environment })
  const executor = createExecutor({
    stateDir: null,
    environment: { ...process.env, PATH: `${makeClientFolder(server)}:${process.env['PATH']}` },
  })
  const run = (
    command: string,
    changes: Partial<RequestInput> = {},
    options: { signal?: AbortSignal } = {},
  ) =>
    executor.run(
      {
        command,
        origin: 'print',
        host: 'box',
        sandbox: 'workspace',
        cwd: work,
        streams: 'separate',
        guard: false,
        ...changes,
      },
      options,
    )
  const installNacre = () => {
    const words = cliCommand().map((word) => `'${word}'`)
    writeFileSync(join(programs, 'nacre'), `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`)
    chmodSync(join(programs, 'nacre'), 0o755)
  }
  test.after(async () => {
    await executor.close()
    await server.close()
    rmSync(home, { recursive: true })
  })

  test('without a nacre there a run that needs a sandbox does not start', async () => {
    const result = await run('true')
    assert.is(result.error?.code, 'sandbox_unavailable')
    assert.match(result.error?.message ?? '', /^The host box has no sandbox .*not installed there$/)
    const agent = { origin: 'agent', sandbox: 'auto' } as const
    const fallen = await run('echo ran', agent)
    assert.equal([fallen.output ?? fallen.stdout, fallen.sandbox?.degraded], ['ran\n', true])
  })

  test('what calls itself nacre there, and does not take the command, is no end of it', async () => {
    const unknown = 'echo "nacre: unknown command carry" >&2; exit 2'
    for (const text of [unknown, 'exit 0', 'kill -ILL $$']) {
      writeFileSync(join(programs, 'nacre'), `#!/bin/sh\n${text}\n`)
      chmodSync(join(programs, 'nacre'), 0o755)
      const { status, error } = await run('true', { sandbox: 'off' })
      assert.equal([status, error?.code], ['lost', 'host_lost'])
      assert.match(error?.message ?? '', /The nacre on box has told no result/)
    }
  })

  test('a nacre there confines the run, which else is as any other', async () => {
    installNacre()
    const command = `cat; echo in >inside; echo out >/usr/outside; echo err >&2; exit 7`
    const result = await run(command, { stdin: { kind: 'text', text: 'given\n' }, network: 'off' })
    assert.is(result.exitCode, 7, JSON.stringify(result))
    assert.equal(result.sandbox, { mechanism: 'bubblewrap', network: 'off', degraded: false })
    assert.is(result.stdout, 'given\n')
    assert.match(result.stderr ?? '', /\/usr\/outside: Read-only file system\nerr\n$/)
    assert.ok(existsSync(join(work, 'inside')))
    assert.not.ok(existsSync('/usr/outside'))
  })

  test('a nacre there carries a plain run too, and changes nothing else of it', async () => {
    const plain = { sandbox: 'off' } as const
    const piped = await run('cat | wc -c; false | true | (exit 3)', {
      ...plain,
      stdin: { kind: 'text', text: 'x'.repeat(50_000) },
    })
    assert.equal([piped.stdout, piped.stderr, piped.exitCode], ['50000\n', '', 3])
    const { usage } = await executor.run({ command: 'true', origin: 'print' })
    assert.is(piped.usage?.maxRssBytes === null, usage?.maxRssBytes === null, 'as a run here')
    assert.is(piped.cwd, work)
    assert.is(piped.sandbox, undefined)
    const killed = await run('kill -SEGV $$', plain)
    assert.equal([killed.status, killed.signal], ['signaled', 'SIGSEGV'])
    const raw = await run('printf "a\\0b\\377c" | od -An -c; echo $PAGER $NACRE $MINE', {
      ...plain,
      env: { MINE: 'given', PAGER: 'less' },
    })
    assert.match(raw.stdout ?? '', /^ +a +\\0 +b +377 +c\nless 1 given\n$/)
    const merged = await run('echo out; echo err >&2; pwd', {
      ...plain,
      streams: 'merged',
      cwd: '/usr',
    })
    assert.equal([merged.output, merged.notices], ['out\nerr\n/usr\n', []])
    const refused = await run('true', { ...plain, cwd: '/does/not/exist' })
    assert.is(refused.error?.code, 'cwd_not_found')
  })

  test('commands give there what bash gives here', async () => {
    const check = async (command: string) => {
      const there = await run(command, { sandbox: 'off' })
      const here = spawnSync('bash', ['-c', command], { input: '', encoding: 'utf8' })
      assert.equal(
        [there.stdout, there.stderr, there.exitCode, there.signal],
        [here.stdout, here.stderr, here.status, here.signal],
        `${command}: ${JSON.stringify(there)}`,
      )
    }
    // A process of Node each.
    for (let at = 0; at < hostCommands.length; at += 4) {
      await Promise.all(hostCommands.slice(at, at + 4).map(check))
    }
    const { command, ...written } = outputProbe
    const { stdout, stderr } = await run(command, { sandbox: 'off' })
    assert.equal({ stdout, stderr }, written)
  })

  test('a stop ends all there that a stop ends here', async () => {
    const here = (command: string, signal: AbortSignal) =>
      executor.run({ command, origin: 'print', guard: false }, { signal })
    const there = (command: string, signal: AbortSignal) =>
      run(command, { sandbox: 'off' }, { signal })
    assert.equal(await tryEscapes(7830, there), await tryEscapes(7840, here))
  })

  test('a stop ends what is confined there', async () => {
    const command = 'trap "" TERM; setsid sleep 7496 & echo begun; sleep 7496; sleep 7496'
    const running = await executor.start({
      ...{ command, origin: 'print', host: 'box', sandbox: 'workspace', cwd: work },
      ...{ guard: false, env: { MINE: markOf(7496) } },
    })
    for await (const line of running.lines()) {
      assert.is(line, 'begun')
      break
    }
    const result = await running.stop('kill')
    assert.is(result.status, 'stopped', JSON.stringify(result))
    assert.equal(result.survivors, [])
    await until(() => findMarked('MINE', markOf(7496)).length === 0)
  })
}

test.run()
