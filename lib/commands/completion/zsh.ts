import { quoteWord } from '../../protocol/words.ts'
import type { Grammar, Option, OptionValue } from './grammar.ts'

/** A completion for zsh, to be sourced or to be put on the `fpath` as `_nacre`. */
export function writeZsh({ options, commands }: Grammar): string {
  const described = commands.map(({ name, description }) => quoteWord(`${name}:${description}`))
  const cases = commands.map(({ name, actions, options: own, ids }) => {
    const first = actions.length === 0 ? [] : [quoteWord(`1:action:(${actions.join(' ')})`)]
    const rest = ids === null ? '*: :_default' : `*: : _nacre_${ids.of}`
    return `    ${name})
      shift words; (( CURRENT-- ))
      _arguments ${[...first, ...own.flatMap(writeOption), quoteWord(rest)].join(' \\\n        ')}
      ;;`
  })
  const behind = commands.flatMap(({ ids }) =>
    ids === null
      ? []
      : `_nacre_${ids.of}() {
  if [[ -n \${words[(r)(${ids.behind.join('|')})]} ]]; then _nacre_ids ${ids.of}; else _default; fi
}`,
  )
  return `#compdef nacre
# nacre completion for zsh: source <(nacre completion zsh)
_nacre_ids() {
  local -a ids
  local line
  for line in \${(f)"$(command nacre completion ids $1 2>/dev/null)"}; do
    ids+=("\${line%%$'\\t'*}:\${\${line#*$'\\t'}//:/\\\\:}")
  done
  _describe id ids
}
${behind.join('\n')}
_nacre() {
  local -a commands=(
    ${described.join('\n    ')}
  )
  if (( CURRENT == 2 )) && [[ \${words[2]} != -* ]]; then
    _describe command commands || _default
    return
  fi
  case \${words[2]} in
${cases.join('\n')}
    *)
      _arguments ${[...options.flatMap(writeOption), quoteWord('*: :_default')].join(' \\\n        ')}
      ;;
  esac
}
if [[ \${funcstack[1]} == _nacre ]]; then _nacre "$@"; else compdef _nacre nacre; fi
`
}

function writeOption({ names, description, value, repeatable }: Option): string[] {
  const text = description.replaceAll(/[[\]:\\]/g, String.raw`\$&`)
  const others = repeatable ? '*' : names.length > 1 ? `(${names.join(' ')})` : ''
  return names.map((name) => quoteWord(`${others}${name}[${text}]${writeValue(value)}`))
}

function writeValue(value: OptionValue | null): string {
  if (value === null) return ''
  switch (value.kind) {
    case 'choice':
      return `:value:(${value.values.join(' ')})`
    case 'folder':
      return ':folder:_files -/'
    case 'file':
      return ':file:_files'
    case 'id':
      return `:id: _nacre_ids ${value.of}`
    case 'any':
      return `:${value.hint.replaceAll(/[:\\]/g, String.raw`\$&`)}:`
  }
}
