import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { commands, listCommands } from '../../lib/commands/commands.ts'
import { answer, createCommand } from '../../lib/commands/actions.ts'
import type { CommandContext } from '../../lib/doors/command.ts'
import { flags, globalFlags, promptFlags, runFlags } from '../../lib/cli/flags.ts'
import { toggle } from '../../lib/protocol/request/fields.ts'
import { runCli } from '../helpers/run-cli.ts'

test('every command is found by its name, and its usage begins with that', async () => {
  for (const command of await listCommands()) {
    assert.ok(Object.hasOwn(commands, command.name), command.name)
    assert.ok(command.usage.startsWith(`nacre ${command.name}`), command.usage)
  }
})

test('no command has two options of one name or letter', async () => {
  for (const { name, flags: own } of await listCommands()) {
    const words = own.flatMap((flag) => [`--${flag.name}`, ...(flag.short ? [flag.short] : [])])
    assert.is(new Set(words).size, words.length, name)
  }
})

test('the completion knows every option of every command', async () => {
  const offeredBehind = async (...words: string[]) =>
    (await runCli(['completion', 'words', '--', ...words, '--'])).stdout.toString()
  const own = await offeredBehind()
  for (const { name } of flags) assert.match(own, `--${name}\t`)
  for (const command of await listCommands()) {
    const offered = await offeredBehind(command.name)
    const own = [
      ...command.flags,
      ...globalFlags,
      ...(command.takesPromptOptions ? promptFlags : []),
      ...(command.takesRunOptions ? runFlags : []),
    ]
    for (const { name } of own) assert.match(offered, `--${name}\t`, command.name)
  }
})

const actions = {
  list: { words: [], description: '', run: async () => 0 },
  show: {
    words: ['<id>'],
    description: '',
    flags: [toggle('raw', 'The bytes')],
    run: async () => 1,
  },
}
const example = createCommand({ name: 'x', description: '', flags: [], examples: [], actions })
const act = async (positionals: string[], options: object = {}) =>
  example.run({ positionals, options } as unknown as CommandContext)

async function failure(...words: Parameters<typeof act>): Promise<string> {
  return act(...words).then(String, (error: Error) => error.message)
}

test('an option of another action is refused, with the action that has it', async () => {
  assert.is(await act(['show', 'a'], { raw: true }), 1)
  assert.match(
    await failure(['list'], { raw: true }),
    /`--raw` is an option of `nacre x show`, not of `nacre x list`/,
  )
})

test('an action that there is not is told with the nearest, and its words are counted', async () => {
  assert.is(await act(['list']), 0)
  assert.match(await failure(['lsit']), /did you mean `list`/)
  assert.match(await failure(['toString']), /Unknown action/)
  assert.match(await failure(['show']), 'Usage: nacre x show <id>')
  assert.match(await failure([]), 'nacre x list|show')
})

test('an answer is text, or one line of JSON in the names of the wire', async () => {
  const written: string[] = []
  const stdout = { write: async (text: string) => void written.push(text) }
  const to = (options: object) => ({ options, streams: { stdout } }) as never
  await answer(to({}), { jobId: 1 }, 'text\n')
  await answer(to({ outputFormat: 'json' }), { jobId: 1 }, 'text\n')
  assert.equal(written, ['text\n', '{"job_id":1}\n'])
})

test.run()
