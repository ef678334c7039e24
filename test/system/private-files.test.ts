import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { makePrivateFolder } from '../../lib/system/private-files.ts'

const root = mkdtempSync(join(tmpdir(), 'private-folder-'))

test('every folder that it makes is of this user alone', () => {
  makePrivateFolder(join(root, 'a/b/c'))
  for (const name of ['a', 'a/b', 'a/b/c']) {
    assert.is(statSync(join(root, name)).mode & 0o777, 0o700)
  }
  makePrivateFolder(join(root, 'a/b/c'))
})

test('a file on the way is told', () => {
  writeFileSync(join(root, 'file'), '')
  assert.throws(() => makePrivateFolder(join(root, 'file/x')), /ENOTDIR/)
  assert.throws(() => makePrivateFolder(join(root, 'file')), /EEXIST/)
})

test('a file system that says ENOENT of an existing parent does not keep it for ever', () => {
  if (!existsSync('/proc/self'))
    return console.log('SKIP a file system that says ENOENT: there is no /proc')
  assert.throws(() => makePrivateFolder('/proc/nacre/x'), /ENOENT/)
})

test.after(() => rmSync(root, { recursive: true }))

test.run()
