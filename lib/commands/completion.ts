import { join } from 'node:path'
import { wrongUsage } from '../protocol/errors.ts'
import { type Flag, hintOf } from '../protocol/request/fields.ts'
import type { Shape } from '../protocol/shape/shape.ts'
import { unknownName } from '../protocol/wire.ts'
import { quoteWord } from '../protocol/words.ts'
import { toOneLine } from '../render/tables.ts'
import type { Command, CommandContext, IdKind } from '../doors/command.ts'
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
    'The scripts ask for ids when one is wanted: nacre completion ids jobs|running|artifacts|conversations|keys.',
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
  const { name, usage, flags, takesRunOptions, takesIds = {} } = command
  const [, , words = ''] = usage.split(' ')
  const actions = /^[\w-]+(?:\|[\w-]+)+$/.test(words) ? words.split('|') : []
  return [
    ...actions.map((action): Row => [name, action, '-', '']),
    ...[...flags, ...(takesRunOptions ? runFlags : [])].flatMap((flag) => optionRows(name, flag)),
    [name, '--help', '-', 'Show this help'],
    ...Object.entries(takesIds).flatMap(([kind, behind]) =>
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
  if (hint === 'conversation') return '@conversations'
  if (hint === 'dir') return '@folder'
  return hint === 'path' || hint === 'program' ? '@file' : '+'
}

const writeRows = (rows: readonly Row[]) => rows.map((row) => row.join('\t'))

/**
 * Each reads the rows in the same way: the value of the option before the cursor; else an id, behind an action
 * that takes one; else the options, and the commands or actions where one stands. Where nothing is found the
 * shell offers files.
 */
const scripts: Readonly<Record<string, (rows: readonly Row[]) => string>> = {
  // bash 3.2 and newer.
  bash: (rows) => `# nacre completion for bash: source <(nacre completion bash)
_nacre_rows=${quoteWord(`\n${writeRows(rows).join('\n')}`)}
_nacre() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} of=nacre depth=1
  local place word value meaning words= values= ids= IFS=$' \\t\\n'
  # bash takes --name=value for three words.
  [[ $cur == = ]] && cur=
  [[ $prev == = ]] && prev=\${COMP_WORDS[COMP_CWORD-2]}
  if ((COMP_CWORD > 1)) && [[ $_nacre_rows == *$'\\n'"\${COMP_WORDS[1]}"$'\\t'* ]]; then
    of=\${COMP_WORDS[1]} depth=2
  fi
  while IFS=$'\\t' read -r place word value meaning; do
    if [[ $place == "$of" ]]; then
      [[ $word == "$prev" && $value != - ]] && values=$value
      [[ $word == -* || $COMP_CWORD == "$depth" ]] && words+=" $word"
    elif ((COMP_CWORD > 2)) && [[ $place == "$of \${COMP_WORDS[2]}" && $cur != -* ]]; then
      ids=$word
    fi
  done <<< "$_nacre_rows"
  [[ $cur == -* || $COMP_CWORD == "$depth" ]] || words=
  words=\${values:-\${ids:-$words}}
  case $words in
    +|@file) return ;;
    @folder) IFS=$'\\n'; COMPREPLY=($(compgen -d -- "$cur")); return ;;
    @*) words=$(command nacre completion ids "\${words#@}" 2>/dev/null | cut -f1) ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o bashdefault -o default -F _nacre nacre
`,
  // To be sourced, or to be put on the `fpath` as `_nacre`.
  zsh: (rows) => `#compdef nacre
# nacre completion for zsh: source <(nacre completion zsh)
_nacre_rows=${quoteWord(`\n${writeRows(rows).join('\n')}`)}
_nacre() {
  local of=nacre depth=2 cur=\${words[CURRENT]} prev=\${words[CURRENT-1]} values= ids= line
  local -a row offered
  if (( CURRENT > 2 )) && [[ $_nacre_rows == *$'\\n'\${words[2]}$'\\t'* ]]; then
    of=\${words[2]} depth=3
  fi
  for line in \${(f)_nacre_rows}; do
    row=("\${(@ps:\\t:)line}")
    if [[ \${row[1]} == "$of" ]]; then
      [[ \${row[2]} == "$prev" && \${row[3]} != - ]] && values=\${row[3]}
      if [[ \${row[2]} == -* && $cur == -* || \${row[2]} != -* && $CURRENT == $depth ]]; then
        offered+=("\${row[2]}:\${row[4]}")
      fi
    elif (( CURRENT > 3 )) && [[ \${row[1]} == "$of \${words[3]}" && $cur != -* ]]; then
      ids=\${row[2]}
    fi
  done
  case \${values:-$ids} in
    '') _describe nacre offered || _default ;;
    +) _message "\${prev}" ;;
    @folder) _files -/ ;;
    @file) _files ;;
    @*)
      offered=()
      for line in \${(f)"$(command nacre completion ids \${\${values:-$ids}#@} 2>/dev/null)"}; do
        offered+=("\${line%%$'\\t'*}:\${line#*$'\\t'}")
      done
      _describe id offered
      ;;
    *) compadd -- \${=values} ;;
  esac
}
if [[ \${funcstack[1]} == _nacre ]]; then _nacre "$@"; else compdef _nacre nacre; fi
`,
  fish: (rows) => `# nacre completion for fish: nacre completion fish | source
set -g __nacre_rows ${writeRows(rows).map(quoteForFish).join(' ')}
function __nacre_complete
  set -l words (commandline -opc)
  set -l cur (commandline -ct)
  set -l of nacre
  set -l depth 1
  set -l offered
  set -l values ''
  if set -q words[2]; and string match -q -- "$words[2]"\\t'*' $__nacre_rows
    set of $words[2]
    set depth 2
  end
  for line in (string match -- "$of*" $__nacre_rows)
    set -l row (string split \\t -- $line)
    if test "$row[1]" = "$of"
      test "$row[2]" = "$words[-1]"; and test "$row[3]" != -; and set values $row[3]
      if string match -q -- '-*' $row[2]; or test (count $words) = $depth
        set -a offered $row[2]\\t$row[4]
      end
    else if set -q words[3]; and test "$row[1]" = "$of $words[3]"; and test "$values" = ''
      string match -q -- '-*' $cur; or set values $row[2]
    end
  end
  switch $values
    case ''
      string match -q -- '-*' $cur; or test (count $words) = $depth; or set offered
      printf '%s\\n' $offered
      string match -q -- '-*' $cur; or test $depth = 2; and set -q offered[1]; or __fish_complete_path $cur
    case +
    case @folder
      __fish_complete_directories $cur
    case @file
      __fish_complete_path $cur
    case '@*'
      command nacre completion ids (string sub -s 2 -- $values) 2>/dev/null
    case '*'
      string split ' ' -- $values
  end
end
complete -c nacre -e
complete -c nacre -f -a '(__nacre_complete)'
`,
}

function quoteForFish(text: string): string {
  return `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`
}

interface Named {
  id: string
  /** What a person knows it by. */
  title: string
}

const idLists: Readonly<Record<IdKind, (context: CommandContext) => Promise<Named[]>>> = {
  jobs: (context) => listJobs(context, false),
  running: (context) => listJobs(context, true),
  async artifacts({ useExecutor }) {
    const named: Named[] = []
    await useExecutor(async ({ artifacts }) => {
      const found = (await artifacts?.list()) ?? []
      named.push(...found.map(({ id, command: words }) => ({ id, title: words })))
      return 0
    })
    return named
  },
  async conversations({ stateDir }) {
    const { createConversationStore } = await import('../agent/conversations/store.ts')
    const folder = join(stateDir, 'conversations')
    return createConversationStore({ folder, redact: (text) => text }).list()
  },
  async keys({ configuration }) {
    const { keys } = await configuration()
    return keys.map(({ key, description }) => ({ id: key, title: description }))
  },
}

async function listJobs({ stateDir }: CommandContext, runningOnly: boolean): Promise<Named[]> {
  const { openJobs } = await import('../executor/jobs/jobs.ts')
  const filter = runningOnly ? { status: 'running' as const } : {}
  const entries = await openJobs(join(stateDir, 'jobs')).list(filter)
  return entries.map(({ id, status, command: words }) => ({ id, title: `${status} ${words}` }))
}

const maxOffered = 100
const titleChars = 60

/** What there is now, for the scripts of the shells: a line each, the id, a tab, and what it is. */
async function listIds(kind: string, context: CommandContext): Promise<string> {
  if (!Object.hasOwn(idLists, kind)) throw unknownName('kind', kind, Object.keys(idLists))
  const named = await idLists[kind as IdKind](context)
  return named
    .slice(0, maxOffered)
    .map(({ id, title }) => `${id}\t${toOneLine(title).slice(0, titleChars)}\n`)
    .join('')
}
