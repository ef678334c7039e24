import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execFileSync } from 'node:child_process'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../../lib/executor/executor.ts'
import { identifyProcess, isAlive } from '../../../lib/system/process/process-table.ts'
import { openJobs } from '../../../lib/executor/jobs/jobs.ts'
import {
  type JobRecord,
  listIds,
  readKeptTexts,
  readRecord,
  listDamaged,
  pruneJobs,
  readRecords,
  writeEnd,
  writeRecord,
} from '../../../lib/executor/jobs/record.ts'
import { findSocketPlace } from '../../../lib/system/temporary-folder.ts'
import { askOnce, ConnectionLost } from '../../../lib/wire/client.ts'
import { createId, toWire } from '../../../lib/protocol/wire.ts'
import type { Result } from '../../../lib/protocol/result/result.ts'

const test = suite<{ dir: string }>('registry')
test.before.each((context) => {
  context.dir = mkdtempSync(join(tmpdir(), 'registry-'))
})
test.after.each(({ dir }) => rmSync(dir, { recursive: true }))

function makeRecord(changes: Partial<JobRecord> = {}): JobRecord {
  const owner = identifyProcess(process.pid)
  assert.ok(owner)
  return {
    id: createId('run'),
    command: 'true',
    cwd: '/',
    origin: 'print',
    pty: null,
    process: null,
    owner,
    socket: null,
    startedAt: new Date().toISOString(),
    endedAt: null,
    artifact: null,
    stderrArtifact: null,
    result: null,
    kept: null,
    ...changes,
  }
}

/** So much of a result as a record is read for. */
const exited = { status: 'exited', durationMs: 1, notices: [], survivors: [] } as unknown as Result

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 24 * 3600 * 1000).toISOString()
}

test('a record comes back as it was written', ({ dir }) => {
  const record = makeRecord({ command: 'echo "é"\nrm x', pty: { columns: 80, rows: 24 } })
  writeRecord(dir, record)
  assert.equal(readRecord(dir, record.id), record)
})

test('an end takes the place of the record, and its text is beside it', ({ dir }) => {
  const record = makeRecord()
  writeRecord(dir, record)
  const ended = { ...record, endedAt: daysAgo(0), result: exited }
  const texts = { output: { text: Buffer.from('é\u2028'), start: 7 } }
  const written = writeEnd(dir, ended, texts)
  assert.equal(readRecord(dir, record.id), written)
  assert.equal(readRecords(dir, 'alive'), [])
  assert.equal(readKeptTexts(dir, record.id), texts)
})

test('what is no record is passed over', ({ dir }) => {
  const good = makeRecord()
  writeRecord(dir, good)
  const id = createId('run')
  const damaged = { ...JSON.parse(JSON.stringify(toWire(makeRecord({ id })))), command: null }
  for (const text of [
    '',
    '{',
    'null',
    '[]',
    '{"id":"x"}',
    `{"id":"${id}"}`,
    JSON.stringify(damaged),
  ]) {
    writeFileSync(join(dir, `${id}.json`), text)
    assert.equal(readRecords(dir, 'alive'), [good], text)
    assert.equal(listDamaged(dir), [join(dir, `${id}.json`)], text)
  }
  mkdirSync(join(dir, `${createId('run')}.json`))
  execFileSync('mkfifo', [join(dir, `${createId('run')}.json`)])
  assert.equal(readRecords(dir, 'alive'), [good])
})

test('the oldest ended jobs go, never one that runs', ({ dir }) => {
  const running = makeRecord({ startedAt: daysAgo(30) })
  writeRecord(dir, running)
  const end = (days: number) => {
    const record = makeRecord({
      startedAt: daysAgo(days + 1),
      endedAt: daysAgo(days),
      result: exited,
    })
    writeEnd(dir, record, { output: { text: Buffer.from('text'), start: 0 } })
    const seconds = Date.now() / 1000 - days * 24 * 3600
    utimesSync(join(join(dir, 'ended'), `${record.id}.json`), seconds, seconds)
    return record.id
  }
  const old = end(8)
  const ended = Array.from({ length: 205 }, (_, index) => end(3 - index / 1000))
  pruneJobs(dir)
  assert.equal(listIds(dir, 'alive'), [running.id])
  assert.equal(listIds(dir, 'ended').sort(), ended.slice(5).sort())
  assert.not.ok(existsSync(join(join(dir, 'ended'), `${old}.text`)))
})

test('a holder that cannot be reached for another reason than its end is not taken for gone', async ({
  dir,
}) => {
  const record = makeRecord({ socket: '/dev/null/socket' })
  writeRecord(dir, record)
  const error = await openJobs(dir)
    .kill(record.id)
    .catch((reason: unknown) => reason)
  assert.match(String(error), /ENOTDIR/)
})

test('what killed nacres left in the folder goes, what is in use stays', ({ dir }) => {
  const record = makeRecord()
  writeRecord(dir, record)
  mkdirSync(join(dir, 'ended'))
  // A number that no process has: the largest that Linux gives is 4194304.
  const left = ['4194999-abcdefgh.sock', 'run_x.json.4194999.new', 'ended/run_x.json.5.new']
  const used = [`${process.pid}-abcdefgh.sock`, 'run_y.json.1.new']
  for (const name of [...left, ...used]) writeFileSync(join(dir, name), '')
  for (const name of left) utimesSync(join(dir, name), 0, 0)
  pruneJobs(dir)
  for (const name of left) assert.not.ok(existsSync(join(dir, name)), name)
  for (const name of [...used, `${record.id}.json`]) assert.ok(existsSync(join(dir, name)), name)
})

test('an owner whose socket is gone is told as gone', async () => {
  const path = join(tmpdir(), `nacre-no-such-${process.pid}.sock`)
  const error = await askOnce(connect(path), 'shell.status', { id: 'run_a' }).catch(
    (reason: unknown) => reason,
  )
  assert.instance(error, ConnectionLost)
})

test('a process is known by more than its number', () => {
  const self = identifyProcess(process.pid)
  assert.ok(self)
  assert.ok(isAlive(self))
  assert.not.ok(isAlive({ ...self, startTime: `${self.startTime}1` }))
  assert.not.ok(isAlive({ ...self, boot: 'another' }))
  assert.is(identifyProcess(4_194_999), null)
})

test('a folder with a long name still gets a socket, and nothing of it stays', async ({ dir }) => {
  const stateDir = join(dir, 'long'.repeat(40))
  const executor = createExecutor({ stateDir, isHolder: true })
  const { id } = await executor.run({ command: 'sleep 60', origin: 'rpc', waitSeconds: 0 })
  const known = openJobs(join(stateDir, 'jobs'))
  assert.is((await known.show(id)).status, 'running')
  assert.is((await known.kill(id)).reason, 'kill')
  const place = findSocketPlace(join(stateDir, 'jobs'))
  assert.ok(Buffer.byteLength(place.path) <= 103)
  writeFileSync(place.path, '')
  place.remove()
  await executor.close()
  assert.equal(
    readdirSync(tmpdir()).filter((name) => name.startsWith('nacre-socket-')),
    [],
  )
})

test('a state folder that cannot be written costs a notice, not the job', async ({ dir }) => {
  writeFileSync(join(dir, 'jobs'), 'a file in the way')
  const executor = createExecutor({
    stateDir: dir,
    artifactDir: join(dir, 'artifacts'),
    isHolder: true,
  })
  const result = await executor.run({ command: 'sleep 60', origin: 'rpc', waitSeconds: 0 })
  assert.is(result.status, 'running')
  assert.match(result.notices.join(), '`nacre job` cannot find this job')
  await executor.close()
})

test('a job whose record could not be written left a socket behind', async ({ dir }) => {
  // The name is too long for a socket, which is in a folder of its own then.
  const stateDir = join(dir, 'long'.repeat(40))
  const executor = createExecutor({ stateDir, artifactDir: join(dir, 'artifacts'), isHolder: true })
  const start = () => executor.run({ command: 'sleep 60', origin: 'rpc', waitSeconds: 0 })
  await start()
  const jobs = join(stateDir, 'jobs')
  renameSync(jobs, `${jobs}-away`)
  writeFileSync(jobs, 'a file in the way')
  assert.match((await start()).notices.join(), '`nacre job` cannot find this job')
  rmSync(jobs)
  renameSync(`${jobs}-away`, jobs)
  assert.equal((await start()).notices, [])
  await executor.close()
  const left = readdirSync(tmpdir()).filter((name) => name.startsWith('nacre-socket-'))
  assert.equal(left, [])
})

test.run()
