import { spawnSync } from 'node:child_process'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { makeManual } from '../../.ci/tools/manual.ts'
import { updateReference } from '../../.ci/tools/reference.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { flags } from '../../lib/cli/flags.ts'
import { keys, variableOf } from '../../lib/config/keys.ts'
import { listCommands } from '../../lib/commands/commands.ts'
import { runProgram } from '../helpers/run-program.ts'

const isInstalled = (program: string) => spawnSync(program, ['/dev/null']).error === undefined

if (isInstalled('mandoc')) {
  test('the manual has no fault that mandoc finds', async () => {
    const input = await makeManual()
    const { stdout, stderr } = await runProgram('mandoc', ['-Tlint', '-Wwarning'], { input })
    assert.is(stdout.toString() + stderr.toString(), '')
  })

  test('the manual shows every option, command, example, key and variable as it is typed', async () => {
    const input = await makeManual()
    const { stdout } = await runProgram('mandoc', ['-Tascii', '-Owidth=400'], { input })
    // Bold and underlined are written twice over.
    const page = stdout.toString().replaceAll(/.\x08/g, '')
    const shown = (words: string) => assert.ok(page.includes(words), words)
    for (const { name } of flags) shown(`--${name}`)
    for (const name of keys.keys()) {
      const variable = variableOf(name)
      shown(name)
      if (variable !== null) shown(variable)
    }
    for (const { usage, examples, flags: own } of await listCommands()) {
      for (const words of [usage, ...examples]) shown(words.replaceAll('…', '...'))
      for (const { name } of own) shown(`--${name}`)
    }
    shown(String.raw`-exec nacre -c 'wc -l "$1"' _ {} \;`)
  })
} else console.log('SKIP the manual: mandoc is not installed')

test('lib/config/CONFIGURATION.md is what the tables say; `npm run reference` writes it', () => {
  const text = readFileSync(join(import.meta.dirname, '../../lib/config/CONFIGURATION.md'), 'utf8')
  assert.is(text, updateReference(text))
  for (const name of keys.keys()) assert.ok(text.includes(`\`${name}\``), name)
})

test.run()
