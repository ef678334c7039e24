import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { flags } from '../../lib/cli/flags.ts'
import { describeFlag } from '../../lib/cli/help.ts'
import { chooseMode, optionsGoOn, readInvocation } from '../../lib/cli/invocation.ts'
import { parseArgv } from '../../lib/cli/parse-argv.ts'
import { shellOffFlags } from '../../lib/cli/shell-flags.ts'
import { commands, innerCommands } from '../../lib/commands/commands.ts'
import { cliCommand } from '../helpers/cli.ts'
import { withHome } from '../helpers/home.ts'
import { runCli } from '../helpers/run-cli.ts'
import { runProgram } from '../helpers/run-program.ts'

/** Their examples need a client or a job; their own tests have one. */
const notHere = new Set(['acp', 'mcp', 'job'])

test('the help of all names every command that people use', async () => {
  const help = (await runCli(['--help'])).stdout.toString()
  for (const load of Object.values(commands)) {
    const { command } = await load()
    assert.ok(help.includes(command.usage), command.usage)
  }
})

for (const [name, load] of Object.entries({ ...commands, ...innerCommands })) {
  const { command } = await load()

  test(`nacre ${name} --help shows its usage, its options and its examples`, async () => {
    const { status, stdout } = await runCli([name, '--help'])
    assert.is(status, 0)
    const help = stdout.toString()
    const shown = [
      command.usage,
      ...command.examples,
      ...command.flags.map((flag) => `--${flag.name}`),
    ]
    for (const words of shown) assert.ok(help.includes(words), words)
    assert.ok(command.examples.length > 0)
  })

  if (command.hidden || notHere.has(name)) continue
  for (const example of command.examples) {
    test(
      `the example works: ${example}`,
      withHome(async ({ env, dir, workspace }) => {
        const nacre = cliCommand().map((word) => `'${word}'`)
        writeFileSync(join(dir, 'nacre'), `#!/bin/sh\nexec ${nacre.join(' ')} "$@"\n`, {
          mode: 0o755,
        })
        const { status, stdout, stderr } = await runProgram('bash', ['-c', example], {
          env: { ...env, PATH: `${dir}:${process.env['PATH'] ?? ''}` },
          cwd: workspace,
        })
        assert.is.not(status, 125, stderr.toString())
        assert.is.not(status, 127, stderr.toString())
        const isQuiet = / list|prune|get/.test(example)
        assert.ok(isQuiet || stdout.length > 0, 'it says something')
      }),
    )
  }
}

test(
  'examples of options had values that nacre refuses, and nothing to run',
  withHome(async ({ workspace }) => {
    for (const name of ['script.sh', 'prompts.txt']) writeFileSync(join(workspace, name), '')
    const examples = flags.map((flag) => /Example:\n {2}(.*)\n/.exec(describeFlag(flag))?.[1])
    const script = `nacre() { printf '%s\\0' "$@"; echo; }\n${examples.join('\n')}`
    const { stdout } = await runProgram('bash', ['-c', script], { cwd: workspace })
    const lines = stdout.toString().split('\n').slice(0, -1)
    assert.is(lines.length, flags.length)
    for (const line of lines) {
      const words = line.split('\0').slice(0, -1)
      const parsed = parseArgv(words, flags, { goesOn: optionsGoOn, offFlags: shellOffFlags })
      const defaults = { outputFormat: 'text', artifactDir: null, defaults: {} } as const
      readInvocation(parsed, defaults)
      assert.is.not(chooseMode(parsed, []), 'repl', words.join(' '))
    }
  }),
)

test('the name of a command that only nacre calls was suggested', async () => {
  for (const words of [['help', 'repl'], ['rea']]) {
    const { status, stderr } = await runCli(words)
    assert.is(status, 125)
    assert.not.match(stderr.toString(), 'reap')
  }
})

test.run()
