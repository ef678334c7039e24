import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createDeferred } from '../../lib/protocol/deferred.ts'
import { describeRefusal } from '../../lib/run/start-failure.ts'
import { createStartTurns } from '../../lib/run/start-turns.ts'
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

test('more runs than there are descriptors for take turns', async () => {
  const count = 30
  const request = (id: number) =>
    JSON.stringify({ jsonrpc: '2.0', id, method: 'shell.exec', params: { command: `echo r${id}` } })
  const requests = Array.from({ length: count }, (_, id) => request(id)).join('\n')
  const line = [
    'ulimit -n 48',
    `coproc ${nacre} --rpc`,
    `printf '%s\\n' '${requests.replaceAll('\n', "' '")}' >&"\${COPROC[1]}"`,
    `for ((n = 0; n < ${count};)); do read -r line <&"\${COPROC[0]}" || break; ` +
      '[[ $line = *\'"result"\'* ]] || continue; echo "$line"; n=$((n + 1)); done',
  ].join('\n')
  const { stdout } = await runLine(line)
  const texts = String(stdout)
    .trim()
    .split('\n')
    .map((answer) => JSON.parse(answer) as { id: number; result: { stdout: string } })
    .sort((a, b) => a.id - b.id)
    .map(({ result }) => result.stdout)
  assert.equal(
    texts,
    Array.from({ length: count }, (_, id) => `r${id}\n`),
  )
})

test('a start waited for files although no run had any to give back', async () => {
  const turns = createStartTurns(600_000)
  const refusal = describeRefusal(Object.assign(new Error('EMFILE'), { code: 'EMFILE' }))
  const refused = await turns.take(() => Promise.reject(refusal as Error)).catch((error) => error)
  assert.is(refused, refusal)
})

test('a start gave up while another one was still on its way', async () => {
  const turns = createStartTurns(600_000)
  const refusal = describeRefusal(Object.assign(new Error('EMFILE'), { code: 'EMFILE' })) as Error
  const started = createDeferred<{ exited: Promise<void> }>()
  const first = turns.take(() => started.promise)
  let refusals = 0
  const second = turns.take(() =>
    // So many times it is tried in a second, which is longer than one waits that waits for nobody.
    ++refusals < 20 ? Promise.reject(refusal) : Promise.resolve({ exited: Promise.resolve() }),
  )
  await second
  started.resolve({ exited: Promise.resolve() })
  await first
})

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
