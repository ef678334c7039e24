import { join } from 'node:path'
import { wrongUsage } from '../protocol/errors.ts'
import { type Flag, hintOf } from '../protocol/request/fields.ts'
import type { Shape } from '../protocol/shape/shape.ts'
import { unknownName } from '../protocol/wire.ts'
import { quoteWord } from '../protocol/words.ts'
import { toOneLine } from '../render/tables.ts'
import type { Command, CommandContext } from '../doors/command.ts'
import { wrongWords } from './answer.ts'

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
    'The scripts ask for the ids of jobs when one is wanted: nacre completion ids jobs|running.',
  ],
  examples: ['nacre completion bash', 'nacre completion zsh', 'nacre completion fish'],
  async run(context) {
    const { streams, commands } = context
    const [shell, kind, ...more] = context.positionals
    if (shell === 'ids') {
      if (kind === undefined || more.length > 0) throw wrongWords('nacre completion ids <kind>')
      await streams.stdout.write(await listIds(kind, context))
      return 0
    }
    if (shell === undefined || kind !== undefined) {
      throw wrongUsage(`Say for which shell: ${command.usage}`)
    }
    const write = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined
    if (write === undefined) throw unknownName('shell', shell, Object.keys(scripts))
    await streams.stdout.write(write(listRows(await commands(), context)))
    return 0
  },
}

/**
 * What can stand on a command line, a row for each word: where it stands (`nacre`, a command, or a command with
 * its action), the word, its value, and what it means. The value is `-` where it takes none, `+` where nothing
 * can be offered, else the words to offer. `@folder`, `@file` and `@` with a kind of ids stand for words that
 * only the shell, or nacre, can list.
 */
type Row = readonly [place: string, word: string, value: string, meaning: string]

function listRows(
  commands: readonly Command[],
  { flags, runFlags }: Pick<CommandContext, 'flags' | 'runFlags'>,
): Row[] {
  return [
    ...commands.map(({ name, description }): Row => ['nacre', name, '-', description]),
    ['nacre', 'help', '-', 'The help of a command'],
    ...flags.flatMap((flag) => optionRows('nacre', flag)),
    ...commands.flatMap((command) => commandRows(command, runFlags)),
    ...commands.map(({ name, description }): Row => ['help', name, '-', description]),
  ]
}

function commandRows(command: Command, runFlags: readonly Flag[]): Row[] {
  const { name, usage, flags, takesRunOptions, takesIds } = command
  const [, , words = ''] = usage.split(' ')
  const actions = /^[\w-]+(?:\|[\w-]+)+$/.test(words) ? words.split('|') : []
  return [
    ...actions.map((action): Row => [name, action, '-', '']),
    ...[...flags, ...(takesRunOptions ? runFlags : [])].flatMap((flag) => optionRows(name, flag)),
    [name, '--help', '-', 'Show this help'],
    ...Object.entries(takesIds ?? {}).flatMap(([kind, behind]) =>
      behind.map((action): Row => [`${name} ${action}`, `@${kind}`, '-', '']),
    ),
  ]
}

function optionRows(place: string, { name, short, shape, description }: Flag): Row[] {
  const names = [`--${name}`, ...(short === undefined ? [] : [`-${short}`])]
  return names.map((word) => [place, word, shape === null ? '-' : valueOf(shape), description])
}

function valueOf(shape: Shape): string {
  if (shape.kind === 'choice') return shape.values.join(' ')
  const hint = hintOf(shape)
  if (hint === 'dir') return '@folder'
  return hint === 'path' || hint === 'program' ? '@file' : '+'
}

/** bash 3.2 and newer; zsh reads it by its own bashcompinit. */
const writeForBash = (rows: readonly Row[]) => `# nacre completion: source <(nacre completion bash)
_nacre_rows=${quoteWord(`\n${rows.map((row) => row.join('\t')).join('\n')}`)}
_nacre() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} of=nacre depth=1
  local place word value meaning offered= values= ids= IFS=$' \\t\\n'
  # bash takes --name=value for three words.
  [[ $cur == = ]] && cur=
  [[ $prev == = ]] && prev=\${COMP_WORDS[COMP_CWORD-2]}
  if ((COMP_CWORD > 1)) && [[ $_nacre_rows == *$'\\n'"\${COMP_WORDS[1]}"$'\\t'* ]]; then
    of=\${COMP_WORDS[1]} depth=2
  fi
  while IFS=$'\\t' read -r place word value meaning; do
    if [[ $place == "$of" ]]; then
      [[ $word == "$prev" && $value != - ]] && values=$value
      [[ $word == -* || $COMP_CWORD == "$depth" ]] && offered+=" $word"
    elif ((COMP_CWORD > 2)) && [[ $place == "$of \${COMP_WORDS[2]}" && $cur != -* ]]; then
      ids=$word
    fi
  done <<< "$_nacre_rows"
  [[ $cur == -* || $COMP_CWORD == "$depth" ]] || offered=
  offered=\${values:-\${ids:-$offered}}
  case $offered in
    +|@file) return ;;
    @folder) IFS=$'\\n'; COMPREPLY=($(compgen -d -- "$cur")); return ;;
    @*) offered=$(command nacre completion ids "\${offered#@}" 2>/dev/null | cut -f1) ;;
  esac
  COMPREPLY=($(compgen -W "$offered" -- "$cur"))
}
complete -o bashdefault -o default -F _nacre nacre
`

/** A line for each row: where fish offers it, and what. */
const writeForFish = (
  rows: readonly Row[],
) => `# nacre completion for fish: nacre completion fish | source
function __nacre_words
  commandline -opc | string join ' '
end
function __nacre_command
  set -l words (commandline -opc)
  contains -- "$words[2]" ${[...new Set(rows.map(([place]) => place.split(' ')[0]))].join(' ')}; and echo $words[2]; or echo nacre
end
complete -c nacre -e
${rows.map(writeFishRow).join('\n')}
`

function writeFishRow([place, word, value, meaning]: Row): string {
  const line = place === 'nacre' ? place : `nacre ${place}`
  const [, dashes, name = ''] = /^(-+)(.+)$/.exec(word) ?? []
  if (dashes !== undefined) {
    const option = `${dashes === '-' ? '-s' : '-l'} ${name}`
    return offer(`test (__nacre_command) = ${place}`, `${option} ${offerInFish(value)}`, meaning)
  }
  if (word.startsWith('@')) {
    const isWord = 'not string match -q -- "-*" (commandline -ct)'
    return offer(`string match -q "${line}*" (__nacre_words); and ${isWord}`, offerInFish(word), '')
  }
  // A script may stand in place of a command.
  const only = place === 'nacre' ? '' : '-f '
  return offer(`test (__nacre_words) = "${line}"`, `${only}-a ${word}`, meaning)
}

function offer(where: string, what: string, meaning: string): string {
  return `complete -c nacre -n ${quoteForFish(where)} ${what} -d ${quoteForFish(meaning)}`
}

/** What stands behind an option, or where an id may. */
function offerInFish(value: string): string {
  switch (value) {
    case '-':
      return ''
    case '+':
      return '-x'
    case '@file':
      return '-r'
    case '@folder':
      return "-x -a '(__fish_complete_directories)'"
    default:
      return value.startsWith('@')
        ? `-x -a '(command nacre completion ids ${value.slice(1)} 2>/dev/null)'`
        : `-x -a ${quoteForFish(value)}`
  }
}

function quoteForFish(text: string): string {
  return `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`
}

const scripts: Readonly<Record<string, (rows: readonly Row[]) => string>> = {
  bash: writeForBash,
  zsh: (rows) => `autoload -Uz bashcompinit && bashcompinit\n${writeForBash(rows)}`,
  fish: writeForFish,
}

/** How many jobs are offered, and how much of each command is shown. */
const [maxOffered, titleChars] = [100, 60]

/** The jobs there are now, for the scripts of the shells: a line each, the id, a tab, and what it is. */
async function listIds(kind: string, { stateDir }: CommandContext): Promise<string> {
  const kinds = ['jobs', 'running']
  if (!kinds.includes(kind)) throw unknownName('kind', kind, kinds)
  const { openJobs } = await import('../executor/jobs/jobs.ts')
  const filter = kind === 'running' ? { status: 'running' as const } : {}
  const entries = await openJobs(join(stateDir, 'jobs')).list(filter)
  return entries
    .slice(0, maxOffered)
    .map(({ id, status, command: words }) => {
      return `${id}\t${toOneLine(`${status} ${words}`).slice(0, titleChars)}\n`
    })
    .join('')
}
