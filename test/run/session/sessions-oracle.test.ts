import { spawnSync } from 'node:child_process'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { shareOf } from '../../helpers/cli.ts'
import { withSessions } from '../../helpers/sessions.ts'

/** What an awkward command is followed by: a sane one that shows the state. */
const sane =
  'echo "sane $?"; x=1; echo "${x}2"; false | true; echo "${PIPESTATUS[@]}"; pwd >/dev/null'

/** Awkward commands after which the same shell goes on. */
const survivable: Record<string, string> = {
  'a plain command': 'echo hello; echo world >&2',
  'a failing command': 'echo before; false',
  'a status of its own': 'f() { return 42; }; f',
  'a missing program': 'no-such-program-here',
  'a killed program': `sh -c 'kill -SEGV $$' 2>/dev/null; echo $?`,
  'nounset and pipefail': 'set -u -o pipefail; false | true',
  'errexit with a status that it spares': 'set -e; false && true',
  'errexit with an inverted pipeline': 'set -e; ! true',
  'errexit after a pipeline of functions': 'set -e; f() { cat; }; echo a | f | f',
  'an EXIT trap': `trap 'echo bye' EXIT; trap - EXIT; echo set`,
  'an ERR trap': `trap 'echo "err $?"' ERR; false; echo on; (exit 3)`,
  'an ERR trap of two lines': `trap 'echo err\necho "it'"'"'s two"' ERR; false`,
  'a DEBUG trap': `trap 'echo "dbg $BASH_COMMAND"' DEBUG; echo a; trap - DEBUG`,
  'a RETURN trap': `f() { :; }; trap 'echo ret' RETURN; f; trap - RETURN`,
  'a USR1 trap': `trap 'echo got' USR1; kill -USR1 $$; echo on`,
  'cd as a function': 'cd() { echo "cd $*"; builtin cd "$@"; }; cd /; pwd',
  'printf as a function': 'printf() { echo mine; }; printf x',
  'eval as a function': 'eval() { echo mine; }; eval x',
  'exit as a function': 'exit() { echo mine; }; exit 3',
  'trap as a function': 'trap() { echo mine; }; trap x',
  'set, read and mapfile as functions':
    'set() { echo s; }; read() { echo r; }; mapfile() { echo m; }',
  'return, unset and enable as functions': 'return() { :; }; unset() { :; }; enable() { :; }',
  'command as a function': 'command() { echo mine; }; command ls',
  'printf disabled': 'enable -n printf; type -t printf || echo none',
  'trap and read disabled': 'enable -n trap; echo done',
  'posix mode': 'set -o posix; echo "$POSIXLY_CORRECT"',
  POSIXLY_CORRECT: 'POSIXLY_CORRECT=1; echo "$SHELLOPTS" | grep -c posix',
  'readonly variables': 'readonly x0=1 IFS PS4; echo "$x0"',
  'an assignment to a readonly variable': 'readonly r=1; echo a; r=2; echo b',
  'a division by zero': 'echo a; echo $((1 / 0)); echo b',
  'another IFS': 'IFS=abc; echo "$IFS"',
  'noglob, nullglob and nocaseglob': 'set -f; shopt -s nullglob nocaseglob failglob; echo /et*',
  allexport: 'set -a; exported=1; env | grep ^exported',
  keyword: 'set -k; echo a b=c',
  noclobber: 'set -C; echo a >/dev/null; echo b',
  'a monitor': 'set -m; set +m; echo a',
  'stdout to a file': 'exec >/dev/null; echo lost',
  'stdout closed': 'echo a; exec >&-',
  'all standard streams closed': 'exec <&- >&- 2>&-',
  'stderr to stdout': 'exec 2>&1; echo a >&2',
  'a descriptor of its own': 'exec 7>&1; echo seven >&7; exec 7>&-',
  'the numbers from 3 to 20, which are the commands own':
    'for fd in {3..20}; do (: <&$fd) 2>/dev/null && echo "open $fd"; done; exec 10>/dev/null; echo x >&10',
  'a lock on a number of its own': 'exec 10<.; flock -n 10; echo $?; exec 10<&-; (cat <&10)',
  'reading an empty standard input': 'read -r line; echo "$? [$line]"',
  'cat of an empty standard input': 'cat; echo end',
  'extended globbing in the next line': 'shopt -s extglob\necho /et@(c|x)',
  'an alias for the next line': `alias hi='echo hi there'\nhi you`,
  'an alias in the same line': `alias lo='echo lo'; lo 2>/dev/null`,
  'aliases of our own words': `alias builtin=false eval=false trap=false printf=false '[[=false'`,
  'a here-document': 'cat <<EOF\none $((1 + 1))\nEOF\necho after',
  'a quoted here-document': `cat <<'EOF'\none $HOME\nEOF`,
  'a here-string': `cat <<<"it's"`,
  'a here-document without its end': 'cat <<EOF\none',
  'a last backslash': 'echo a \\',
  'a last comment': 'echo a # comment',
  'a last background sign': 'sleep 0 &',
  'quotes of all kinds': `echo 'a"b' "c'd" $'e\\nf' \\' "\\$HOME"`,
  'many lines': 'for i in 1 2 3; do\n  echo $i\ndone\n\n\necho end',
  'line numbers': 'echo $LINENO\necho $LINENO\nno-such-program\nf() {\n  echo $LINENO\n}\nf',
  'a subshell that exits': '(exit 7)',
  'a function that shadows test': '[() { echo mine; }; [ a ]; unset -f [',
  'a coprocess':
    'coproc cat; echo hi >&"${COPROC[1]}"; read -r l <&"${COPROC[0]}"; echo "$l"; kill $!; wait 2>/dev/null',
  'process substitution': 'cat <(echo a) <(echo b); echo c > >(cat); wait',
  'jobs and wait': 'sleep 0.01 & wait $!; echo $?; (exit 3) & wait $!; echo $?',
  TMOUT: 'TMOUT=1; echo $TMOUT',
  'the last argument': 'echo a b c >/dev/null; echo "$_"',
  functrace: 'set -T; f() { :; }; f; set +T',
  extdebug: 'shopt -s extdebug; f() { echo f; }; f; shopt -u extdebug',
  'LANG and LC_ALL': 'LC_ALL=C; LANG=C; echo ü',
  'restored positional parameters': 'set -- a "b c"; echo "$# $2"; set --',
  'a big variable': 'big=$(head -c 300000 /dev/zero | tr "\\0" x); echo ${#big}',
}

// What bash makes of them does not depend on the runtime.
for (const [name, command] of shareOf(Object.entries(survivable))) {
  test(`in a session as in bash: ${name}`, async () => {
    await withSessions(async ({ run, directory }) => {
      const expected = bash(command, directory)
      const first = await run(command)
      assert.equal(
        { code: first.code, stdout: first.stdout, stderr: normalize(first.stderr) },
        { code: expected.status, stdout: expected.stdout, stderr: normalize(expected.stderr) },
      )
      assert.equal(first.notices, [])
      const second = await run(sane)
      assert.is(second.code, 0, second.stderr)
      assert.ok(second.stdout.includes(`12\n`), second.stdout)
      assert.ok(second.stdout.includes(`1 0\n`), second.stdout)
      assert.ok(second.stdout.includes(`sane ${first.code}\n`), second.stdout)
      assert.equal(second.notices, [])
    })
  })
}

/** The oracle: what bash itself makes of the command. */
function bash(command: string, cwd: string) {
  const args = ['-O', 'expand_aliases', '-c', command, 'bash']
  const { status, stdout, stderr } = spawnSync('bash', args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return { status, stdout, stderr }
}

/** A syntax error names where the text came from, which differs: `-c` there, `eval` here. */
function normalize(stderr: string): string {
  return stderr
    .replaceAll(/^bash: (-c|eval): /gm, 'bash: ')
    .replaceAll(/^(bash: line \d+: +)\d+ /gm, '$1PID ')
}

test.run()
