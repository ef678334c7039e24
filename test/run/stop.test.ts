import { spawn } from 'node:child_process'
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor, type Executor } from '../../lib/executor/executor.ts'
import type { RequestInput } from '../../lib/protocol/request/request.ts'
import type { Result } from '../../lib/protocol/result/result.ts'
import { findProgram } from '../../lib/system/look.ts'
import { stopTree } from '../../lib/run/stop.ts'
import { isAlive } from '../helpers/terminal-run.ts'
import { until } from '../helpers/until.ts'

interface Context {
  executor: Executor
  folder: string
  /** A program that writes down its process id and stays. */
  keep: string
  pids: () => number[]
}

const test = suite<Context>('stop')

test.before.each((context) => {
  const folder = mkdtempSync(join(tmpdir(), 'stop-'))
  const file = join(folder, 'pids')
  context.folder = folder
  context.keep = `sh -c 'echo $$ >>${file}; exec sleep 300'`
  context.pids = () =>
    existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1).map(Number) : []
  context.executor = createExecutor({ stateDir: null })
})
test.after.each(async ({ executor, folder }) => {
  await executor.close()
  rmSync(folder, { recursive: true })
})

/** Runs until `count` processes have written themselves down, then stops the run. */
async function stopAt(
  count: number,
  command: string,
  { executor, pids }: Context,
  fields: Partial<RequestInput> = {},
): Promise<Result> {
  const stop = new AbortController()
  const ended = executor.run(
    { command, origin: 'print', guard: false, ...fields },
    { signal: stop.signal },
  )
  await until(() => pids().length >= count)
  stop.abort()
  const result = await ended
  assert.is(result.status, 'stopped')
  assert.is(result.reason, 'cancel')
  return result
}

function assertNoneLeft(result: Result, { pids }: Context): void {
  assert.equal(result.survivors, [])
  assert.equal(pids().filter(isAlive), [])
}

/** Every way out that was thought of, one command each. `keep` stands for a process that stays, `pids` for the file in which it is written down. */
const ways: [name: string, command: (keep: string, pids: string) => string, count: number][] = [
  ['a process session of its own', (keep) => `setsid ${keep} & wait`, 1],
  ['forked twice, in a session of its own', (keep) => `(setsid ${keep} &) ; ${keep}`, 2],
  ['nohup', (keep) => `nohup ${keep} >/dev/null 2>&1 & ${keep}`, 2],
  ['disown', (keep) => `${keep} & disown -h %1; disown -a; ${keep}`, 2],
  ['a trapped TERM', (keep) => `trap "" TERM HUP INT; ${keep} & while :; do ${keep}; done`, 2],
  [
    'TERM starts another',
    (keep) =>
      `trap 'setsid ${keep.replaceAll("'", `'\\''`)} &' TERM; ${keep} & while :; do wait; done`,
    1,
  ],
  [
    'stopped processes',
    (keep, pids) =>
      `${keep} & ${keep} & until [ "$(wc -l <${pids})" = 2 ]; do sleep 0.01; done; kill -STOP $!; echo $! >>${pids}; kill -STOP $$`,
    3,
  ],
  ['an empty environment', (keep) => `env -i setsid ${keep} & wait`, 1],
  ['an empty environment, forked twice', (keep) => `(env -i setsid ${keep} &); ${keep}`, 2],
  ['a group of its own', (keep) => `set -m; ${keep} & ${keep} & wait`, 2],
  ['closed outputs', (keep) => `(setsid ${keep} <&- >&- 2>&- &); ${keep}`, 2],
]

for (const [name, command, count] of ways) {
  test(`none survives: ${name}`, async (context) => {
    if (!findProgram('setsid', process.env['PATH'] ?? '')) {
      console.log(`SKIP none survives: ${name}: setsid is not installed`)
      return
    }
    assertNoneLeft(
      await stopAt(count, command(context.keep, join(context.folder, 'pids')), context),
      context,
    )
  })
}

for (const fields of [{}, { pty: true }, { session: 'main' }]) {
  test(`a daemon that shows nothing of its run is ended or named: ${JSON.stringify(fields)}`, async (context) => {
    const { keep, pids } = context
    const command = `(env -i setsid ${keep} </dev/null >/dev/null 2>&1 &); sleep 300`
    const result = await stopAt(1, command, context, fields)
    const left = pids().filter(isAlive)
    for (const pid of left) process.kill(pid, 'SIGKILL')
    const named = result.notices.filter((notice) => notice.startsWith('Possibly left behind'))
    assert.ok(left.every((pid) => named.some((notice) => notice.includes(` ${pid} `))))
    assert.equal(result.survivors, [])
  })
}

test('two executors of one process have groups of their own', async ({ executor }) => {
  const other = createExecutor({ stateDir: null })
  try {
    // The first one's group is there until both have theirs.
    const show = 'cat /proc/self/cgroup'
    const held = { command: `${show}; read -r line`, openStdin: true, origin: 'print' } as const
    const first = await executor.start(held)
    const two = await other.run({ command: show, origin: 'print' })
    first.endInput()
    const one = await first.result
    if (one.usage === null) return console.log('SKIP groups: there are no control groups here')
    const nameOf = (result?: Result) => /^0::.*\/(nacre-\S+)$/m.exec(result?.output ?? '')?.[1]
    assert.ok(nameOf(one) && nameOf(two))
    assert.is.not(nameOf(one), nameOf(two))
  } finally {
    await other.close()
  }
})

test('what a run used is told where the system tells it', async ({ executor }) => {
  const command = 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'
  const { usage } = await executor.run({ command, origin: 'print' })
  if (usage === null) return console.log('SKIP usage: there are no control groups here')
  assert.ok(usage.userMs + usage.systemMs > 10, JSON.stringify(usage))
})

test('an interrupt comes as INT, and what passes it by is ended after it', async (context) => {
  const { executor, folder } = context
  // A loaded machine may take a while for what would end at once.
  const interrupted = async (command: string, killAfterSeconds = 20) => {
    const stop = new AbortController()
    const run = await executor.start(
      { command, origin: 'print', guard: false, killAfterSeconds },
      { signal: stop.signal },
    )
    await until(() => existsSync(join(folder, 'up')))
    stop.abort('SIGINT')
    rmSync(join(folder, 'up'))
    return run.ended
  }
  const up = `echo >${folder}/up`
  // A signal that meets a child between its fork and its program is lost to both: none may stay long.
  const loop = 'while :; do sleep 0.1; done'
  const asked = await interrupted(`trap 'echo int; exit 3' INT; ${up}; ${loop}`)
  assert.equal([asked.status, asked.output], ['stopped', 'int\n'])
  const plain = await interrupted(`${up}; exec sleep 300`)
  assert.is(plain.signal, 'SIGINT')
  const stubborn = await interrupted(`trap '' INT TERM; ${up}; ${loop}`, 0.5)
  assert.is(stubborn.signal, 'SIGKILL')
})

test('the signal of a stop can be chosen', async (context) => {
  const { executor, folder } = context
  const command = `trap 'echo usr1; exit' USR1; echo >${folder}/up; while :; do sleep 0.1; done`
  const run = await executor.start({ command, origin: 'rpc', signal: 'USR1', streams: 'merged' })
  await until(() => existsSync(join(folder, 'up')))
  assert.match((await run.stop('kill')).output ?? '', 'usr1')
})

test('none survives: a storm of forks', async (context) => {
  // Each one starts another and ends, a thousand times over, in twenty lines of descent.
  const next = join(context.folder, 'next')
  const script = `n=$1; [ $n -gt 0 ] || exec sleep 300; setsid sh "$0" $((n - 1)) & [ $((n % 10)) = 0 ] && echo $$ >>${context.folder}/pids && exec sleep 300`
  const command = `printf '%s' '${script}' >${next}; for i in $(seq 20); do sh ${next} 60 & done; wait`
  const result = await stopAt(20, command, context)
  assertNoneLeft(result, context)
})

test('none survives: children of a terminal', async (context) => {
  const { keep } = context
  const command = `${keep} & setsid ${keep} & (nohup ${keep} >/dev/null 2>&1 &); ${keep}`
  assertNoneLeft(await stopAt(4, command, context, { pty: true }), context)
})

test('none survives: a terminal made by the command itself', async (context) => {
  if (!findProgram('script', process.env['PATH'] ?? '')) {
    console.log('SKIP a terminal made by the command itself: script is not installed')
    return
  }
  const inner = context.keep.replaceAll("'", `'\\''`)
  assertNoneLeft(await stopAt(1, `script -qec '${inner}' /dev/null`, context), context)
})

test('a run that ends on TERM is not killed, and has its say', async (context) => {
  const command = `trap 'echo bye; exit 3' TERM; ${context.keep} & wait`
  const result = await stopAt(1, command, context)
  assert.is(result.output, 'bye\n')
  assert.is(result.signal, null)
  assertNoneLeft(result, context)
})

test('what another run has started is left alone', async (context) => {
  const { executor, keep, pids } = context
  const other = await executor.run({
    command: `setsid ${keep} & ${keep}`,
    origin: 'rpc',
    login: false,
    waitSeconds: 0,
  })
  await until(() => pids().length === 2)
  const before = pids()
  await stopAt(3, keep, context)
  assert.equal(before.filter(isAlive), before)
  await executor.jobs.kill(other.id)
  assert.equal(pids().filter(isAlive), [])
})

test('a file or a pipe that has got the number of a closed one makes nobody part of the run', async ({
  folder,
}) => {
  const file = join(folder, 'log')
  const fd = openSync(file, 'w')
  const child = spawn('sleep', ['300'], { stdio: ['ignore', fd, fd] })
  const identity = fstatSync(fd)
  closeSync(fd)
  try {
    // As the number of the pipe that the file has now.
    await stopTree({ pid: null, mark: 'run_none', pipes: () => [identity] })
    assert.ok(isAlive(child.pid ?? 0))
    // What is asked for is asked anew at each look.
    let looks = 0
    const pipes = () => {
      looks++
      return []
    }
    const run = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' })
    await stopTree({ pid: run.pid ?? null, mark: 'run_none', pipes })
    assert.ok(looks > 1, String(looks))
  } finally {
    child.kill('SIGKILL')
  }
})

test.run()
