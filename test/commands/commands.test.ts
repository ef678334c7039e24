import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { commands, listCommands } from '../../lib/commands/commands.ts'
import { answer, checkActionFlags, chooseAction, flagsOf } from '../../lib/commands/answer.ts'
import { flags } from '../../lib/cli/flags.ts'
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

test('the completion of every shell knows every option of every command', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { status, stdout } = await runCli(['completion', shell])
    assert.is(status, 0)
    for (const { name } of [...flags, ...(await listCommands()).flatMap((it) => it.flags)]) {
      assert.match(stdout.toString(), shell === 'fish' ? `-l ${name} ` : `--${name}`, shell)
    }
  }
})

test('an option of another action is refused, with the action that has it', () => {
  const known = flagsOf(['show'], [toggle('raw', 'The bytes')])
  checkActionFlags('nacre x', 'show', known, { raw: true })
  assert.throws(
    () => checkActionFlags('nacre x', 'list', known, { raw: true }),
    /`--raw` is an option of `nacre x show`, not of `nacre x list`/,
  )
})

test('an action that there is not is told with the nearest', () => {
  const actions = { list: 1, show: 2 }
  assert.is(chooseAction(actions, 'list', 'nacre x list|show'), 1)
  assert.throws(() => chooseAction(actions, 'lsit', ''), /did you mean `list`/)
  assert.throws(() => chooseAction(actions, 'toString', ''), /Unknown action/)
})

test('an answer is text, or one line of JSON in the names of the wire', async () => {
  const written: string[] = []
  const stdout = { write: async (text: string) => void written.push(text) }
  const to = (options: object) => ({ options, streams: { stdout } }) as never
  await answer(to({}), { jobId: 1 }, 'text\n')
  await answer(to({ 'output-format': 'json' }), { jobId: 1 }, 'text\n')
  assert.equal(written, ['text\n', '{"job_id":1}\n'])
})

test.run()
