import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../helpers/cli.ts'
import { runProgram } from '../helpers/run-program.ts'

const dir = mkdtempSync(join(tmpdir(), 'full-disk-'))
const nacre = cliCommand()
  .map((word) => `'${word}'`)
  .join(' ')

function runLine(line: string) {
  return runProgram('bash', ['-c', line], { env: { XDG_STATE_HOME: join(dir, 'state') } })
}

for (const format of ['text', 'json', 'stream-json']) {
  test(`a full disk does not swallow the output in silence: ${format}`, async () => {
    if (!existsSync('/dev/full')) return console.log('SKIP a full disk: there is no /dev/full')
    const { status, stderr } = await runLine(
      `${nacre} --output-format ${format} -c 'echo hi' > /dev/full`,
    )
    assert.is(status, 125)
    assert.match(stderr.toString(), /^nacre: Cannot write standard output: ENOSPC.*\n$/)
  })
}

test('a command of nacre tells a full disk too', async () => {
  if (!existsSync('/dev/full')) return console.log('SKIP a full disk: there is no /dev/full')
  assert.is((await runLine(`${nacre} --help > /dev/full`)).status, 125)
})

test('a file that takes only a part of the last bytes is not taken for complete', async () => {
  const line = `${nacre} -c 'head -c 20000 /dev/zero' > '${join(dir, 'part')}'`
  const { status, stderr } = await runLine(`trap '' XFSZ; ulimit -f 10; ${line}`)
  assert.is(status, 125)
  assert.match(stderr.toString(), /Cannot write standard output: (EFBIG|File too large)/)
})

test.after(() => rmSync(dir, { recursive: true }))

test.run()
