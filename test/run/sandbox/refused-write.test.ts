import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { findPaths } from '../../../lib/run/sandbox/refused-write.ts'

test('what programs say of a read-only file system names a path', () => {
  const lines: [line: string, path: string][] = [
    ["touch: cannot touch '/etc/x': Read-only file system", '/etc/x'],
    ['mkdir: cannot create directory ‘/etc/a b’: Read-only file system', '/etc/a b'],
    ['bash: line 1: /etc/foo: Read-only file system', '/etc/foo'],
    ['bash: /etc/a b: Read-only file system', '/etc/a b'],
    ['sh: 1: cannot create /etc/foo: Read-only file system', '/etc/foo'],
    ["sed: couldn't open temporary file ./sedYd1: Read-only file system", './sedYd1'],
    ["OSError: [Errno 30] Read-only file system: '/etc/x'", '/etc/x'],
    ["Error: EROFS: read-only file system, open '/etc/x'", '/etc/x'],
    ["fatal: Unable to create '/r/.git/index.lock': Read-only file system", '/r/.git/index.lock'],
    ['bash: line 3: here: Read-only file system', 'here'],
  ]
  for (const [line, path] of lines) assert.ok(findPaths(line).includes(path), line)
})

test('where no path is named none is made up', () => {
  const lines = [
    'error: unable to create temporary file: Read-only file system',
    'This is about the Read-only file system',
    'Read-only file system',
  ]
  for (const line of lines) {
    assert.not.ok(findPaths(line).some((path) => path.includes('file') || path.includes('about')))
  }
})

test.run()
