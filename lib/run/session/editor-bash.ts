import { quoteWord } from '../../protocol/words.ts'
import { type EditorDialect, editorKeys, type EditorStart } from './dialect.ts'

/**
 * bash 4.4 or newer, with readline. `bind -x` reads the command into a variable and puts a line in
 * place of what is typed; `accept-line` runs it. The line tells its own end, and `PROMPT_COMMAND` does where an
 * interrupt or an error took the rest of the line away: ahead of the person's own, which so delay nobody.
 */
export const editorBash: EditorDialect = {
  compose(start) {
    // A login shell would not read our file: it does what one does, in the same order.
    const file = `${start.folder}/init.bash`
    return {
      args: ['--noprofile', '--init-file', file, '-i'],
      files: { 'init.bash': composeInit(start) },
    }
  },
  quote: quoteWord,
  keepStages: '{ __nacre_s=$? __nacre_v=("${PIPESTATUS[@]}"); } 2>/dev/null',
  changeDirectory: (path) => `\\builtin cd -- ${path}`,
  exportVariable: (name, value) => `\\builtin export ${name}=${value}`,
  callKeys: editorKeys.take + editorKeys.accept,
  showsHooks: true,
}

/**
 * It leaves `$?` as it is. Neither `set -e` nor a trap of errors takes it for a failure, since something follows it:
 * a loop over nothing, which no `DEBUG` trap hears of.
 */
const quietly = (name: string) => `{ ${name} && for __nacre_n in; do :; done; } 2>/dev/null`
const hookFirst = quietly('__nacre_end')
const hookLast = '{ __nacre_ready; } 2>/dev/null'

const startFiles = `
if [[ -r /etc/profile ]]; then \\builtin . /etc/profile; fi
for __nacre_f in ~/.bash_profile ~/.bash_login ~/.profile; do
  if [[ -r $__nacre_f ]]; then \\builtin . "$__nacre_f"; break; fi
done
\\builtin unset -v __nacre_f
`

const rcFile = `
if [[ -r ~/.bashrc ]]; then \\builtin . ~/.bashrc; fi
`

/** A bash that does not hear how long the person's history may be would cut its file to 500 lines. */
const noHistory = '\\builtin unset -v HISTFILE'

function composeInit({ login, plain, nonce, turnPath, exportsPath, exports }: EditorStart): string {
  const mark = (text: string) => `'\\e]${nonce};${text}\\a'`
  const files = plain ? noHistory : login ? startFiles : rcFile
  return `${files}
${exports === '' ? '' : `{ \\builtin eval ${quoteWord(exports)}\n} >/dev/null 2>&1 </dev/null`}
\\builtin unalias __nacre_end __nacre_ready __nacre_take __nacre_start 2>/dev/null || :
# A function is read with the aliases of that moment, such as of what declares its variables.
__nacre_a=$(\\builtin shopt -p expand_aliases) || :
\\builtin shopt -u expand_aliases
__nacre_s=0 __nacre_q=0
__nacre_b= __nacre_c= __nacre_h= __nacre_p= __nacre_v= __nacre_r=
__nacre_end() {
  local __nacre_e=$? IFS=' '
  if [[ $__nacre_r ]]; then
    if [[ $__nacre_v ]]; then __nacre_e=$__nacre_s; fi
    \\builtin printf ${mark('D;%s;%s;%s')} "$__nacre_e" "\${__nacre_v[*]}" "$PWD"
    __nacre_s=$__nacre_e __nacre_r= __nacre_v=('')
    if [[ $__nacre_h && -o history ]]; then
      # \`history\` by itself would take away the line before, for its own.
      \\builtin eval '\\builtin history -s -- "$__nacre_h"; if [[ \${HISTFILE-} ]]; then \\builtin history -a; fi'
    fi
    __nacre_hook
  fi
  \\builtin return "$__nacre_e"
}
# A command may set PROMPT_COMMAND anew, as a start file does that is read again. One that nobody may set is left
# alone: the prompt is made ready by the line then, unless an interrupt takes its end away.
__nacre_hook() {
  if [[ -v PROMPT_COMMAND && \${PROMPT_COMMAND@a} = *r* ]]; then
    __nacre_ready
    \\builtin return
  fi
  # The line by which a command is run stays out of the history.
  if [[ \${HISTIGNORE-} != *__nacre_* ]]; then HISTIGNORE=\${HISTIGNORE:+$HISTIGNORE:}'*{ __nacre_start*'; fi
  local __nacre_f='${hookFirst}' __nacre_l='${hookLast}'
  if [[ \${PROMPT_COMMAND-} != "$__nacre_f"* ]]; then
    PROMPT_COMMAND="$__nacre_f"$'\\n'"\${PROMPT_COMMAND-}"
  fi
  if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 501)); then
    if [[ $PROMPT_COMMAND != *"$__nacre_l" ]]; then
      PROMPT_COMMAND="\${PROMPT_COMMAND//"$__nacre_l"/:}"$'\\n'"$__nacre_l"
    fi
    \\builtin return
  fi
  PROMPT_COMMAND+=()
  if [[ \${PROMPT_COMMAND[-1]} != "$__nacre_l" ]]; then
    PROMPT_COMMAND=("\${PROMPT_COMMAND[@]//"$__nacre_l"/:}" "$__nacre_l")
  fi
}
__nacre_ready() {
  __nacre_end
  __nacre_p=1
  while \\builtin read -r -t 0; do IFS= \\builtin read -r __nacre_c || \\builtin break; done
  if [[ ! -o emacs ]]; then \\builtin set -o emacs; fi
  __nacre_q=$((__nacre_q + 1)) PS1="\\[\\e]${nonce};B;$__nacre_q\\a\\]" PS2= PS0=
${exportsPath === null ? '' : `  \\builtin export -p >|${quoteWord(exportsPath)}`}
}
__nacre_tell() { { __nacre_ready; } 2>/dev/null; \\builtin printf ${mark('B;%s')} "$__nacre_q"; }
__nacre_take() {
  {
    {
      IFS= \\builtin read -r -d '' __nacre_b
      IFS= \\builtin read -r -d '' __nacre_c
      IFS= \\builtin read -r -d '' __nacre_h
    } <${quoteWord(turnPath)}
    READLINE_LINE=' ${quietly('__nacre_start')}; \\builtin eval "$__nacre_c"; ${hookFirst}' READLINE_POINT=0
  } 2>/dev/null
}
__nacre_drop() { if [[ $__nacre_p ]]; then READLINE_LINE= READLINE_POINT=0; fi; }
__nacre_start() {
  __nacre_p= __nacre_r=1
  \\builtin eval "$__nacre_b"
  \\builtin printf ${mark('C;%s')} "\${#__nacre_c}"
  if [[ $- = *x* ]]; then \\builtin set +x; __nacre_c="\\builtin set -x; $__nacre_c"; fi
  \\builtin return "$__nacre_s"
}
${composeAnswer(turnPath, mark)}
{ __nacre_hook; } 2>/dev/null
for __nacre_x in 'editing-mode emacs' 'enable-bracketed-paste off' 'show-mode-in-prompt off' \\
  'bell-style none' 'horizontal-scroll-mode off' 'mark-modified-lines off'; do
  \\builtin bind "set $__nacre_x" 2>/dev/null
done
\\builtin bind -x '"${printable(editorKeys.take)}": __nacre_take'
\\builtin bind -x '"${printable(editorKeys.ask)}": __nacre_answer'
\\builtin bind -x '"${printable(editorKeys.tell)}": __nacre_tell'
\\builtin bind '"${printable(editorKeys.accept)}": accept-line'
\\builtin bind -x '"${printable(editorKeys.drop)}": __nacre_drop'
\\builtin bind '"\\C-m": "${printable(editorKeys.drop + editorKeys.accept)}"'
\\builtin bind '"\\C-j": "${printable(editorKeys.drop + editorKeys.accept)}"'
\\builtin eval "$__nacre_a"
\\builtin unset -v __nacre_a __nacre_x
\\builtin printf ${mark('I')}
`
}

function printable(key: string): string {
  return key.replaceAll('\u001B', '\\e')
}

/**
 * Answers what could stand at the end of a line: by the completion that the person has set up for its
 * command (bash-completion, or `complete`), else by files; for a first word by commands.
 */
function composeAnswer(turnPath: string, mark: (text: string) => string): string {
  return `
__nacre_answer() {
  {
    local __nacre_l
    IFS= \\builtin read -r -d '' __nacre_l <${quoteWord(turnPath)}
    local IFS=$' \\t\\n' COMP_LINE=$__nacre_l COMP_POINT=\${#__nacre_l} COMP_TYPE=9 COMP_KEY=9
    local -a COMP_WORDS=() COMPREPLY=()
    local COMP_CWORD __nacre_w __nacre_r __nacre_f __nacre_v __nacre_q= __nacre_o= __nacre_n='sort -u'
    READLINE_LINE= READLINE_POINT=0
    __nacre_words "$__nacre_l"
    COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
    __nacre_w=\${COMP_WORDS[COMP_CWORD]}
    __nacre_v=; ((COMP_CWORD > 0)) && __nacre_v=\${COMP_WORDS[COMP_CWORD - 1]}
    if ((COMP_CWORD == 0)) && [[ $__nacre_w != */* ]]; then
      \\builtin mapfile -t COMPREPLY < <(\\builtin compgen -abck -A function -- "$__nacre_w")
    elif ((COMP_CWORD > 0)); then
      __nacre_r=$(\\builtin complete -p -- "\${COMP_WORDS[0]}" 2>/dev/null)
      if [[ ! $__nacre_r ]] && \\builtin declare -F _completion_loader >/dev/null; then
        _completion_loader "\${COMP_WORDS[0]}" >/dev/null 2>&1
        __nacre_r=$(\\builtin complete -p -- "\${COMP_WORDS[0]}" 2>/dev/null ||
          \\builtin complete -p -D 2>/dev/null)
      fi
      [[ $__nacre_r = *' -o filenames '* ]] && __nacre_o=f
      [[ $__nacre_r = *' -o nosort '* ]] && __nacre_n='cat'
      if [[ $__nacre_r =~ ' -F '([^ ]+) ]]; then
        __nacre_f=\${BASH_REMATCH[1]}
        compopt() {
          [[ " $* " = *' filenames '* ]] && __nacre_o=f
          [[ " $* " = *' nosort '* ]] && __nacre_n='cat'
          \\builtin return 0
        }
        "$__nacre_f" "\${COMP_WORDS[0]}" "$__nacre_w" "$__nacre_v" >/dev/null 2>&1 </dev/null
        \\builtin unset -f compopt
      elif [[ $__nacre_r ]]; then
        __nacre_r=\${__nacre_r#complete }
        __nacre_r=\${__nacre_r% *}
        \\builtin mapfile -t COMPREPLY < <(\\builtin eval "\\\\builtin compgen $__nacre_r -- \\"\\$__nacre_w\\"" 2>/dev/null)
      fi
    fi
    if ((\${#COMPREPLY[@]} == 0)) && [[ $__nacre_w = '$'* ]]; then
      __nacre_q='$'
      \\builtin mapfile -t COMPREPLY < <(\\builtin compgen -v -- "\${__nacre_w#\\$}")
    fi
    if ((\${#COMPREPLY[@]} == 0)); then
      __nacre_o=f
      \\builtin mapfile -t COMPREPLY < <(\\builtin compgen -f -- "$__nacre_w")
    fi
  } 2>/dev/null
  \\builtin printf ${mark('R;%s')} "$(
    \\builtin printf '%s\\n' "$__nacre_w"
    ((\${#COMPREPLY[@]})) && for __nacre_r in "\${COMPREPLY[@]:0:2000}"; do
      __nacre_f=\${__nacre_r/#\\~/$HOME}
      if [[ -d $__nacre_f ]] && ((COMP_CWORD > 0)); then __nacre_r=\${__nacre_r%/}/; fi
      \\builtin printf '%s\\n' "$__nacre_q\${__nacre_r//[$'\\a\\e;\\n']/?}"
    done | \\builtin command -p $__nacre_n
  )"
}
__nacre_words() {
  local text=$1 word= quote= char any=
  COMP_WORDS=()
  while [[ $text ]]; do
    char=\${text:0:1} text=\${text:1}
    case $quote$char in
    \\"\\" | \\'\\') quote= ;;
    [\\"\\']?) word+=$char ;;
    \\" | \\') quote=$char any=1 ;;
    \\\\) word+=\${text:0:1} text=\${text:1} any=1 ;;
    ' ' | $'\\t')
      if [[ $word || $any ]]; then COMP_WORDS+=("$word"); fi
      word= any= ;;
    '|' | ';' | '&' | '(' | '\`' | $'\\n') COMP_WORDS=() word= any= ;;
    *) word+=$char ;;
    esac
  done
  COMP_WORDS+=("$word")
  while ((\${#COMP_WORDS[@]} > 1)); do
    case \${COMP_WORDS[0]} in
    *=* | sudo | doas | env | time | nohup | nice | command | builtin | exec | xargs | '!' | then | do | else | if | while)
      COMP_WORDS=("\${COMP_WORDS[@]:1}") ;;
    *) \\builtin break ;;
    esac
  done
}
`
}
