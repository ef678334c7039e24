import { join } from 'node:path'
import type { Flag } from '../protocol/request/fields.ts'
import { toOneLine } from '../render/tables.ts'
import type { Action, CommandContext } from '../doors/command.ts'
import { createCommand } from './actions.ts'

/** The word under the cursor, and those before it, are asked about; `=` is a word of its own to bash. */
const forBash = `_nacre() {
  local cur=\${COMP_WORDS[COMP_CWORD]} IFS=$'\\n'
  [[ $cur == = ]] && cur=
  set -- "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}" "$cur"
  COMPREPLY=($(command nacre completion words -- "$@" 2>/dev/null | cut -f1))
}
complete -o bashdefault -o default -F _nacre nacre
`

const forFish = `function __nacre_words
  set -l words (commandline -opc)
  set -l offered (command nacre completion words -- $words[2..] (commandline -ct) 2>/dev/null)
  if set -q offered[1]
    printf '%s\\n' $offered
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c nacre -e
complete -c nacre -f -a '(__nacre_words)'
`

const forZsh = `autoload -Uz bashcompinit && bashcompinit\n${forBash}`

export const command = createCommand({
  name: 'completion',
  description: 'The completion for a shell, as a script for it',
  flags: [],
  actions: {
    bash: writeScript(forBash, 'in ~/.bashrc: source <(nacre completion bash)'),
    zsh: writeScript(forZsh, 'in ~/.zshrc, after compinit: source <(nacre completion zsh)'),
    fish: writeScript(forFish, 'in ~/.config/fish/config.fish: nacre completion fish | source'),
    words: {
      words: ['[<word>…]'],
      description: 'what may stand in place of the last word (the scripts ask this)',
      async run(words, context) {
        const last = words.at(-1) ?? ''
        const offered = await listOffered(
          words.filter((word) => word !== '='),
          last,
          context,
        )
        const rows = offered.filter(([word]) => word.startsWith(last))
        await context.streams.stdout.write(rows.map((row) => `${row.join('\t')}\n`).join(''))
        return 0
      },
    },
  },
  examples: ['nacre completion bash', 'nacre completion zsh', 'nacre completion fish'],
})

function writeScript(script: string, description: string): Action {
  return {
    words: [],
    description,
    async run(_, { streams }) {
      await streams.stdout.write(script)
      return 0
    },
  }
}

type Offered = readonly [word: string, meaning: string]

/** What may stand in place of the last word; nothing where that is the shell's to know, such as names of files. */
async function listOffered(
  words: readonly string[],
  last: string,
  context: CommandContext,
): Promise<readonly Offered[]> {
  const [name, action = ''] = words
  const commands = await context.commands()
  const command = words.length > 1 ? commands.find((known) => known.name === name) : undefined
  const flags = context.flagsOf(command)
  const valued = flags.find(
    (flag) => flag.shape !== null && optionWords(flag).includes(words.at(-2) ?? ''),
  )
  if (valued?.shape) {
    const { shape, description } = valued
    return (shape.enum ?? []).map((value) => [value, description])
  }
  if (last.startsWith('-')) {
    return flags.flatMap((flag) =>
      optionWords(flag).map((word): Offered => [word, flag.description]),
    )
  }
  const named = commands.map(({ name, description }): Offered => [name, description])
  if (words.length === 1) return [...named, ['help', 'The help of a command']]
  if (words.length === 2) {
    if (name === 'help') return named
    const actions = Object.entries(command?.actions ?? {})
    return actions.map(([word, { description }]) => [word, description])
  }
  const { ids } = command?.actions?.[action] ?? {}
  return ids === undefined ? [] : listIds(ids, context)
}

const optionWords = ({ name, short }: Flag) => [
  `--${name}`,
  ...(short === undefined ? [] : [`-${short}`]),
]

/** How many jobs are offered, and how much of each command is shown. */
const [maxOffered, titleChars] = [100, 60]

/** The jobs there are now. */
async function listIds(
  kind: 'jobs' | 'running',
  { stateDir }: CommandContext,
): Promise<readonly Offered[]> {
  const { openJobs } = await import('../executor/jobs/jobs.ts')
  const filter = kind === 'running' ? { status: 'running' as const } : {}
  const entries = await openJobs(join(stateDir, 'jobs')).list(filter)
  return entries.slice(0, maxOffered).map(({ id, status, command: words }) => {
    return [id, toOneLine(`${status} ${words}`).slice(0, titleChars)]
  })
}
