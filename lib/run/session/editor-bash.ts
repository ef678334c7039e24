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
__nacre_b= __nacre_c= __nacre_h= __nacre_p= __nacre_v= __nacre_r= __nacre_l= __nacre_w= __nacre_i=0
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
\\builtin bind -x '"\\e[7771~": __nacre_ask'
\\builtin bind '"\\e[7772~": insert-completions'
\\builtin bind -x '"\\e[7773~": __nacre_answer'
\\builtin bind '"${printable(editorKeys.ask)}": "\\e[7771~\\e[7772~\\e[7773~"'
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
 * Answers what could stand at the end of a line: the editor itself puts all of it there, as the person has set its
 * completion up. A last word with quotes is written without them for that, so that what comes has none either.
 */
function composeAnswer(turnPath: string, mark: (text: string) => string): string {
  return `
__nacre_ask() {
  {
    local __nacre_t __nacre_k
    IFS= \\builtin read -r -d '' __nacre_t <${quoteWord(turnPath)}
    __nacre_last "$__nacre_t"
    __nacre_k=$__nacre_w
    if [[ \${__nacre_t:__nacre_i} = *[\\"\\'\\\\]* && $__nacre_w != '$'* ]]; then \\builtin printf -v __nacre_k %q "$__nacre_w"; fi
    __nacre_t=\${__nacre_t:0:__nacre_i}$__nacre_k
    # At its end, which some versions count in bytes.
    READLINE_LINE=$__nacre_t READLINE_POINT=$((4 * \${#__nacre_t}))
    __nacre_l=$__nacre_t
  } 2>/dev/null
}
__nacre_answer() {
  {
    local __nacre_t=$READLINE_LINE __nacre_k=\${__nacre_l:__nacre_i} __nacre_f
    local -a __nacre_m=()
    READLINE_LINE= READLINE_POINT=0
    # Its quotes are backslashes, as \`read\` takes them away.
    if [[ $__nacre_t != "$__nacre_l" ]]; then IFS=' ' \\builtin read -a __nacre_m <<<"\${__nacre_t:__nacre_i}"; fi
    # The first one stands behind what the editor does not count to the word: \`--option=\`.
    __nacre_k=\${__nacre_k%"\${__nacre_k##*[=:]}"}
    if [[ $__nacre_k && \${__nacre_m[1]} != "$__nacre_k"* ]]; then __nacre_m[0]=\${__nacre_m[0]#"$__nacre_k"}; fi
  } 2>/dev/null
  \\builtin printf ${mark('R;%s')} "$(
    \\builtin printf '%s\\n' "$__nacre_w"
    for __nacre_t in "\${__nacre_m[@]:0:2000}"; do
      __nacre_f=\${__nacre_t/#\\~/$HOME}
      if ((__nacre_i > 0)) && [[ -d $__nacre_f ]]; then __nacre_t=\${__nacre_t%/}/; fi
      \\builtin printf '%s\\n' "\${__nacre_t//[$'\\a\\e;\\n']/?}"
    done
  )"
}
# The last word of a line without its quotes, and where it begins.
__nacre_last() {
  local text=$1 char quote= at
  __nacre_w= __nacre_i=0
  for ((at = 0; at < \${#text}; at++)); do
    char=\${text:at:1}
    case $quote$char in
    \\"\\" | \\'\\') quote= ;;
    \\\\ | \\"\\\\) at=$((at + 1)); __nacre_w+=\${text:at:1} ;;
    [\\"\\']?) __nacre_w+=$char ;;
    \\" | \\') quote=$char ;;
    [\\|\\;\\&\\(\\<\\>\\\`$' \\t\\n']) __nacre_w= __nacre_i=$((at + 1)) ;;
    *) __nacre_w+=$char ;;
    esac
  done
}
`
}
