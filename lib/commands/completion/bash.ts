import type { Grammar, Option } from './grammar.ts'

/** A completion for bash 3.2 and newer. */
export function writeBash({ options, commands }: Grammar): string {
  const names = commands.map(({ name }) => name)
  const values = [
    ...writeValues('', options),
    ...commands.flatMap(({ name, options: own }) => writeValues(name, own)),
  ]
  const ids = commands.flatMap(({ name, ids: own }) =>
    own === null
      ? []
      : own.behind.map(
          (action) =>
            `    '${name} ${action}') if ((COMP_CWORD > 2)) && [[ $cur != -* ]]; then ids=${own.of}; fi ;;`,
        ),
  )
  const words = [
    `    ' 1') words='${[...names, ...namesOf(options)].join(' ')}' ;;`,
    ...commands.map(({ name, actions, options: own }) => {
      const all = namesOf(own).join(' ')
      return actions.length === 0
        ? `    '${name} '*) words='${all}' ;;`
        : `    '${name} 2') words='${actions.join(' ')} ${all}' ;;\n    '${name} '*) words='${all}' ;;`
    }),
    `    *) words='${namesOf(options).join(' ')}' ;;`,
  ]
  return `# nacre completion for bash: source <(nacre completion bash)
_nacre_ids() { command nacre completion ids "$1" 2>/dev/null | cut -f1; }
_nacre() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command= words= ids=
  # bash takes --name=value for three words.
  [[ $cur == = ]] && cur=
  [[ $prev == = ]] && prev=\${COMP_WORDS[COMP_CWORD-2]}
  if ((COMP_CWORD > 1)); then
    case \${COMP_WORDS[1]} in
      ${names.join('|')}) command=\${COMP_WORDS[1]} ;;
    esac
  fi
  local IFS=$' \\t\\n'
  case "$command \${COMP_WORDS[2]-}" in
${ids.join('\n')}
  esac
  case "$command $prev" in
${values.join('\n')}
  esac
  if [[ -n $ids ]]; then
    COMPREPLY=($(compgen -W "$(_nacre_ids $ids)" -- "$cur"))
    return 0
  fi
  case "$command $COMP_CWORD" in
${words.join('\n')}
  esac
  [[ $cur == -* || $COMP_CWORD -eq 1 || ( -n $command && $COMP_CWORD -eq 2 ) ]] || return 0
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o bashdefault -o default -F _nacre nacre
`
}

function namesOf(options: readonly Option[]): string[] {
  return options.flatMap(({ names }) => names)
}

function writeValues(command: string, options: readonly Option[]): string[] {
  return options.flatMap(({ names, value }) => {
    if (value === null) return []
    const pattern = names.map((name) => `'${command} ${name}'`).join('|')
    switch (value.kind) {
      case 'choice': {
        const words = value.values.join(' ')
        return [`    ${pattern}) COMPREPLY=($(compgen -W '${words}' -- "$cur")); return 0 ;;`]
      }
      case 'folder':
        return [`    ${pattern}) IFS=$'\\n'; COMPREPLY=($(compgen -d -- "$cur")); return 0 ;;`]
      case 'id':
        return [
          `    ${pattern}) COMPREPLY=($(compgen -W "$(_nacre_ids ${value.of})" -- "$cur")); return 0 ;;`,
        ]
      default:
        return [`    ${pattern}) return 0 ;;`]
    }
  })
}
