import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { findProgram } from '../../../lib/system/look.ts'
import type { InputKind } from '../../../lib/protocol/result/result.ts'
import { waitsForPipeInput } from '../../../lib/run/terminal/waiting-for-input.ts'
import { readState, startTerminal } from '../../helpers/terminal-run.ts'
import { until } from '../../helpers/until.ts'

const waiting: [command: string, kind: InputKind][] = [
  ['read x', 'line'],
  ['read -t 1000 x', 'line'],
  ['read -s x', 'password'],
  ['read -n 1 x', 'raw'],
  ["python3 -c 'input()'", 'line'],
  ["python3 -c 'import getpass; getpass.getpass()'", 'password'],
  ['cat', 'line'],
  ['true | cat - /dev/tty | wc -c', 'line'],
  ['less /etc/passwd', 'raw'],
  ['cat /etc/passwd | less', 'raw'],
  ['top', 'raw'],
  ['vim -u NONE', 'raw'],
  ['bash --norc -i', 'raw'],
  ['set -m; (read x)', 'line'],
  ["node -e 'process.stdin.resume()'", 'line'],
]

/** A program that waits for something else, and by which sign it is known to do so. */
const notWaiting: [command: string, asleep: boolean][] = [
  ['exec sleep 1000', true],
  ['while :; do :; done', false],
  ['exec sleep 1000 </dev/tty', true],
  ['exec cat < <(exec sleep 1000)', true],
  ['exec tail -f /etc/passwd >/dev/null', true],
]

for (const [command, kind] of waiting) {
  const program = ['python3', 'less', 'top', 'vim', 'node'].find((word) => command.includes(word))
  const missing = program !== undefined && !find(program)
  const name = `waits: ${command} (${kind})`
  if (process.platform !== 'linux' || missing) {
    console.log(`SKIP ${name}: ${missing ? `${program} is not installed` : 'needs /proc'}`)
    continue
  }
  test(name, async () => {
    const run = await startTerminal(command)
    const seen = new Set<InputKind>()
    await until(() => {
      const now = run.running.waitingForInput()
      if (now) seen.add(now)
      return seen.size > 0
    })
    assert.equal([...seen], [kind])
    await run.running.stop('kill')
    await run.exited
    assert.is(run.running.waitingForInput(), null)
  })
}

for (const [command, asleep] of notWaiting) {
  test(`does not wait: ${command}`, async () => {
    const run = await startTerminal(`echo ready; ${command}`)
    await run.shown('ready')
    const pid = run.running.pid() as number
    if (asleep) await until(() => name(pid) !== 'bash' && readState(pid) === 'S')
    for (let look = 0; look < 20; look++) assert.is(run.running.waitingForInput(), null)
    await run.running.stop('kill')
    await run.exited
  })
}

test('a program that goes on after its input does not wait any more', async () => {
  const run = await startTerminal('read x; read -s y; echo $x $y; exec sleep 1000')
  await until(() => run.running.waitingForInput() === 'line')
  void run.running.write('one\n')
  await until(() => run.running.waitingForInput() === 'password')
  void run.running.write('two\n')
  await run.shown('one two')
  await until(() => name(run.running.pid() as number) === 'sleep')
  assert.is(run.running.waitingForInput(), null)
  await run.running.stop('kill')
  await run.exited
})

test('a process behind a pipe waits while it sleeps in a read of it', async () => {
  const child = spawn('bash', ['-c', 'read x; echo; (exec cat >/dev/null); exec sleep 1000 >&-'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const pid = child.pid as number
  await until(() => waitsForPipeInput(pid))
  child.stdin.write('line\n')
  await new Promise((settle) => child.stdout.once('data', settle))
  // Now it is a descendant that reads.
  await until(() => waitsForPipeInput(pid))
  child.stdin.end()
  await until(() => name(pid) === 'sleep' && readState(pid) === 'S')
  assert.not.ok(waitsForPipeInput(pid))
  child.kill('SIGKILL')
  await new Promise((settle) => child.once('close', settle))
  assert.not.ok(waitsForPipeInput(pid))
})

function name(pid: number): string {
  return readFileSync(`/proc/${pid}/comm`, 'latin1').trim()
}

function find(program: string): string | null {
  return findProgram(program, process.env['PATH'] ?? '')
}

test.run()
