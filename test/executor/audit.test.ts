import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Audit, createAudit } from '../../lib/executor/audit.ts'
import { deniedResult } from '../../lib/executor/results.ts'
import { parseRequest } from '../../lib/protocol/parse-request.ts'

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

test('an audit that fills up while nacre runs is moved aside too', () => {
  withFolder((_, path) => {
    const audit = createAudit(path, 100)
    for (const command of ['one', 'two']) write(audit, command)
    audit.close()
    assert.equal([commands(`${path}.1`), commands(path)], [['one'], ['two']])
  })
})

test('a line is not written to a file that another nacre has moved aside', () => {
  withFolder((_, path) => {
    const [mine, other] = [createAudit(path), createAudit(path)]
    write(mine, 'one')
    renameSync(path, `${path}.1`)
    write(other, 'two')
    write(mine, 'three')
    rmSync(path)
    write(mine, 'four')
    assert.equal([commands(`${path}.1`), commands(path)], [['one'], ['four']])
    mine.close()
    other.close()
  })
})

test.run()
