/** Commands whose output, status and signal are to be the same on every kind of host as in a shell here. */
export const hostCommands: readonly string[] = [
  'echo out; echo err >&2; exit 3',
  'printf "no newline"',
  'printf "a\\0b\\377c" | od -c',
  'cat',
  'seq 1 20000 | tail -n 2',
  'kill -TERM $$',
  'kill -SEGV $$',
  'exit 143',
  'trap "echo heard; exit 5" INT; kill -INT $$',
  'echo "it\'s" `echo x` $((1+2)) \\\\ !x',
  'nosuchprogram 2>/dev/null',
  'if true; then echo yes; fi; false',
  'test -t 0 || echo no terminal',
  'sh -c "exit 9"; echo $?',
  '(echo from a subshell; exit 4)',
  'x=1; f() { echo "f $x $1"; }; f a; unset x; f b',
  'cat <<END\nhere $((6*7))\nEND',
  'set -e; false; echo not reached',
  'echo one; echo two | cat >&2; echo three',
  'seq 1 300000 | md5sum; seq 1 300000 | tail -c 100',
]

/** What programs may do with their outputs on every kind of host. Node gives its own children sockets, which do not. */
export const outputProbe = {
  command:
    'echo err >/dev/stderr; echo out >/dev/stdout; echo both | tee /dev/stderr; cat /dev/stdin',
  stdout: 'out\nboth\n',
  stderr: 'err\nboth\n',
} as const
