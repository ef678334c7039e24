import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createControlGroups } from '../../lib/system/process/control-group.ts'
import { findOwnGroup } from '../../lib/system/process/own-process.ts'
import {
  describeProcess,
  isRunning,
  readProcess,
  readVariable,
} from '../../lib/system/process/process-table.ts'
import { cliCommand } from '../helpers/cli.ts'
import { findMarked, type Home, openHome } from '../helpers/jobs.ts'
import { isAlive, readState } from '../helpers/terminal-run.ts'
import { hear, until } from '../helpers/until.ts'

/** What is left when nacre is killed with KILL, which nobody can hear. */
const test = suite<{ home: Home }>('job, killed')
test.before.each((context) => {
  context.home = openHome()
})
test.after.each(({ home }) => home.close())

function startCli(home: Home, args: string[]) {
  const [program = '', ...words] = cliCommand()
  return spawn(program, [...words, ...args], {
    env: { ...process.env, ...home.env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}

/** The supervisor that holds a job. */
async function ownerOf(home: Home, id: string): Promise<number> {
  const job = (await home.list()).find((it) => it['job_id'] === id)
  return Number(job?.['owner_pid'])
}

/** Processes of the runs of this home, with the run that each belongs to. */
function runsOf(home: Home): { pid: number; run: string }[] {
  return allOf(home).flatMap((pid) => {
    const run = readVariable(pid, 'NACRE_RUN')
    return run === null ? [] : [{ pid, run }]
  })
}

/** Every process of this home: nacres, their watchdogs and the processes of their runs. */
function allOf(home: Home): number[] {
  return findMarked('XDG_STATE_HOME', home.env['XDG_STATE_HOME'] ?? '')
}

const isWatchdog = (pid: number) => describeProcess(pid).includes('read -r farewell')

/** Kills a nacre as if its watchdog had not come yet; where it has, it is killed first. */
async function killUnwatched(home: Home, pid: number): Promise<void> {
  const own = describeProcess(pid)
  process.kill(pid, 'SIGSTOP')
  await until(() => readState(pid) === 'T')
  // What it is about to start has its own words until then.
  await until(() => allOf(home).every((it) => it === pid || describeProcess(it) !== own))
  for (const watchdog of allOf(home).filter(isWatchdog)) process.kill(watchdog, 'SIGKILL')
  process.kill(pid, 'SIGKILL')
}

test('a killed nacre leaves nothing of a run that it waited for', async ({ home }) => {
  const hidden = `env -i setsid sh -c 'echo $$; exec sleep 300'`
  const command = `setsid sleep 300 & echo $!; (${hidden} &); echo $$; sleep 300`
  const child = startCli(home, ['-p', `!${command}`])
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  await until(() => text.split('\n').length === 4)
  const pids = text.trim().split('\n').map(Number)
  // The watchdog comes with a run that takes its time.
  await until(() => allOf(home).some(isWatchdog))
  child.kill('SIGKILL')
  await until(() => !pids.some(isAlive) && runsOf(home).length === 0)
  assert.equal(await home.list(), [])
})

/** A daemon that has no parent, session, stream or variable of its run any more; tells its number. */
const daemon = `(env -i setsid sh -c 'echo $$; exec sleep 300 >/dev/null 2>&1 </dev/null' &)`

/** Whether the kernel gives this user control groups, without which such a daemon is nobody's. */
async function hasGroups(): Promise<boolean> {
  const groups = createControlGroups()
  const { group } = await groups.enclose(() => ({ pid: process.pid }))
  await groups.close()
  if (group === null) console.log('SKIP daemons: there are no control groups here')
  return group !== null
}

test('a daemon of a killed nacre that has dropped every mark ends too', async ({ home }) => {
  if (!(await hasGroups())) return
  const child = startCli(home, ['-p', `!${daemon}; sleep 300`])
  const [chunk] = (await hear(child.stdout, 'data')) as [Buffer]
  const pid = Number(chunk.toString())
  assert.ok(isAlive(pid))
  await until(() => allOf(home).some(isWatchdog))
  child.kill('SIGKILL')
  await until(() => !isAlive(pid))
})

test('what was killed before it had a watchdog ends with the next nacre', async ({ home }) => {
  const known = (await hasGroups()) ? daemon : 'setsid sleep 300 & echo $!'
  // The run is a few milliseconds old when its first words arrive.
  const child = startCli(home, ['-p', `!${known}; sleep 300`])
  const [chunk] = (await hear(child.stdout, 'data')) as [Buffer]
  const pid = Number(chunk.toString())
  const present = join(home.dir, '..', 'present')
  const [own = ''] = readdirSync(present)
  const exited = hear(child, 'exit')
  await killUnwatched(home, Number(child.pid))
  await exited
  assert.ok(isAlive(pid))
  assert.is((await home.run(['-p', '!true'])).status, 0)
  await until(() => !isAlive(pid) && runsOf(home).length === 0)
  await until(() => !readdirSync(present).includes(own))
  assert.not.ok(hasLeftGroups(Number(child.pid)))
})

test('a list ends what a killed nacre has left, also one that nobody had waited for', async ({
  home,
}) => {
  const [program = '', ...words] = cliCommand()
  const command = ['-p', '!echo up; sleep 300']
  // What it becomes knows of no child, so that nacre stays a zombie.
  const parent = spawn(
    'sh',
    ['-c', '"$@" & echo $!; exec sleep 300', 'sh', program, ...words, ...command],
    { env: { ...process.env, ...home.env }, stdio: ['ignore', 'pipe', 'ignore'] },
  )
  let text = ''
  parent.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  try {
    // Either line may come first.
    await until(() => /^\d+\n/m.test(text) && /^up\n/m.test(text))
    const pid = Number(/^\d+/m.exec(text)?.[0])
    await killUnwatched(home, pid)
    await until(() => !isRunning(pid))
    assert.equal(await home.list(), [])
    assert.equal(runsOf(home), [])
  } finally {
    const gone = hear(parent, 'exit')
    parent.kill()
    await gone
  }
  assert.is((await home.run(['-p', '!true'])).status, 0)
  await until(() => runsOf(home).length === 0)
})

function hasLeftGroups(pid: number): boolean {
  const folder = findOwnGroup()
  return folder !== null && readdirSync(folder).some((name) => name.startsWith(`nacre-${pid}-`))
}

test('a daemon of a job ends with the supervisor of that job', async ({ home }) => {
  if (!(await hasGroups())) return
  const id = await home.start(`${daemon}; echo up; sleep 300`)
  let text = ''
  // The daemon may be slower than its shell.
  await until(async () => {
    text = (await home.run(['job', 'read', id])).stdout.toString()
    return /^\d+$/m.test(text)
  })
  const pid = Number(/^\d+$/m.exec(text)?.[0])
  process.kill(await ownerOf(home, id), 'SIGKILL')
  await until(() => !isAlive(pid))
})

for (const signal of [
  ...(['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT'] as const),
  ...(['SIGUSR1', 'SIGXCPU'] as const),
]) {
  test(`a nacre that ends by ${signal} takes its run along, and no job`, async ({ home }) => {
    const id = await home.start('echo up; sleep 300')
    const child = startCli(home, ['-p', '!setsid sleep 300 & echo $$; sleep 300'])
    await hear(child.stdout, 'data')
    const exited = hear(child, 'exit')
    child.kill(signal)
    // After Ctrl-C it ends by the signal itself, so that a loop around it stops.
    const interrupted = signal === 'SIGINT'
    const status = interrupted ? null : 128 + constants.signals[signal]
    assert.equal(await exited, [status, interrupted ? signal : null])
    assert.equal([...new Set(runsOf(home).map(({ run }) => run))], [id])
  })
}

test('a job outlives the call that was killed while it waited', async ({ home }) => {
  const child = startCli(home, ['-c', 'echo $$; read x; exit 8', '--wait', '60', '--open-stdin'])
  await hear(child.stdout, 'data')
  child.kill('SIGKILL')
  await hear(child, 'exit')
  const [job] = await home.list()
  const id = String(job?.['job_id'])
  assert.is(job?.['status'], 'running')
  assert.is(job?.['owner_alive'], true)
  await home.run(['job', 'write', id, '--eof'])
  assert.is((await home.run(['job', 'wait', id])).status, 8)
})

test('the end of a run is known though its caller was killed before', async ({ home }) => {
  const child = startCli(home, ['-c', 'echo $$; read x; exit 8', '--wait', '60', '--open-stdin'])
  await hear(child.stdout, 'data')
  const [job] = await home.list()
  const id = String(job?.['job_id'])
  child.kill('SIGKILL')
  await hear(child, 'exit')
  await home.run(['job', 'write', id, '--eof'])
  await until(() => !isAlive(Number(job?.['owner_pid'])))
  const result = await home.json(['job', 'show', id])
  assert.is(result['exit_code'], 8)
})

test('a job ends with its supervisor, and its record tells so', async ({ home }) => {
  const id = await home.start('echo up; setsid sleep 300 & sleep 300')
  const { artifact } = await home.json(['job', 'show', id])
  const { path } = artifact as { path: string }
  await until(() => readFileIfThere(path).includes('up'))
  process.kill(await ownerOf(home, id), 'SIGKILL')
  await until(() => runsOf(home).length === 0)
  const [job] = await home.list()
  assert.equal([job?.['status'], job?.['owner_alive']], ['lost', false])
  assert.is((await home.run(['job', 'wait', id])).status, 125)
  const result = await home.json(['job', 'show', id])
  const { code, message } = result['error'] as { code: string; message: string }
  assert.is(code, 'job_lost')
  assert.match(message, 'was killed')
  assert.equal([result['status'], result['exit_code'], result['reason']], ['lost', null, null])
  const [standing, why] = (await home.run(['job', 'show', id])).stdout.toString().split('\n')
  assert.match(standing ?? '', /: lost after /)
  assert.match(why ?? '', /^The nacre that held it was killed/)
  const { id: kept } = result['artifact'] as { id: string }
  assert.match((await home.run(['artifact', 'show', kept])).stdout.toString(), /^up\n/)
  assert.is((await home.json(['job', 'kill', id]))['status'], 'lost')
  assert.match((await home.run(['job', 'list'])).stdout.toString(), / lost /)
})

test('a job whose supervisor and watchdog were killed ends with the next look at it', async ({
  home,
}) => {
  const id = await home.start('echo up; setsid sleep 300 & sleep 300')
  await killUnwatched(home, await ownerOf(home, id))
  await until(() => runsOf(home).length > 0)
  const result = await home.json(['job', 'show', id])
  assert.is(result['status'], 'lost')
  assert.equal(runsOf(home), [])
})

test('a number that is another process now is not taken for the job', async ({ home }) => {
  const id = await home.start('echo up; sleep 300')
  process.kill(await ownerOf(home, id), 'SIGKILL')
  await home.json(['job', 'kill', id])
  // As if the numbers of its processes had been given to this very test since.
  const ended = join(home.dir, 'ended', `${id}.json`)
  const path = join(home.dir, `${id}.json`)
  const record = JSON.parse(readFileSync(ended, 'utf8')) as Record<string, Record<string, unknown>>
  for (const name of ['process', 'owner']) {
    record[name] = { ...record[name], pid: process.pid }
  }
  const unsettled = { ended_at: null, result: null, socket: null }
  writeFileSync(path, JSON.stringify({ ...record, ...unsettled }))
  rmSync(ended)
  const [job] = await home.list()
  assert.is(job?.['status'], 'lost')
  assert.is(job?.['owner_alive'], false)
  await home.json(['job', 'kill', id])
})

test('killed at any moment, two nacres at once: no orphan but declared jobs', async ({ home }) => {
  const forms = [
    ['-p', '!setsid sleep 300 & sleep 300'],
    ['-c', 'sleep 300', '--background'],
    ['-c', 'echo up; sleep 300', '--ready', 'regex:up'],
    ['-c', 'sleep 0.05; exit 3', '--wait', '0'],
    ['-c', 'sleep 300 & sleep 300', '--wait', '60'],
  ]
  const kills = 24
  // The kills fall between the start of nacre and well after its run began, on any machine.
  const before = performance.now()
  await home.start('echo up; sleep 300')
  const spreadMs = 2 * (performance.now() - before)
  async function killOne(index: number): Promise<void> {
    const child = startCli(home, forms[index % forms.length] ?? [])
    child.stdout.resume()
    await delay(((index * 17) % kills) * (spreadMs / kills))
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await hear(child, 'exit')
    // Now and then the supervisor too.
    const supervisor = allOf(home).find((pid) => describeProcess(pid).includes(' supervise '))
    if (index % 4 === 0 && supervisor !== undefined) killIfThere(supervisor)
  }
  for (let index = 0; index < kills; index += 2) {
    await Promise.all([killOne(index), killOne(index + 1)])
  }
  let jobs: Record<string, unknown>[] = []
  let strangers: number[] = []
  // What a watchdog has still to end ends; what has begun is declared, and what has ended is told so.
  await until(
    async () => {
      jobs = await home.list()
      const running = jobs.filter(({ status }) => status === 'running')
      const ids = running.map((job) => job['job_id'])
      const owners = running.map((job) => job['owner_pid'])
      strangers = allOf(home).filter(
        (pid) =>
          !owners.includes(pid) &&
          !(isWatchdog(pid) && owners.includes(readProcess(pid)?.parent)) &&
          !ids.includes(readVariable(pid, 'NACRE_RUN')),
      )
      const runs = new Set<unknown>(runsOf(home).map(({ run }) => run))
      return strangers.length === 0 && ids.every((id) => runs.has(id))
    },
    () => JSON.stringify([jobs, strangers.map(describeProcess)]),
  )
  for (const job of jobs) if (job['status'] === 'exited') assert.is(job['exit_code'], 3)
  for (const name of readdirSync(home.dir).filter((it) => it.endsWith('.json'))) {
    assert.type(JSON.parse(readFileSync(join(home.dir, name), 'utf8')), 'object')
  }
  await Promise.all(jobs.map(({ job_id: id }) => home.run(['job', 'kill', String(id)])))
  assert.equal(runsOf(home), [])
})

/** Kills what may have ended by itself. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    assert.is((error as NodeJS.ErrnoException).code, 'ESRCH')
  }
}

function readFileIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

test.run()
