import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Audit, createAudit } from '../../lib/executor/audit.ts'
import { deniedResult } from '../../lib/executor/results.ts'
import { parseRequest } from '../../lib/protocol/request/parse-request.ts'
import { runProgram } from '../helpers/run-program.ts'

function withFolder(check: (folder: string, path: string) => void): void {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'nacre-test-')))
  try {
    check(folder, join(folder, 'state', 'audit.jsonl'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function write(audit: Audit, command: string): string | null {
  const request = parseRequest({ command, origin: 'print' }, { cwd: '/' })
  return audit.record(deniedResult(request, { decision: 'deny' } as never), 'deny')
}

/** Where the descriptors of this process lead. */
function listOpenFiles(): string[] {
  return readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
}

const commands = (path: string) =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { command: string }).command)

test('a line a run, for this user only, and no descriptor is left', () => {
  withFolder((_, path) => {
    const audit = createAudit(path)
    for (const command of ['one', 'two']) assert.is(write(audit, command), null)
    assert.equal(commands(path), ['one', 'two'])
    assert.is(statSync(path).mode & 0o777, 0o600)
    audit.close()
    assert.is(write(audit, 'three'), null)
    assert.equal(commands(path), ['one', 'two', 'three'])
    if (process.platform === 'linux') assert.not.ok(listOpenFiles().includes(path))
  })
})

test('an audit that is removed while nacre runs is begun anew', () => {
  withFolder((_, path) => {
    const audit = createAudit(path)
    write(audit, 'one')
    rmSync(dirname(path), { recursive: true })
    assert.is(write(audit, 'two'), null)
    assert.equal(commands(path), ['two'])
    audit.close()
  })
})

test('an audit that fills up while nacre runs is moved aside too', () => {
  withFolder((_, path) => {
    const audit = createAudit(path, 100)
    for (const command of ['one', 'two']) write(audit, command)
    audit.close()
    assert.equal([commands(`${path}.1`), commands(path)], [['one'], ['two']])
  })
})

test('lines do not follow a link to another file', () => {
  withFolder((folder, path) => {
    mkdirSync(dirname(path))
    writeFileSync(join(folder, 'other'), 'mine\n')
    symlinkSync(join(folder, 'other'), path)
    const notice = write(createAudit(path), 'one')
    assert.match(notice ?? '', /audit line could not be written/)
    assert.is(readFileSync(join(folder, 'other'), 'utf8'), 'mine\n')
  })
})

test('a named pipe in place of the audit holds up nobody', () => {
  withFolder((_, path) => {
    mkdirSync(dirname(path))
    execFileSync('mkfifo', [path])
    assert.match(write(createAudit(path), 'one') ?? '', /audit line could not be written/)
  })
})

test('the folder of the audit is taken away from everybody else', () => {
  withFolder((_, path) => {
    mkdirSync(dirname(path))
    chmodSync(dirname(path), 0o777)
    const audit = createAudit(path)
    write(audit, 'one')
    audit.close()
    assert.is(statSync(dirname(path)).mode & 0o777, 0o700)
  })
})

test('no line is lost where many nacres find the audit full at once', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'nacre-test-')))
  try {
    const path = join(folder, 'audit.jsonl')
    const program = join(import.meta.dirname, '../../fixtures/programs/fills-audit.ts')
    // Each round begins with a full file; the writers wait for the same moment.
    for (let round = 0; round < 2; round++) {
      writeFileSync(path, `${JSON.stringify({ command: 'full' })}\n`.repeat(200))
      rmSync(`${path}.1`, { force: true })
      const startAtMs = Date.now() + 1500
      const words = ['--import', 'tsx', program, path, String(startAtMs)]
      const writers = Array.from({ length: 4 }, (_, n) =>
        runProgram(process.execPath, [...words, `writer-${n}`]),
      )
      for (const { status, stderr } of await Promise.all(writers)) {
        assert.is(status, 0, stderr.toString())
      }
      const found = [...commands(path), ...commands(`${path}.1`)]
      assert.is(found.filter((command) => command === 'full').length, 200)
      assert.is(found.filter((command) => command.startsWith('writer')).length, 4)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test.run()
