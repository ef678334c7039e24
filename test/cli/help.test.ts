import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { flags } from '../../lib/cli/flags.ts'
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

test('-h is one screen, and --help is all of it', async () => {
  const [brief, whole] = await Promise.all([runCli(['-h']), runCli(['--help'])])
  assert.ok(brief.stdout.toString().split('\n').length <= 24)
  for (const { name } of flags) assert.ok(whole.stdout.toString().includes(`--${name}`), name)
})

test('help takes the action of a command, and an option', async () => {
  const helpOf = async (...words: string[]) => (await runCli(['help', ...words])).stdout.toString()
  assert.is(await helpOf('job', 'wait'), await helpOf('job'))
  assert.match(await helpOf('timeout'), /--timeout <duration> +\w/)
  const { status, stderr } = await runCli(['help', 'job', 'wai'])
  assert.is(status, 125)
  assert.match(stderr.toString(), 'nacre help <word>')
})

test('the name of a command that only nacre calls was suggested', async () => {
  for (const [words, wanted] of [
    [['help', 'repl'], 125],
    [['rea'], 127],
  ] as const) {
    const { status, stderr } = await runCli([...words])
    assert.is(status, wanted)
    assert.not.match(stderr.toString(), 'reap')
  }
})

test.run()
