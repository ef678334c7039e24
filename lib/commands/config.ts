import type { CommandContext } from '../doors/command.ts'
import type { ConfiguredKey } from '../protocol/configuration.ts'
import { toWire, unknownName } from '../protocol/wire.ts'
import { answerFlags, createCommand, tell, wantsJson } from './actions.ts'

/** The status by which git config tells that a key is not set. */
const notSet = 1

export const command = createCommand({
  name: 'config',
  description: 'The keys of the configuration, their values here, and where each was set',
  flags: answerFlags,
  usual: 'list',
  actions: {
    list: {
      words: [],
      description: 'every key: what it holds here, where that was said, what it may be',
      async run(_, context) {
        const { keys, notices } = await context.configuration()
        return write(context, notices, { keys }, keys.map(renderKey).join(''))
      },
    },
    get: {
      words: ['<key>'],
      description: 'the value of a key; nothing, and exit status 1, if it is not set',
      async run([key = ''], context) {
        const { keys, notices } = await context.configuration()
        const found = keys.find((known) => known.key === key)
        const names = keys.map((known) => known.key)
        if (!found) throw unknownName('key', key, names)
        const { value } = found
        const text = typeof value === 'string' ? value : JSON.stringify(value)
        await write(context, notices, found, value === null ? '' : `${text}\n`)
        return value === null ? notSet : 0
      },
    },
    path: {
      words: [],
      description: 'the files that are read; a later one wins where it may',
      async run(_, context) {
        const { places, notices } = await context.configuration()
        const text = places.map(({ path, isThere }) => `${path}${isThere ? '' : ' (not there)'}\n`)
        return write(context, notices, { files: toWire(places) }, text.join(''))
      },
    },
    schema: {
      words: [],
      description: 'a JSON Schema of such a file, for editors (as its `$schema`)',
      async run(_, context) {
        const { notices, ...configuration } = await context.configuration()
        const schema = configuration.schema()
        return write(context, notices, schema, `${JSON.stringify(schema, null, 2)}\n`)
      },
    },
  },
  details: [
    'A file is JSON, with comments if you like. After the files come the variables NACRE_*, then the',
    'options of the command line. The file of a workspace may tighten guard and sandbox, never loosen',
    'them or name programs, unless its folder is in `trusted_folders` of your own file.',
  ],
  examples: ['nacre config', 'nacre config get timeouts.slow', 'nacre config schema'],
})

/** Answers, and tells what was ignored. Gives the exit status. */
async function write(
  context: CommandContext,
  notices: readonly string[],
  data: object,
  text: string,
): Promise<number> {
  // The names of the file, in which a key is told, are those of the wire already.
  await context.streams.stdout.write(wantsJson(context) ? `${JSON.stringify(data)}\n` : text)
  for (const notice of notices) await tell(context, notice)
  return 0
}

function renderKey({ key, value, places, description, wanted, variable }: ConfiguredKey): string {
  const held = value === null ? '(not set)' : JSON.stringify(value)
  const from = places.length === 0 ? '' : `  (${places.join(', ')})`
  const how = variable === null ? wanted : `${wanted}; ${variable}`
  return `${key} = ${held}${from}\n    ${description}\n    ${how}\n`
}
