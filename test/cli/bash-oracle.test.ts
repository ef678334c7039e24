import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../helpers/cli.ts'
import { runCli } from '../helpers/run-cli.ts'
import { type Finished, runProgram } from '../helpers/run-program.ts'

/** `### name`, then the lines of the command. */
function readCommands(): [name: string, command: string][] {
  const file = join(import.meta.dirname, '../../fixtures/oracle/commands.txt')
  return readFileSync(file, 'utf8')
    .split(/^### /m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf('\n')
      return [part.slice(0, end), part.slice(end + 1).replace(/\n$/, '')]
    })
}

/** On real pipes, as under a shell: those of child_process are sockets, which have no name. */
function runOnPipes(words: string[], input?: string | Buffer): Promise<Finished> {
  const run = '"$@" 2> >(cat >&3) | cat'
  const line =
    input === undefined ? `${run}; exit $PIPESTATUS` : `cat | ${run}; exit \${PIPESTATUS[1]}`
  const options = input === undefined ? {} : { input }
  return runProgram('bash', ['-c', `exec 3>&2 2>/dev/null; ${line}`, '_', ...words], options)
}

/** What nacre adds to the environment changes nothing in these commands but `TERM`. */
async function compare(command: string, input?: string | Buffer): Promise<void> {
  const [expected, actual] = await Promise.all([
    runOnPipes(['bash', '-c', command], input),
    runOnPipes([...cliCommand(), '-c', command], input),
  ])
  assert.is(describe(actual.stdout), describe(expected.stdout), 'stdout')
  assert.is(describe(actual.stderr), describe(expected.stderr), 'stderr')
  assert.is(actual.status, expected.status, 'exit status')
}

/** Long outputs by their length and their ends, so that a difference can be read. */
function describe(bytes: Finished['stdout']): string {
  const text = bytes.toString('latin1')
  if (text.length < 2000) return text
  const sum = bytes.reduce((hash, byte) => (hash * 31 + byte) % 4_294_967_291, 7)
  return `${text.length} bytes, sum ${sum}: ${text.slice(0, 200)} … ${text.slice(-200)}`
}

for (const [name, command] of readCommands()) {
  test(`as bash: ${name}`, () => compare(command))
}

test('as bash: given stdin', () => compare('cat; echo end', 'given\ntext'))
test('as bash: 20 MB of stdin', () => compare('wc -c', Buffer.alloc(20_000_000, 'x')))
test('as bash: stdin read in part', () => compare('head -1', 'one\ntwo\nthree\n'.repeat(100_000)))
test('as bash: stdin by name', () => compare('cat /dev/stdin /dev/fd/0', 'named'))
test('as bash: stdin left unread', () => compare('echo done', 'x'.repeat(1_000_000)))
test('as bash: stdin binary', () => compare('od -c | head', Buffer.from([0, 255, 128, 10, 13])))

test('a null device opened for reading and writing is an empty stdin, not a closed one', async () => {
  const fd = openSync('/dev/null', 'r+')
  const finished = await runCli(['-c', 'cat; echo $?'], { stdio: [fd, 'pipe', 'pipe'] })
  closeSync(fd)
  assert.is(finished.stdout.toString(), '0\n')
  assert.is(finished.stderr.toString(), '')
})

test.run()
