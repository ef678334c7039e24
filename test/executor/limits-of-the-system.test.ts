import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand, cliRuntime } from '../helpers/cli.ts'
import { runProgram } from '../helpers/run-program.ts'
import { until } from '../helpers/until.ts'

const dir = mkdtempSync(join(tmpdir(), 'system-limits-'))
const nacre = cliCommand()
  .map((word) => `'${word}'`)
  .join(' ')

function runLine(line: string) {
  const env = { XDG_STATE_HOME: join(dir, 'state'), HOME: dir }
  return runProgram('bash', ['-c', line], { env })
}

test('a job for which there are too few descriptors is refused in one sentence', async () => {
  if (cliRuntime() === 'deno')
    return console.log('SKIP too few descriptors: Deno panics before it comes to nacre')
  // The first limit that is too low; which one that is depends on the runtime.
  for (let limit = 21; limit > 4; limit--) {
    const { status, stderr } = await runLine(
      `ulimit -n ${limit}; ${nacre} -c 'echo x' --background`,
    )
    if (status === 0) continue
    assert.is(status, 125)
    assert.match(String(stderr), /^nacre: .*(ulimit -n|No more files).*\n$/)
    return
  }
  assert.unreachable('no limit is too low')
})

test('a job for which there are too few processes is refused in one sentence, and leaves none', async () => {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/setpriv'))
    return console.log('SKIP too few processes: only root can become a user who has no others')
  if (cliRuntime() === 'bun')
    return console.log('SKIP too few processes: Bun aborts where it cannot start a thread')
  // Of its own, where others run these tests on this machine too.
  const uid = String(54_400 + (process.pid % 10_000))
  // What belongs to the user who runs the tests may not be entered.
  const nowhere = '/proc/none'
  const env = {
    ...{ HOME: nowhere, XDG_CONFIG_HOME: nowhere, XDG_STATE_HOME: nowhere },
    ...{ XDG_RUNTIME_DIR: nowhere, TMPDIR: '/tmp' },
  }
  const line = `ulimit -u 13; ${nacre} -c 'sleep 60' --background`
  const args = ['--reuid', uid, '--clear-groups', 'bash', '-c', line]
  const { status, stdout, stderr } = await runProgram('setpriv', args, { env, cwd: '/' })
  assert.equal([status, String(stdout)], [125, ''])
  assert.match(String(stderr), /^nacre: [^\n]*ulimit -u[^\n]*\n$/)
  // What was told of may yet be on its way out.
  await until(
    () => ofUser(uid).length === 0,
    () => ofUser(uid).join(),
  )
})

/** What runs as a user, ended ones apart that wait for their parent. */
function ofUser(uid: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      return new RegExp(`^Uid:\\s+${uid}\\b`, 'm').test(status) && !/^State:\s+Z/m.test(status)
    } catch {
      // It has ended meanwhile.
      return false
    }
  })
}

test.after(() => rmSync(dir, { recursive: true }))

test.run()
