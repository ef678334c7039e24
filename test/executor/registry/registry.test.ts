import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../../lib/executor/executor.ts'
import { identifyProcess, isAlive } from '../../../lib/system/process-table.ts'
import { openKnownJobs } from '../../../lib/executor/registry/known-jobs.ts'
import { pruneJobs } from '../../../lib/executor/registry/prune.ts'
import {
  type JobRecord,
  readRecord,
  readRecords,
  writeRecord,
  writeText,
} from '../../../lib/executor/registry/record.ts'
import { findSocketPlace } from '../../../lib/executor/registry/socket-path.ts'
import { createId } from '../../../lib/protocol/ids.ts'

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
    textStart: 0,
    ...changes,
  }
}

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 24 * 3600 * 1000).toISOString()
}

test('a record comes back as it was written', ({ dir }) => {
  const record = makeRecord({ command: 'echo "é"\nrm x', pty: { columns: 80, rows: 24 } })
  writeRecord(dir, record)
  assert.equal(readRecord(dir, record.id), record)
})

test('what is no record is passed over', ({ dir }) => {
  const good = makeRecord()
  writeRecord(dir, good)
  const id = createId('run')
  for (const text of ['', '{', 'null', '[]', '{"id":"x"}', `{"id":"${id}"}`]) {
    writeFileSync(join(dir, `${id}.json`), text)
    assert.equal(readRecords(dir), [good], text)
  }
  mkdirSync(join(dir, 'a-folder.json'))
  assert.equal(readRecords(dir), [good])
})

test('the oldest ended jobs go, never one that runs', ({ dir }) => {
  const running = makeRecord({ startedAt: daysAgo(30) })
  const old = makeRecord({ startedAt: daysAgo(9), endedAt: daysAgo(8) })
  const ended = Array.from({ length: 205 }, (_, index) =>
    makeRecord({ startedAt: daysAgo(3 - index / 1000), endedAt: daysAgo(1) }),
  )
  for (const record of [running, old, ...ended]) {
    writeRecord(dir, record)
    writeText(dir, record.id, 'text')
  }
  pruneJobs(dir)
  const kept = readRecords(dir).map(({ id }) => id)
  assert.equal(kept, [running.id, ...ended.slice(5).map(({ id }) => id)])
  assert.not.ok(existsSync(join(dir, `${old.id}.text`)))
})

test('what killed nacres left in the folder goes, what is in use stays', ({ dir }) => {
  const record = makeRecord()
  writeRecord(dir, record)
  writeText(dir, record.id, 'text')
  // A number that no process has: the largest that Linux gives is 4194304.
  const left = ['4194999-abcdefgh.sock', 'run_x.json.4194999.new', 'run_x.text', 'order_x.request']
  const used = [`${process.pid}-abcdefgh.sock`, 'run_y.json.1.new', 'order_y.request']
  for (const name of [...left, ...used]) writeFileSync(join(dir, name), '')
  for (const name of left) utimesSync(join(dir, name), 0, 0)
  pruneJobs(dir)
  const wanted = [`${record.id}.json`, `${record.id}.text`, ...used]
  assert.equal(readdirSync(dir).sort(), wanted.sort())
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
  const executor = createExecutor({ stateDir })
  const { id } = await executor.run({ command: 'sleep 60', origin: 'rpc', waitSeconds: 0 })
  const known = openKnownJobs(join(stateDir, 'jobs'))
  assert.is((await known.show(id)).status, 'running')
  assert.is((await known.kill(id)).reason, 'kill')
  const place = findSocketPlace(join(stateDir, 'jobs'))
  assert.ok(Buffer.byteLength(place.path) <= 103)
  writeFileSync(place.path, '')
  place.remove()
  await executor.close()
  assert.equal(
    readdirSync(tmpdir()).filter((name) => name.startsWith('nacre-job-')),
    [],
  )
})

test('a state folder that cannot be written costs a notice, not the job', async ({ dir }) => {
  writeFileSync(join(dir, 'jobs'), 'a file in the way')
  const executor = createExecutor({ stateDir: dir, artifactDir: join(dir, 'artifacts') })
  const result = await executor.run({ command: 'sleep 60', origin: 'rpc', waitSeconds: 0 })
  assert.is(result.status, 'running')
  assert.match(result.notices.join(), 'Other nacres cannot see this job')
  await executor.close()
})

test.run()
