import type { Command } from '../command.ts'

export const command: Command = {
  name: 'acp',
  usage: 'nacre acp [options of prompts] [options that shape a run]',
  description: 'Agent Client Protocol on stdin and stdout, for editors',
  flags: [],
  takesNoWords: true,
  takesRunOptions: true,
  takesPromptOptions: true,
  details: [
    'Editors start it by themselves: Zed by `agent_servers` in its settings, JetBrains by its list of',
    'agents, Neovim by a plugin for the protocol.',
  ],
  examples: ['nacre acp --model anthropic/claude-sonnet-4-5', 'nacre acp --max-steps 100'],
  async run({ streams, stateDir, useExecutor, agentSettings }) {
    const { serveAcp } = await import('./server.ts')
    const settings = await agentSettings()
    return useExecutor((executor, signal) =>
      serveAcp({ executor, streams, signal, stateDir }, settings),
    )
  },
}
