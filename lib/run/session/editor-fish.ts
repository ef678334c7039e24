import { type EditorDialect, editorKeys, type EditorStart } from './dialect.ts'

/**
 * fish 3.2 or newer. Its line editor has only our keys, and Enter, which `read` needs: what was typed and
 * not read never becomes a command of its own.
 */
export const editorFish: EditorDialect = {
  compose(start) {
    const file = `${start.folder}/init.fish`
    const words = [start.plain ? '--no-config' : '', start.login ? '--login' : '', '--interactive']
    const args = [...words.filter((word) => word !== ''), '--init-command', `source ${quote(file)}`]
    return { args, files: { 'init.fish': composeInit(start) } }
  },
  quote,
  // What hears of its end has them.
  keepStages: null,
  changeDirectory: (path) => `builtin cd -- ${path}`,
  exportVariable: (name, value) => `set -gx ${name} ${value}`,
  callKeys: editorKeys.take,
  // After each command fish writes what moves its prompt to a fresh line.
  showsHooks: false,
}

/** 128 and the number of the signal with which a terminal suspends (TSTP): Linux, macOS. */
const suspendedStatus = process.platform === 'darwin' ? 146 : 148

/** In single quotes fish reads two escapes: of the quote and of the backslash. */
function quote(text: string): string {
  return `'${text.replaceAll(/['\\]/g, '\\$&')}'`
}

function composeInit({ nonce, turnPath, exportsPath, exports, plain }: EditorStart): string {
  const mark = (text: string) => `'\\e]${nonce};${text}\\a'`
  const key = (text: string) => quote(text).replaceAll('\u001B', `'\\e'`)
  return `${exports === '' ? '' : `builtin printf '%s\\n' ${quote(exports)} | builtin source >/dev/null 2>&1`}
set -g __nacre_s 0
set -g __nacre_q 0
set -g __nacre_running 0
set -g __nacre_new 1
set -g __nacre_j 0
set -g __nacre_taken 0
function __nacre_stopped
  if builtin jobs -q
    builtin count (builtin jobs | builtin string match -r '\\tstopped\\t')
  else
    builtin echo 0
  end
end
function __nacre_end
  set -l stages $argv[2..]
  set -g __nacre_s $argv[1]
  set -g __nacre_new 1
  test $__nacre_running = 1; or return $__nacre_s
  set -g __nacre_running 0
  # A job that is suspended leaves fish's status as it was; other shells have 128 and the signal.
  set -l told $__nacre_s
  test (__nacre_stopped) -gt $__nacre_j; and set told ${suspendedStatus}
  builtin printf ${mark('D;%s;%s;%s')} $told "$stages" "$PWD"
  return $__nacre_s
end
function __nacre_prompt
  # A command may have removed what hears of its end. It may call this, too.
  set -l told $status
  if test $__nacre_running = 1; and test (status current-command) = fish
    __nacre_hook $told
  end
  # fish draws a prompt anew whenever it likes; only one behind a command is another one.
  if test $__nacre_new = 1
    set -g __nacre_new 0
    set -g __nacre_q (builtin math $__nacre_q + 1)
    # Our keys know no marks around a paste, which \`read\` of fish 3 would ask for.
    functions -e __fish_enable_bracketed_paste
${exportsPath === null ? '' : composeExports(exportsPath)}
  end
  builtin printf ${mark('B;%s')} $__nacre_q
end
function __nacre_tell
  __nacre_hook $status
  set -g __nacre_new 1
  __nacre_prompt
end
# A command may define them anew, as a start file does that is read again: each prompt has ours.
function __nacre_hook
  test $__nacre_running = 1; and __nacre_end $argv
  function __nacre_started --on-event fish_preexec; __nacre_start; end
  function __nacre_ended --on-event fish_postexec
    set -l told $status $pipestatus
    test (builtin count $told) -gt 2; or set -e told[2..]
    __nacre_end $told
  end
  function __nacre_hooked --on-event fish_prompt; __nacre_hook $status; end
  function fish_prompt; __nacre_prompt; end
  function fish_right_prompt; end
  function fish_mode_prompt; end
  function fish_title; end
  test "$fish_key_bindings" = __nacre_bindings; or set -g fish_key_bindings __nacre_bindings
end
function __nacre_start
  test $__nacre_taken = 1; or return $__nacre_s
  set -g __nacre_taken 0
  set -g __nacre_j (__nacre_stopped)
  eval $__nacre_b
  set -g __nacre_running 1
  builtin printf ${mark('C;%s')} (builtin string length -- "$__nacre_c")
  return $__nacre_s
end
function __nacre_take
  begin; builtin read -gz __nacre_b; builtin read -gz __nacre_c; builtin read -gz __nacre_h; end <${quote(turnPath)}
  set -g __nacre_taken 1
  # What is no whole line would stay in the editor, and a loop that an interrupt ends would have no status.
  # What begins with a blank stays out of the history.
  set -l line " $__nacre_c"
  test -n "$__nacre_h"; and set line $__nacre_h
  commandline -r -- $line
  test -n "$__nacre_c"; and not builtin string match -qr '\\bwhile\\b' -- $line; and commandline --is-valid
  or commandline -r -- ' eval $__nacre_c'
  commandline -f execute
end
function __nacre_answer
  begin; builtin read -z __nacre_l; end <${quote(turnPath)}
  set -l found (complete -C "$__nacre_l" 2>/dev/null | string replace -r '\\t.*' '' | string replace -ra '[\\a\\e;]' '?')
  set -l word (string match -r '\\S*$' -- "$__nacre_l")
  builtin printf ${mark('R;%s')} (string join \\n -- "$word" $found[1..2000] | string collect)
end
function __nacre_enter
  if test $__nacre_running = 1
    commandline -f execute
  else
    commandline -r ''
  end
end
function __nacre_bindings
  bind --erase --all 2>/dev/null
  bind '' self-insert
  bind \\r __nacre_enter
  bind \\n __nacre_enter
  bind \\cd delete-or-exit
  bind \\cc cancel-commandline
  bind \\x7f backward-delete-char
  bind ${key(editorKeys.take)} __nacre_take
  bind ${key(editorKeys.ask)} __nacre_answer
  bind ${key(editorKeys.tell)} __nacre_tell
end
__nacre_hook 0
${plain ? '# Without start files nothing of fish looks for the bindings.\n__nacre_bindings' : ''}
set -g fish_autosuggestion_enabled 0
`
}

function composeExports(path: string): string {
  return `    begin
      for name in (set -nx)
        contains -- $name PWD SHLVL COLUMNS LINES _; or echo set -gx $name (string escape -- $$name)
      end
    end >${quote(path)} 2>/dev/null`
}
