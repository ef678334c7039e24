import { toggle } from '../../protocol/request/fields.ts'
import type { Command } from '../command.ts'

export const command: Command = {
  name: 'mcp',
  usage: 'nacre mcp [--structured] [options that shape a run]',
  description: 'Model Context Protocol server on stdin and stdout',
  flags: [
    toggle('structured', 'Give results as structured content too, for clients that are programs'),
  ],
  takesNoWords: true,
  takesRunOptions: true,
  details: [
    'The options are the defaults of every command that the client runs.',
    'The text of a result is complete in itself. Many clients show a model the structured content in',
    'its place, so that is sent only with --structured.',
  ],
  examples: ['nacre mcp --sandbox workspace --network off', 'claude mcp add nacre -- nacre mcp'],
  async run({ streams, cwd, options, useExecutor }) {
    const { serveMcp } = await import('./server.ts')
    const isStructured = options['structured'] === true
    return useExecutor((executor, signal) =>
      serveMcp({ executor, streams, signal, cwd, isStructured }),
    )
  },
}
