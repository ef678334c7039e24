import { wrongUsage } from '../../protocol/errors.ts'
import { unknownName } from '../../protocol/wire.ts'
import type { Command } from '../../doors/command.ts'
import { wrongWords } from '../answer.ts'
import { writeBash } from './bash.ts'
import { writeFish } from './fish.ts'
import { describeGrammar, type Grammar } from './grammar.ts'
import { writeZsh } from './zsh.ts'

const writers: Readonly<Record<string, (grammar: Grammar) => string>> = {
  bash: writeBash,
  zsh: writeZsh,
  fish: writeFish,
}

export const command: Command = {
  name: 'completion',
  usage: 'nacre completion bash|zsh|fish',
  description: 'The completion for a shell, as a script for it',
  flags: [],
  details: [
    'Put the line of your shell into its configuration:',
    '  ~/.bashrc                  source <(nacre completion bash)',
    '  ~/.zshrc, after compinit   source <(nacre completion zsh)',
    '  ~/.config/fish/config.fish nacre completion fish | source',
    '',
    'They ask for ids as they stand: nacre completion ids jobs|artifacts|conversations.',
  ],
  examples: ['nacre completion bash', 'nacre completion zsh', 'nacre completion fish'],
  async run(context) {
    const { positionals, streams, flags, runFlags, commands } = context
    if (positionals[0] === 'ids') {
      if (positionals.length > 2) {
        throw wrongWords('nacre completion ids <kind>')
      }
      const { listIds } = await import('./ids.ts')
      await streams.stdout.write(await listIds(positionals[1] ?? '', context))
      return 0
    }
    const [shell] = positionals
    if (shell === undefined || positionals.length > 1) {
      throw wrongUsage(`Say for which shell: ${command.usage}`)
    }
    const write = Object.hasOwn(writers, shell) ? writers[shell] : undefined
    if (write === undefined) throw unknownName('shell', shell, Object.keys(writers))
    await streams.stdout.write(write(describeGrammar(await commands(), { flags, runFlags })))
    return 0
  },
}
