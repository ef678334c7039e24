import type { Command } from '../command.ts'

export const command: Command = {
  name: 'mcp',
  usage: 'nacre mcp [options that shape a run]',
  description: 'Model Context Protocol server on stdin and stdout',
  flags: [],
  takesRunOptions: true,
  details: ['The options are the defaults of every command that the client runs.'],
  examples: ['nacre mcp --sandbox workspace --network off', 'claude mcp add nacre -- nacre mcp'],
  async run({ streams, cwd, version, useExecutor }) {
    const { serveMcp } = await import('./server.ts')
    return useExecutor((executor, signal) => serveMcp({ executor, streams, signal, cwd, version }))
  },
}
