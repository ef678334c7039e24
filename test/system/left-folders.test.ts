import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readPidNamespace } from '../../lib/system/process/process-table.ts'
import { runCli } from '../helpers/run-cli.ts'
import { runProgram } from '../helpers/run-program.ts'

/** Stands for /tmp, which all users share. */
function makeSharedPlace(): string {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'nacre-test-')))
  chmodSync(place, 0o1777)
  return place
}

/** The name of a folder that a killed nacre has left. */
function nameLeft(): string {
  return `nacre-test-${readPidNamespace()}-${spawnSync('true').pid}-abcdef`
}

function listJobs(place: string) {
  return runCli(['job', 'list'], { env: { TMPDIR: place, XDG_STATE_HOME: join(place, 'state') } })
}

test('what a killed nacre has left is removed, without what its links lead to', async () => {
  const place = makeSharedPlace()
  try {
    const left = join(place, nameLeft())
    const kept = join(place, 'kept')
    mkdirSync(join(left, 'tmp', 'below'), { recursive: true })
    mkdirSync(kept)
    writeFileSync(join(kept, 'file'), '')
    symlinkSync(kept, join(left, 'tmp', 'link'))
    symlinkSync(kept, join(place, nameLeft()))
    assert.is((await listJobs(place)).status, 0)
    assert.equal([existsSync(left), existsSync(join(kept, 'file'))], [false, true])
  } finally {
    rmSync(place, { recursive: true })
  }
})

test('a folder of another user in a shared place is left alone, whatever it is called', async () => {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/setpriv'))
    return console.log('SKIP a folder of another user: only root can become another user')
  const place = makeSharedPlace()
  try {
    const foreign = join(place, nameLeft())
    const script = `mkdir -m 700 '${foreign}' && touch '${foreign}/file'`
    const words = ['--reuid', '65534', '--clear-groups', 'sh', '-c', script]
    assert.is((await runProgram('setpriv', words)).status, 0)
    assert.is((await listJobs(place)).status, 0)
    assert.ok(existsSync(join(foreign, 'file')), 'nacre has removed files of another user')
  } finally {
    rmSync(place, { recursive: true })
  }
})

test.run()
