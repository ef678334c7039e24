import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { extractAddon, loadPtyAddon } from '../../../../lib/run/terminal/pty/addon.ts'

const content = Buffer.from('an addon')
let folder = ''
test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'addon-'))
})
test.after.each(() => rmSync(folder, { recursive: true }))

test('the addon of this platform loads', () => {
  const { addon } = loadPtyAddon()
  assert.equal(Object.keys(addon).sort(), ['fork', 'open', 'process', 'resize'])
})

test('it is unpacked once, where only this user can write', () => {
  const cacheFolder = join(folder, 'deep', 'cache')
  const path = extractAddon(content, cacheFolder)
  assert.equal(readFileSync(path), content)
  assert.is(lstatSync(cacheFolder).mode & 0o777, 0o700)
  const { ino } = lstatSync(path)
  assert.is(extractAddon(content, cacheFolder), path)
  assert.is(lstatSync(path).ino, ino)
  assert.is.not(extractAddon(Buffer.from('another'), cacheFolder), path)
  assert.is(readdirSync(cacheFolder).length, 2)
})

test('a file of other content under its name is replaced', () => {
  const path = extractAddon(content, folder)
  writeFileSync(path, 'changed')
  assert.is(extractAddon(content, folder), path)
  assert.equal(readFileSync(path), content)
})

test('a folder that others could write to is closed to them', () => {
  const cacheFolder = join(folder, 'open')
  mkdirSync(cacheFolder)
  mkdirSync(join(folder, 'elsewhere'), { mode: 0o777 })
  extractAddon(content, cacheFolder)
  assert.is(lstatSync(cacheFolder).mode & 0o777, 0o700)
})

test('a link in place of the folder, or of the file, is not followed', () => {
  mkdirSync(join(folder, 'elsewhere'))
  symlinkSync(join(folder, 'elsewhere'), join(folder, 'link'))
  assert.throws(() => extractAddon(content, join(folder, 'link')), /is not a folder of this user/)
  const path = extractAddon(content, folder)
  writeFileSync(join(folder, 'planted'), content)
  rmSync(path)
  symlinkSync(join(folder, 'planted'), path)
  extractAddon(content, folder)
  assert.ok(lstatSync(path).isFile())
})

test.run()
