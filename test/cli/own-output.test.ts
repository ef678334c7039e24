import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../helpers/cli.ts'
import { runCli } from '../helpers/run-cli.ts'
import { runProgram } from '../helpers/run-program.ts'

const words = cliCommand()
  .map((word) => `'${word}'`)
  .join(' ')

/** The same line with nacre and with bash in the place of `$SHELL_UNDER_TEST`. */
async function runBoth(line: string) {
  const run = async (shell: string) => {
    const dir = mkdtempSync(join(tmpdir(), 'own-output-'))
    try {
      const { status, stdout, stderr } = await runProgram(
        'bash',
        ['-c', line.replaceAll('$SHELL_UNDER_TEST', shell)],
        { cwd: dir },
      )
      const file = join(dir, 'file')
      const kept = existsSync(file) ? readFileSync(file, 'latin1') : null
      return { status, stdout: stdout.toString('latin1'), stderr: stderr.toString('latin1'), kept }
    } finally {
      rmSync(dir, { recursive: true })
    }
  }
  return { nacre: await run(words), bash: await run('bash') }
}

for (const line of [
  "$SHELL_UNDER_TEST -c '[ -f /dev/stdout ] && echo file; [ -p /dev/stderr ] && echo pipe >&2' > file",
  "$SHELL_UNDER_TEST -c 'test -p /dev/stdout && echo pipe' | cat",
  "$SHELL_UNDER_TEST -c 'echo one; echo two > /dev/stdout; echo three' > file",
  "echo before > file; $SHELL_UNDER_TEST -c 'echo after; echo err >&2' >> file 2>&1",
  '$SHELL_UNDER_TEST -c \'setsid sh -c "echo late"\' | cat',
  // The child waits for its turn, and lives on for a while.
  `mkfifo go; $SHELL_UNDER_TEST -c '{ read -r x < go; sleep 0.3; echo later; } & echo now; echo > go' | cat`,
  // It ends before its child, whose output is heard all the same.
  "mkfifo go; { $SHELL_UNDER_TEST -c 'cat go & echo now'; echo later > go; } | cat",
  '$SHELL_UNDER_TEST -c \'yes\' | head -2; echo "${PIPESTATUS[0]}"',
  "$SHELL_UNDER_TEST -c 'seq 1 200000' > file; wc -c < file",
]) {
  test(`a command writes where bash would write: ${line}`, async () => {
    const { nacre, bash } = await runBoth(line)
    assert.equal(nacre, bash)
  })
}

test('a command whose events nobody reads any more meets a closed pipe', async () => {
  const line = `${words} -c yes --output-format stream-json | head -1 | cut -c 1-17; echo "\${PIPESTATUS[0]}"`
  const { stdout } = await runProgram('bash', ['-c', line])
  assert.is(stdout.toString(), '{"type":"started"\n141\n')
})

/**
 * The end of the shell wakes its child, which counts for a millisecond or two and then writes a line. It
 * has slept until then, so that it is next in turn on a busy machine, and before all others where root runs
 * this.
 */
const lateChild = `
mkfifo up end
nice -n -20 setsid sh -c 'echo > up; read x; n=0; while [ $n -lt 1000 ]; do n=$((n + 1)); done; echo late' < end 2> /dev/null &
exec 9> end
read x < up
rm up end`

const heard = /(?:^|"(?:output|data|stdout)":")late(?:\n|\\n)/

for (const [format, options] of Object.entries({
  'bounded text': ['--tail', '5'],
  json: ['--output-format', 'json'],
  'stream-json': ['--output-format', 'stream-json'],
})) {
  test(`a child that outlives its shell by a moment is heard in ${format}`, async () => {
    const told: string[] = []
    // A machine that stands still for the 100 ms in which it is heard proves nothing.
    while (told.length < 5 && !heard.test(told.at(-1) ?? '')) {
      const cwd = mkdtempSync(join(tmpdir(), 'late-child-'))
      const { stdout } = await runCli([...options, '-c', lateChild], { cwd })
      rmSync(cwd, { recursive: true })
      told.push(stdout.toString())
    }
    assert.match(told.at(-1) ?? '', heard)
  })
}

test.run()
