import { spawn } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../lib/executor/executor.ts'
import { quoteWord } from '../../lib/protocol/words.ts'
import { cliCommand, cliRuntime, shareOf } from '../helpers/cli.ts'
import { runCli, runJson } from '../helpers/run-cli.ts'
import { type Finished, runProgram } from '../helpers/run-program.ts'
import { hear } from '../helpers/until.ts'

/** A folder with a program `nacre` in `bin/`, as a PATH has it. */
async function withNacre(
  use: (dir: string, environment: NodeJS.ProcessEnv, nacre: string) => Promise<void>,
): Promise<void> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'nacre-shell-')))
  const bin = join(dir, 'bin')
  const nacre = join(bin, 'nacre')
  try {
    mkdirSync(bin)
    const words = cliCommand().map(quoteWord).join(' ')
    writeFileSync(nacre, `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 })
    const PATH = `${bin}${delimiter}${process.env['PATH']}`
    await use(dir, { ...process.env, PATH }, nacre)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

function comparable({ stdout, stderr, status }: Finished) {
  return { stdout: stdout.toString(), stderr: stderr.toString(), status }
}

/** The same words mean the same to nacre and to bash: output, messages and exit status. */
const sameWords: string[][] = [
  ['-c', 'echo "$0 $1 $2 $#"', 'name', 'a b', '*'],
  ['-c', 'printf "<%s>" "$@"', '_', '--timeout', '5', '-q', '--', '--help'],
  ['-c', 'echo "$0|$*"', '--', 'x'],
  ['-c', '--', 'echo "$1"', '_', 'from npm'],
  ['-c', ''],
  ['-c', '', 'name', 'a'],
  ['-c', '--', '-x', 'echo', 'a'],
  ['-c', '--', '--help'],
  ['-c', '--', '+e', '_'],
  ['-ec', 'false; echo not reached'],
  ['-e', '-c', 'false; echo not reached'],
  ['-c', '-e', 'false; echo not reached'],
  ['-ce', 'false; echo not reached'],
  ['-eu', '-o', 'pipefail', '-c', 'false | true; echo not reached'],
  ['-euo', 'pipefail', '-c', 'echo "$-" "$SHELLOPTS"'],
  ['-oe', 'pipefail', '-c', 'false | true; echo not reached'],
  ['-c', '-', 'echo "$0|$*"', '-', 'x'],
  ['-e', '-', 'no-such-script', '-c'],
  ['-n', '-c', 'echo not run'],
  ['-nc', 'if'],
  ['-e', 'no-such-script'],
  ['-uc', 'echo "$unset_here"; echo not reached'],
  ['-xc', 'echo "$1"', '_', 'a b'],
  ['-vc', 'echo a\necho b'],
  ['-e', '+e', '-c', 'false; echo reached'],
  ['-c', '+e', 'echo "$-"'],
  ['-c', 'echo "$@"', '_', '+e', '+x'],
  ['+eo', 'pipefail', '+h', '-c', 'echo "$-" "$SHELLOPTS"'],
  ['+o', 'braceexpand', '-c', 'echo {a,b}'],
  ['-afkbtBCEHPTc', 'echo "$-"'],
  ['-O', 'extglob', '+O', 'extquote', '-c', 'echo /@(etc|usr); shopt extquote'],
  ['-O', 'nosuch', '-c', 'true'],
  ['--noprofile', '--norc', '-eo', 'pipefail', '-c', 'false | true; echo not reached'],
  ['--posix', '-c', 'echo "$SHELLOPTS"'],
  ['-rc', 'cd /'],
  ['-o', 'noglob', '-c', 'echo /*'],
  ['-lc', 'shopt -q login_shell; echo $?'],
  ['-lc', 'echo "$0 $1"', '_', 'a'],
  ['-c', 'exit 9', '_', 'a'],
  ['-c', 'nosuchprogram "$1"', 'myname', 'a'],
]
// The words are read alike on every runtime.
for (const words of shareOf(sameWords)) {
  test(`means the same to bash: ${words.map((word) => JSON.stringify(word)).join(' ')}`, async () => {
    const [own, theirs] = await Promise.all([runCli(words), runProgram('bash', words)])
    assert.equal(comparable(own), comparable(theirs))
  })
}

test('commands on standard input, as from curl: -s', async () => {
  const input = 'echo "$0 $1 $2"; read -r line\nread by it\necho "got $line"; exit 4\n'
  for (const words of [
    ['-s', 'a b', '--quiet'],
    ['-es'],
    ['-s', '--', '--quiet', '-c'],
    ['-s'],
    ['-s', '-', '-c'],
    ['-e', '-'],
  ]) {
    const [own, theirs] = await Promise.all([
      runCli(words, { input }),
      runProgram('bash', words, { input }),
    ])
    assert.equal(comparable(own), comparable(theirs))
  }
})

test('-i reads the start file of an interactive shell', () =>
  withNacre(async (dir, env) => {
    writeFileSync(join(dir, '.bashrc'), 'alias hello="echo hello from the alias"\n')
    const options = { env: { ...env, HOME: dir } }
    const { stdout } = await runCli(['-ic', 'hello'], options)
    assert.is(stdout.toString(), 'hello from the alias\n')
  }))

test('-v alone is the version', async () => {
  const [short, long] = await Promise.all([runCli(['-v']), runCli(['--version'])])
  assert.equal(comparable(short), comparable(long))
})

test('a login shell is bash, whatever shell the logins of the person have', async () => {
  const env = { ...process.env, SHELL: '/bin/sh' }
  const { stdout } = await runCli(['-lc', 'echo "$0 ${BASH_VERSION:+is bash}"'], { env })
  assert.is(stdout.toString(), 'bash is bash\n')
})

test('options of a shell without a command or a script are refused, not passed over', async () => {
  for (const words of [
    ['-e', '--', 'true'],
    ['-x', '--rpc'],
    ['-eo', 'pipefail', '-p', '!true'],
  ]) {
    const { stderr, status } = await runCli(words)
    assert.match(stderr.toString(), /need `-c <command>`, `-s` or a script file/)
    assert.is(status, 125, words.join(' '))
  }
})

test('a script gets its words, its name and its own exit status, as from bash', () =>
  withNacre(async (dir, env) => {
    const script = join(dir, 'script.sh')
    writeFileSync(script, 'echo "$0 $# $1|$2|${BASH_SOURCE[0]} line $LINENO"\nexit 7\n')
    for (const words of [
      [script],
      ['script.sh', 'a b', '--quiet', '-c'],
      ['-u', script, '--', 'x'],
    ]) {
      const [own, theirs] = await Promise.all([
        runCli(words, { cwd: dir, env }),
        runProgram('bash', words, { cwd: dir, env }),
      ])
      assert.equal(comparable(own), comparable(theirs))
      assert.is(own.status, 7)
    }
  }))

test('a script that is not there ends with 127, as in bash', async () => {
  const [own, theirs] = await Promise.all([
    runCli(['./not-here.sh']),
    runProgram('bash', ['./not-here.sh']),
  ])
  assert.equal(comparable(own), comparable(theirs))
  assert.is(own.status, 127)
})

test('#!/usr/bin/env nacre', () =>
  withNacre(async (dir, env) => {
    const script = join(dir, 'tool')
    writeFileSync(script, '#!/usr/bin/env nacre\necho "tool $1 $2"; read -r line; echo "$line"\n')
    chmodSync(script, 0o755)
    const { stdout, status } = await runProgram(script, ['a b', '-c'], { env, input: 'typed\n' })
    assert.is(stdout.toString(), 'tool a b -c\ntyped\n')
    assert.is(status, 0)
  }))

test('a script whose first line ends with `--` started nacre with itself for ever', () =>
  withNacre(async (dir, env, nacre) => {
    const script = join(dir, 'tool')
    for (const words of [`${nacre} --`, '/usr/bin/env -S nacre -u --']) {
      writeFileSync(script, `#!${words}\necho "$0 $1"\nexit 3\n`, { mode: 0o755 })
      const { stdout, status } = await runProgram(script, ['-x'], { env })
      assert.equal([String(stdout), status], [`${script} -x\n`, 3])
    }
  }))

test('a program gets exactly its words, with no shell in between', async () => {
  const words = ['a b', '$HOME', '*', '', '"', '--timeout', '-q']
  const { stdout } = await runCli(['--', 'printf', '<%s>', ...words])
  assert.is(stdout.toString(), words.map((word) => `<${word}>`).join(''))
})

test('options of nacre stand before `--`; the result tells the words as a command line', async () => {
  const words = ['--output-format', 'json', '--', 'grep', '-q', 'a b', '/dev/null']
  const { stdout } = await runCli(words)
  const result = JSON.parse(stdout.toString()) as Record<string, unknown>
  assert.is(result['command'], "grep -q 'a b' /dev/null")
  assert.is(result['exit_code'], 1)
  assert.is(result['exit_meaning'], 'no lines matched')
})

test('a program that is not there ends with 127, one that is not executable with 126', async () => {
  const absent = await runCli(['--', 'no-such-program-here', 'a'])
  assert.match(absent.stderr.toString(), /There is no such program: no-such-program-here/)
  assert.is(absent.status, 127)
  const plain = await runCli(['--', '/etc/passwd'])
  assert.match(plain.stderr.toString(), /not executable: \/etc\/passwd/)
  assert.is(plain.status, 126)
})

test('an executable file without a header did not run in every build', () =>
  withNacre(async (dir) => {
    const file = join(dir, 'plain')
    writeFileSync(file, 'echo "$0 $*"; exit 3\n', { mode: 0o755 })
    const { stdout, status } = await runCli(['--', file, 'a', 'b c'])
    assert.equal([String(stdout), status], [`${file} a b c\n`, 3])
  }))

test('the guard sees parameters and words', async () => {
  for (const words of [
    ['-c', 'rm -rf "$1"', '_', '/'],
    ['-c', 'rm -rf "$@"', '_', 'dist', '/'],
    ['--', 'rm', '-rf', '/'],
    ['--', 'bash', '-c', 'rm -rf "$1"', '_', '/'],
  ]) {
    const { status, stderr } = await runCli(words)
    assert.is(status, 126, words.join(' '))
    assert.match(stderr.toString(), /rm-critical/)
  }
})

/** What a line gives with nacre and with bash in the place of `$0`, each in a folder of its own. */
async function inBoth(line: string, nacre: string, dir: string, env: NodeJS.ProcessEnv) {
  const through = async (shell: string) => {
    const cwd = mkdtempSync(join(dir, 'as-'))
    return comparable(await runProgram('bash', ['-c', line, shell], { cwd, env }))
  }
  return [await through(nacre), await through('bash')] as const
}

/** More than the standard streams, as a caller opens them. */
const givesDescriptors = `
"$0" -c 'echo three >&3; echo ten >&10; read -r line <&4; echo "$line"' 3>three 10>ten 4< <(echo four)
printf 'echo script >&3\n' >script.sh
"$0" script.sh 3>script
"$0" -c 'cd /proc/$$/fd; for fd in *; do if [[ -e $fd ]]; then echo "$fd"; fi; done' 5<>both 7</dev/null
"$0" -c 'echo x >&8' || echo "status $?"
cat three ten script`

const processLines: Record<string, string> = {
  'descriptors above 2, and none of its own': givesDescriptors,
  'names that are not UTF-8': String.raw`export X=$'a\xfe'
"$0" -c 'touch "$@"; printf %s "$X" >env' _ $'caf\xe9' $'caf\xe8' café $'🂀\xff'; ls -b; od -c env`,
  'the soft limit of open files': 'ulimit -Sn 200; "$0" -c "ulimit -Sn"; true',
  "make's jobserver": String.raw`printf 'all: ; @$(MAKE) -s inner\ninner: ; @echo inner\n' >Makefile
make -s -j2 SHELL="$0"`,
  'a Ctrl-C that its command answers': `"$0" -c 'trap "exit 7" INT; kill -INT $$; sleep 9'; echo $?`,
  // Other runtimes open the null device there before they come to nacre.
  ...(cliRuntime() === 'bun' && {
    'a closed output': '"$0" -c "echo x" >&-; echo $?',
    'a closed input': '"$0" -c cat <&-; echo $?',
  }),
}
for (const [name, line] of Object.entries(processLines)) {
  test(`as of bash: ${name}`, () =>
    withNacre(async (dir, env, nacre) => {
      if (process.platform !== 'linux') return console.log(`SKIP ${name}: it wants /proc`)
      const [own, theirs] = await inBoth(line, nacre, dir, env)
      assert.equal(own, theirs)
    }))
}

test('Ctrl-Z stops the command, and `fg` goes on with it', () =>
  withNacre(async (dir, env, nacre) => {
    const executor = createExecutor({ stateDir: null, environment: env })
    const line = `set -m; $SHELL_HERE -c 'tty -s && kill -TSTP 0; echo went on'; jobs -s | wc -l; fg >/dev/null`
    const onTerminal = async (shell: string) => {
      const command = line.replace('$SHELL_HERE', shell)
      const wanted = { command, cwd: dir, pty: true, timeoutSeconds: 20, origin: 'print' } as const
      const { output, status } = await executor.run({ ...wanted, shell: 'bash' })
      return [output?.replaceAll(shell, 'shell'), status]
    }
    try {
      assert.equal(await onTerminal(nacre), await onTerminal('bash'))
    } finally {
      await executor.close()
    }
  }))

test('a directory that was removed does not keep a command from running', async () => {
  // Bun and Deno end there before they come to nacre.
  if (['bun', 'deno'].includes(cliRuntime())) return
  const script = 'cd "$(mktemp -d)" && rmdir "$PWD" && exec "$@"'
  const words = ['-c', script, 'bash', ...cliCommand(), '-c', 'echo ran']
  const { stdout, status } = await runProgram('bash', words)
  assert.equal([stdout.toString(), status], ['ran\n', 0])
})

test('a word that is not UTF-8 is refused where nacre has to stay', async () => {
  const line = String.raw`"$@" --timeout 5 -c ls $'\xff'`
  const { status, stderr } = await runProgram('bash', ['-c', line, '_', ...cliCommand()])
  assert.is(status, 125)
  assert.match(stderr.toString(), /not UTF-8/)
})

test('death by a signal is one to a parent', async () => {
  for (const signal of ['SIGTERM', 'SIGKILL', 'SIGPIPE', 'SIGSEGV'] as const) {
    const [program = '', ...words] = cliCommand()
    const child = spawn(program, [...words, '-c', `kill -${signal.slice(3)} $$`])
    assert.equal(await hear(child, 'exit'), [null, signal])
  }
})

test('the environment is left alone, or hardened where that is asked for', async () => {
  const env = { ...process.env, CI: '', PAGER: 'mine', BUN_OPTIONS: '--version', BUN_BE_BUN: '1' }
  const command = 'echo "$PAGER $CI $BUN_OPTIONS $BUN_BE_BUN"'
  const [plain, hard] = await Promise.all([
    runCli(['-c', command], { env }),
    runCli(['--harden', '-c', command], { env }),
  ])
  assert.is(plain.stdout.toString(), 'mine  --version 1\n')
  assert.is(hard.stdout.toString(), 'cat 1 --version 1\n')
})

test('commands that come through a pipe, without a word', async () => {
  const { stdout, status } = await runCli([], { input: 'echo "$0 $#"; exit 4\n' })
  assert.equal([stdout.toString(), status], ['bash 0\n', 4])
})

test('make takes nacre for its shell', () =>
  withNacre(async (dir, env) => {
    const makefile = [
      'SHELL = nacre',
      '.SHELLFLAGS = -eu -o pipefail -c',
      '.ONESHELL:',
      'all: ; @echo "$@ $$0"; x=1',
      '\techo "x $$x"',
      'pipe: ; @false | true; echo not reached',
      'unset: ; @echo "$$not_set_here"',
      '',
    ].join('\n')
    writeFileSync(join(dir, 'Makefile'), makefile)
    const made = await runProgram('make', ['-s', 'all'], { cwd: dir, env })
    assert.is(made.stdout.toString(), 'all bash\nx 1\n')
    assert.is((await runProgram('make', ['-s', 'pipe'], { cwd: dir, env })).status, 2)
    assert.is((await runProgram('make', ['-s', 'unset'], { cwd: dir, env })).status, 2)
  }))

test('find and xargs give it names as parameters', () =>
  withNacre(async (dir, env) => {
    mkdirSync(join(dir, 'files'))
    for (const name of ['a b', '-rf', "it's", '$HOME']) writeFileSync(join(dir, 'files', name), '')
    const found = await runProgram(
      'find',
      ['files', '-type', 'f', '-exec', 'nacre', '-c', 'echo "[$1]"', '_', '{}', ';'],
      { cwd: dir, env },
    )
    const expected = ['[files/$HOME]', '[files/-rf]', '[files/a b]', "[files/it's]"]
    assert.equal(found.stdout.toString().trim().split('\n').sort(), expected)
    const piped = await runProgram('xargs', ['-0', 'nacre', '-c', 'printf "[%s]" "$@"', '_'], {
      cwd: join(dir, 'files'),
      env,
      input: "a b\0-rf\0it's\0$HOME\0",
    })
    assert.is(piped.stdout.toString(), "[a b][-rf][it's][$HOME]")
  }))

test("npm's script-shell", () =>
  withNacre(async (dir, env, nacre) => {
    const scripts = { say: 'echo "$npm_lifecycle_event"', fail: 'exit 3' }
    writeFileSync(join(dir, 'package.json'), JSON.stringify({ name: 'x', scripts }))
    const npm = (script: string, ...words: string[]) =>
      runProgram('npm', ['run', '--silent', `--script-shell=${nacre}`, script, ...words], {
        cwd: dir,
        env: { ...env, HOME: dir },
      })
    assert.is((await npm('say', '--', 'a b')).stdout.toString(), 'say a b\n')
    assert.is((await npm('fail')).status, 3)
  }))

test('a PATH that leads to no shell leaves nacre one, as it leaves bash itself', () =>
  withNacre(async (dir, env, nacre) => {
    for (const PATH of ['', dir]) {
      const words = ['-c', 'echo "$0"; exit 3']
      const [own, theirs] = await Promise.all([
        runProgram(nacre, [...words, 'name'], { env: { ...env, PATH } }),
        runProgram('/bin/bash', [...words, 'name'], { env: { ...env, PATH } }),
      ])
      assert.equal(comparable(own), comparable(theirs))
    }
  }))

test('a duration has its unit; 0 is none', async () => {
  const late = await runCli(['-c', 'sleep 30', '--timeout', '300ms', '--signal', 'SIGTERM'])
  assert.is(late.status, 124)
  const none = await runJson(['-c', 'echo done', '--timeout', '0', '--inactivity-timeout', '0'])
  assert.is(none['status'], 'exited')
  for (const wrong of ['5x', 'ms', '1h30m', '']) {
    assert.is((await runCli(['-c', 'true', '--timeout', wrong])).status, 125, wrong)
  }
})

/** How a program ends, whose process group gets the signal when it has written something. */
async function endBy(signal: NodeJS.Signals, words: string[]): Promise<unknown[]> {
  const [program = '', ...args] = words
  const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  const exited = hear(child, 'exit')
  await hear(child.stdout, 'data')
  process.kill(-(child.pid ?? 0), signal)
  return exited
}

for (const command of ['trap "exit 7" INT TERM', 'trap "exit 0" INT TERM', ':']) {
  test(`a Ctrl-C ends nacre as it ends bash: ${command}`, async () => {
    // A child that bash has yet to fork could miss the signal.
    const words = ['-c', `${command}; sh -c "echo up; exec sleep 300"; true`]
    const [own, theirs] = await Promise.all([
      endBy('SIGINT', [...cliCommand(), ...words]),
      endBy('SIGINT', ['bash', ...words]),
    ])
    assert.equal(own, theirs)
  })
}

test('a script that answers TERM with an exit status of its own ends nacre with that', async () => {
  const words = ['-c', 'trap "exit 7" TERM; sh -c "echo up; exec sleep 300"']
  assert.equal(await endBy('SIGTERM', [...cliCommand(), ...words]), [7, null])
})

test('a first word with a dash asks for a login shell', async () => {
  if (cliRuntime() !== 'bun') return
  const [nacre = ''] = cliCommand()
  const words = ['-c', 'exec -a -nacre "$0" -c "shopt -q login_shell; echo \\$?"', nacre]
  assert.is((await runProgram('bash', words)).stdout.toString(), '0\n')
})

test('a login shell refused the script that su and sshd give it on standard input', async () => {
  if (cliRuntime() !== 'bun') return
  const [nacre = ''] = cliCommand()
  const script = 'echo "shopt -q login_shell; echo \\$?; exit 5" | exec -a -nacre "$0"'
  const { status, stdout } = await runProgram('bash', ['-c', script, nacre])
  assert.equal([status, stdout.toString()], [5, '0\n'])
})

test('what timed out is told with its limit', async () => {
  const late = await runCli(['-c', 'sleep 30', '--timeout', '300ms'])
  assert.match(
    late.stderr.toString(),
    /Timed out: the command may take 300 ms and was stopped after/,
  )
  const silent = await runJson(['-c', 'sleep 30', '--inactivity-timeout', '200ms'])
  assert.is(silent['limit_seconds'], 0.2)
})

test('a job of --background is its id, alone on stdout', async () => {
  const { stdout, stderr } = await runCli(['-c', 'true', '--background'])
  assert.match(stdout.toString(), /^run_[a-z2-7]{20}\n$/)
  assert.match(stderr.toString(), /nacre job read run_/)
  const waited = await runCli(['job', 'wait', stdout.toString().trim()])
  assert.is(waited.status, 0)
})

test('artifacts in a named folder may be read by everybody, those of the state by their user', () =>
  withNacre(async (dir) => {
    const kept = ['-c', 'echo kept', '--artifact', 'always']
    const named = await runJson(['--artifact-dir', join(dir, 'a', 'b'), ...kept])
    const own = await runJson(kept)
    const modeOf = (result: Record<string, unknown>) =>
      statSync((result['artifact'] as { path: string }).path).mode & 0o777
    assert.is(modeOf(named), 0o644)
    assert.is(statSync(join(dir, 'a', 'b')).mode & 0o777, 0o755)
    assert.is(modeOf(own), 0o600)
  }))

test('~ is the home', async () => {
  const home = process.env['HOME'] ?? ''
  const { stdout } = await runCli(['--cwd', '~', '-c', 'pwd -P'])
  assert.is(stdout.toString(), `${realpathSync(home)}\n`)
})

test('options stand before or behind a subcommand', async () => {
  for (const words of [
    ['-q', 'job', 'list'],
    ['job', '-q', 'list'],
    ['job', 'list', '-q'],
  ]) {
    assert.is((await runCli(words)).status, 0, words.join(' '))
  }
})

test('help of a word is the help of the command or of the option', async () => {
  const [asked, own] = await Promise.all([runCli(['help', 'job']), runCli(['job', '--help'])])
  assert.is(asked.stdout.toString(), own.stdout.toString())
  assert.match((await runCli(['help', 'timeout'])).stdout.toString(), /--timeout <duration>/)
  assert.match((await runCli(['help', 'tiemout'])).stderr.toString(), /did you mean `timeout`/)
  assert.match((await runCli(['jbo', 'list'])).stderr.toString(), /did you mean `job`/)
})

test.run()
