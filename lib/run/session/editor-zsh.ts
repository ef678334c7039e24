import { quoteWord } from '../../protocol/words.ts'
import { type EditorDialect, editorKeys, type EditorStart } from './dialect.ts'

/**
 * zsh 5 or newer, with zle. `ZDOTDIR` is the one way to have files of ours read beside the person's: each
 * of them reads the person's file of the same name, with the person's `ZDOTDIR`, and the last gives it
 * back.
 */
export const editorZsh: EditorDialect = {
  compose(start) {
    const last = start.login ? '.zlogin' : '.zshrc'
    const names = ['.zshenv', ...(start.login ? ['.zprofile'] : []), '.zshrc']
    if (start.login) names.push('.zlogin')
    const files = names.map((name) => [name, readTheirs(name, start, name === last)] as const)
    const words = ['-i', ...(start.login ? ['-l'] : []), ...(start.plain ? ['-d'] : [])].join(' ')
    const enter =
      `__nacre_z=\${ZDOTDIR-} ; export NACRE_ZDOTDIR="$__nacre_z"; ` +
      `ZDOTDIR=${quoteWord(start.folder)} exec zsh ${words}`
    const ours = { [initFile]: composeInit(start), [functionsFile]: composeFunctions(start) }
    return { args: ['-fc', enter], files: { ...Object.fromEntries(files), ...ours } }
  },
  quote: quoteWord,
  keepStages: '{ __nacre_s=$? __nacre_v=("${pipestatus[@]}"); } 2>/dev/null',
  changeDirectory: (path) => `\\builtin cd -- ${path}`,
  exportVariable: (name, value) => `\\builtin export ${name}=${value}`,
  callKeys: editorKeys.take,
  showsHooks: true,
}

function readTheirs(name: string, start: EditorStart, isLast: boolean): string {
  const ours = quoteWord(start.folder)
  const first =
    name === '.zshenv'
      ? `if [[ -n $NACRE_ZDOTDIR ]]; then ZDOTDIR=$NACRE_ZDOTDIR; else \\builtin unset ZDOTDIR; fi
\\builtin unset NACRE_ZDOTDIR
`
      : `if [[ -n $__nacre_z ]]; then ZDOTDIR=$__nacre_z; else \\builtin unset ZDOTDIR; fi
`
  const read = start.plain
    ? ''
    : `if [[ -r \${ZDOTDIR:-$HOME}/${name} ]]; then \\builtin . \${ZDOTDIR:-$HOME}/${name}; fi\n`
  const init = `\\builtin . ${quoteWord(`${start.folder}/${initFile}`)}\n`
  if (isLast) return first + read + init
  const goOn = `__nacre_z=\${ZDOTDIR-} ZDOTDIR=${ours}`
  // A zsh that has been made a sh looks for no more files in ZDOTDIR.
  const after =
    name === '.zshrc'
      ? `case $(\\builtin emulate) in sh | ksh) ${init} ;; *) ${goOn} ;; esac\n`
      : `${goOn}\n`
  return first + read + after
}

const initFile = 'init.zsh'

/**
 * Functions keep the emulation that they are made in: whatever the person sets (`nounset`, `ksharrays`, `errexit`,
 * an alias of a builtin), these read and run as zsh's own defaults have it.
 */
const functionsFile = 'functions.zsh'

function composeInit({ nonce, folder, exports }: EditorStart): string {
  const read = `builtin . ${quoteWord(`${folder}/${functionsFile}`)}`
  return `\\builtin unset __nacre_z
${exports === '' ? '' : `\\builtin eval ${quoteWord(exports)} >/dev/null 2>&1 </dev/null`}
\\builtin emulate zsh -o noaliases -c ${quoteWord(read)}
# What a function in an emulation sets does not last, and the person's options are not seen there.
function __nacre_ready {
  { __nacre_prompt; \\builtin setopt ${promptOptions}; } 2>/dev/null
}
\\builtin setopt ${promptOptions}
\\builtin printf '\\e]${nonce};I\\a'
`
}

/** The prompt is a mark and nothing else, and the editor reads keys. */
const promptOptions = 'zle nopromptsp nopromptcr promptpercent nopromptbang nosinglelinezle'

function composeFunctions({ nonce, turnPath, exportsPath }: EditorStart): string {
  const mark = (text: string) => `'\\e]${nonce};${text}\\a'`
  const bind = (key: string, widget: string) =>
    ['emacs', 'viins', 'vicmd']
      .map(
        (map) =>
          `builtin bindkey -M ${map} '${key.replaceAll('\u001B', '^[')}' ${widget} 2>/dev/null`,
      )
      .join('\n')
  return `builtin zmodload zsh/zle
typeset -gi __nacre_q=0
typeset -g __nacre_s=0 __nacre_b= __nacre_c= __nacre_h= __nacre_l= __nacre_p= __nacre_r= __nacre_x=
typeset -ga __nacre_v
function __nacre_end {
  {
    local __nacre_e=$? IFS=' '
    [[ -n $__nacre_r ]] || builtin return $__nacre_e
    [[ -o xtrace ]] && __nacre_x=' { \\builtin unsetopt xtrace; } 2>/dev/null;' || __nacre_x=
    builtin setopt localoptions noxtrace
  } 2>/dev/null
  (( $#__nacre_v )) && __nacre_e=$__nacre_s
  builtin printf ${mark('D;%s;%s;%s')} $__nacre_e "$__nacre_v" $PWD
  __nacre_s=$__nacre_e __nacre_r= __nacre_v=()
  [[ -n $__nacre_h ]] && __nacre_record
  __nacre_hook
  builtin return $__nacre_e
}
# A command may set them anew, as a start file does that is read again.
function __nacre_hook {
  if [[ $precmd_functions[1] != __nacre_end || $precmd_functions[-1] != __nacre_ready ]]; then
    precmd_functions=(__nacre_end \${precmd_functions:#__nacre_(end|ready)} __nacre_ready)
  fi
  if [[ $zshaddhistory_functions[1] != __nacre_keep ]]; then
    zshaddhistory_functions=(__nacre_keep \${zshaddhistory_functions:#__nacre_keep})
  fi
}
function __nacre_prompt {
  { __nacre_end || :; builtin setopt localoptions noxtrace } 2>/dev/null
  while IFS= builtin read -t 0 -r __nacre_c 2>/dev/null; do :; done
  __nacre_p=1
  (( ++__nacre_q ))
  PS1=$'%{\\e]${nonce};B;'$__nacre_q$'\\a%}' RPS1= PS2= POSTEDIT=
  builtin unset zle_bracketed_paste
${exportsPath === null ? '' : `  builtin export -p >|${quoteWord(exportsPath)}`}
  builtin return 0
}
function __nacre_tell {
  __nacre_ready
  builtin printf ${mark('B;%s')} $__nacre_q
}
function __nacre_drop {
  { builtin setopt localoptions noxtrace } 2>/dev/null
  [[ -n $__nacre_p ]] && BUFFER=
  zle .accept-line
}
function __nacre_start {
  __nacre_p= __nacre_r=1
  {
    builtin eval "$__nacre_b"
    builtin printf ${mark('C;%s')} $#__nacre_c
    if [[ -n $__nacre_x ]]; then __nacre_c="\\\\builtin setopt xtrace; $__nacre_c"; fi
    builtin return $__nacre_s
  } 2>/dev/null
}
function __nacre_take {
  { builtin setopt localoptions noxtrace } 2>/dev/null
  { IFS= builtin read -r -d $'\\0' __nacre_b; IFS= builtin read -r -d $'\\0' __nacre_c; IFS= builtin read -r -d $'\\0' __nacre_h } <${quoteWord(turnPath)}
  # No function can end the trace for longer than it runs itself.
  BUFFER=$__nacre_x' { __nacre_start && :; } 2>/dev/null; '
  # A line of the editor may be asked about before it runs, as one that is misspelt.
  if [[ -z $__nacre_x && ! -o correct && ! -o correctall ]] && __nacre_plain; then BUFFER+=$__nacre_c; else BUFFER+='\\builtin eval "$__nacre_c"'; fi
  [[ $BUFFER = *'&' ]] || BUFFER+=';'
  BUFFER+=' { __nacre_end && :; } 2>/dev/null'
  zle .accept-line
}
# A command of words that are sure to be a whole one. zsh counts eval as a job, so that what is suspended or left
# to itself in there has another number than it should.
function __nacre_plain {
  builtin emulate -L zsh
  builtin setopt extendedglob
  local __nacre_w IFS=$' \\t'
  [[ $__nacre_c = [[:alnum:]_./%~+-][[:alnum:][:blank:]_./%~+=:,@^-]#(|[[:blank:]]#'&') ]] || builtin return
  for __nacre_w in \${=__nacre_c}; do
    (( \${reswords[(Ie)$__nacre_w]} || $+aliases[$__nacre_w] || $+galiases[$__nacre_w] )) && builtin return 1
  done
  builtin return 0
}
function __nacre_record {
  # \`print -s\` asks neither histignoredups nor the hooks.
  local __nacre_k
  [[ -o histignoredups && $__nacre_h = $history[$((HISTCMD - 1))] ]] && builtin return
  for __nacre_k in zshaddhistory \${zshaddhistory_functions:#__nacre_keep}; do
    (( ! $+functions[$__nacre_k] )) || $__nacre_k "$__nacre_h"$'\\n' || builtin return
  done
  builtin print -rs -- "$__nacre_h"
}
function __nacre_keep { [[ $1 != *' { __nacre_start && :; } 2>/dev/null; '* ]] }
${composeAnswer(turnPath, mark)}
__nacre_hook
zle -N __nacre_take
zle -N __nacre_answer
zle -N __nacre_drop
zle -N __nacre_tell
${bind('^M', '__nacre_drop')}
${bind('^J', '__nacre_drop')}
${bind(editorKeys.take, '__nacre_take')}
${bind(editorKeys.ask, '__nacre_answer')}
${bind(editorKeys.tell, '__nacre_tell')}
`
}

/**
 * zsh's completion system writes into its own list only; `compadd`, which it calls for every match, is
 * replaced while it is asked, and tells the matches instead.
 */
function composeAnswer(turnPath: string, mark: (text: string) => string): string {
  return `
typeset -ga __nacre_m
function __nacre_collect {
  builtin setopt localoptions noxtrace
  local -a __nacre_h __nacre_d
  local __nacre_p= __nacre_u= __nacre_i= __nacre_x __nacre_g= 
  local -i at=1
  if (( \${@[(I)-O|-A|-D]} )); then builtin compadd "$@"; return; fi
  builtin compadd -A __nacre_h -D __nacre_d "$@"
  builtin zparseopts -E -a __nacre_o P:=__nacre_o1 S:=__nacre_o2 p:=__nacre_o3 f=__nacre_o4 W:=__nacre_o5 2>/dev/null
  for __nacre_x in $__nacre_h; do
    if [[ " $* " = *' -'[^-[:space:]]#Q* ]]; then __nacre_x=\${(Q)__nacre_x}; fi
    if [[ -d \${~\${(Q)IPREFIX}}\${~\${__nacre_o3[2]}}$__nacre_x ]]; then __nacre_x+=/; fi
    __nacre_m+=("$IPREFIX\${__nacre_o1[2]}\${__nacre_o3[2]}$__nacre_x")
  done
  builtin compadd "$@"
}
function __nacre_list {
  builtin setopt localoptions noxtrace
  __nacre_m=()
  function compadd { __nacre_collect "$@" }
  { _main_complete } always { builtin unfunction compadd 2>/dev/null }
  compstate[insert]= compstate[list]=
}
function __nacre_answer {
  builtin setopt localoptions noxtrace
  local __nacre_w
  IFS= builtin read -r -d $'\\0' __nacre_l <${quoteWord(turnPath)}
  # A shell that has taken over the functions of another one has not its tables.
  if (( ! $+functions[_main_complete] || ! $#_comps )); then
    builtin autoload -Uz compinit && compinit -D -u 2>/dev/null
  fi
  zle -C __nacre_list complete-word __nacre_list 2>/dev/null
  BUFFER=$__nacre_l CURSOR=$#__nacre_l
  zle __nacre_list >/dev/null 2>&1
  BUFFER=
  __nacre_w=\${\${(z)__nacre_l}[-1]}
  [[ $__nacre_l = *[[:space:]] ]] && __nacre_w=
  __nacre_m=("\${__nacre_w}" "\${(@u)__nacre_m[1,2000]}")
  __nacre_m=("\${(@)__nacre_m//[$'\\a\\e;\\n']/?}")
  builtin printf ${mark('R;%s')} "\${(F)__nacre_m}"
}
`
}
