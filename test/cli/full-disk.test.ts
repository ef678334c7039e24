import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand, cliRuntime } from '../helpers/cli.ts'
import { runProgram } from '../helpers/run-program.ts'

const dir = mkdtempSync(join(tmpdir(), 'full-disk-'))
const nacre = cliCommand()
  .map((word) => `'${word}'`)
  .join(' ')

function runLine(line: string) {
  return runProgram('bash', ['-c', line], { env: { XDG_STATE_HOME: join(dir, 'state') } })
}

for (const format of ['json', 'stream-json']) {
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

/** The command writes there itself, so that it meets what it would meet without nacre. */
const full = {
  'a full disk': "-c 'echo hi' > /dev/full",
  'a file that takes only a part': `-c 'head -c 20000 /dev/zero' > '${join(dir, 'part')}'`,
}

for (const [name, words] of Object.entries(full)) {
  test(`a command hears of ${name} itself, as under bash`, async () => {
    if (!existsSync('/dev/full')) return console.log('SKIP a full disk: there is no /dev/full')
    const limit = 'ulimit -f 10;'
    const [mine, other] = await Promise.all([
      runLine(`${limit} ${nacre} ${words}`),
      runLine(`${limit} bash ${words}`),
    ])
    assert.is.not(mine.status, 0)
    // Deno gives its children the signal that Node and Bun ignore for them: 128 + XFSZ.
    assert.ok(mine.status === other.status || (cliRuntime() === 'deno' && mine.status === 153))
    if (mine.status !== other.status) return
    // Of an end by a signal the shell around it tells more.
    if (other.status < 128) assert.is(mine.stderr.toString(), other.stderr.toString())
  })
}

test.after(() => rmSync(dir, { recursive: true }))

test.run()
