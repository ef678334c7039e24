import type { ConfiguredKey } from '../protocol/configuration.ts'
import { unknownName } from '../protocol/wire.ts'
import type { Command, CommandContext } from '../doors/command.ts'
import { answerFlags, chooseAction, tell, wantsJson, wrongWords } from './answer.ts'

/** Gives the exit status, where that is not 0. */
type Action = (context: CommandContext, words: readonly string[]) => Promise<number | void>

/** The status by which git config tells that a key is not set. */
const notSet = 1

const actions: Readonly<Record<string, Action>> = {
  async list(context) {
    const { keys } = await context.configuration()
    const text = keys.map(renderKey).join('')
    await write(context, { keys }, text)
  },
  async get(context, [key]) {
    if (key === undefined) throw wrongWords('nacre config get <key>')
    const { keys } = await context.configuration()
    const found = keys.find((known) => known.key === key)
    if (!found)
      throw unknownName(
        'key',
        key,
        keys.map((known) => known.key),
      )
    const { value } = found
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    await write(context, found, value === null ? '' : `${text}\n`)
    return value === null ? notSet : 0
  },
  async path(context) {
    const { places } = await context.configuration()
    const text = places.map(({ path, isThere }) => `${path}${isThere ? '' : ' (not there)'}\n`)
    await write(context, { files: places }, text.join(''))
  },
  async schema(context) {
    const configuration = await context.configuration()
    await context.streams.stdout.write(`${JSON.stringify(configuration.schema(), null, 2)}\n`)
  },
}

export const command: Command = {
  name: 'config',
  usage: 'nacre config list|get|path|schema [key]',
  description: 'The keys of the configuration, their values here, and where each was set',
  flags: answerFlags,
  details: [
    '  nacre config list        every key: what it holds here, where that was said, what it may be',
    '  nacre config get <key>   the value of a key; nothing, and exit status 1, where it is not set',
    '  nacre config path        the files that are read, the later one wins where it may',
    '  nacre config schema      a JSON Schema of such a file, for editors (as its `$schema`)',
    '',
    'A file is JSON, with comments if you like. After the files come the variables NACRE_*, then the',
    'options of the command line. The file of a workspace may tighten guard and sandbox, never loosen',
    'them or name programs, unless its folder is in `trusted_folders` of your own file.',
  ],
  examples: ['nacre config', 'nacre config get timeouts.slow', 'nacre config schema'],
  async run(context) {
    const [name = 'list', ...words] = context.positionals
    const action = chooseAction(actions, name, command.usage)
    if (words.length > (name === 'get' ? 1 : 0)) {
      throw wrongWords(command.usage)
    }
    const status = await action(context, words)
    const { notices } = await context.configuration()
    for (const notice of notices) await tell(context, notice)
    return status ?? 0
  },
}

async function write(context: CommandContext, data: object, text: string): Promise<void> {
  await context.streams.stdout.write(wantsJson(context) ? `${JSON.stringify(data)}\n` : text)
}

function renderKey({ key, value, places, description, wanted, variable }: ConfiguredKey): string {
  const held = value === null ? '(not set)' : JSON.stringify(value)
  const from = places.length === 0 ? '' : `  (${places.join(', ')})`
  const how = variable === null ? wanted : `${wanted}; ${variable}`
  return `${key} = ${held}${from}\n    ${description}\n    ${how}\n`
}
