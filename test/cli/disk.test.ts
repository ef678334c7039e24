import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../helpers/cli.ts'
import { runProgram } from '../helpers/run-program.ts'

const dir = mkdtempSync(join(tmpdir(), 'disk-'))
const disk = join(dir, 'disk')
mkdirSync(disk)
const nacre = cliCommand()
  .map((word) => `'${word}'`)
  .join(' ')

const spoilt = {
  full: 'head -c 1000000 /dev/zero > "$DISK/fill" 2>/dev/null || true',
  'without inodes':
    'for n in {1..100}; do : 2>/dev/null > "$DISK/$n" || break; done 2>/dev/null; rm "$DISK/1"',
  'read-only': 'mount -o remount,ro "$DISK"',
  missing: 'rmdir "$DISK/tmp" "$DISK/state"',
}

/** Runs `line` where state and temporary files are to lie on a small disk in the given condition. */
function runOn(condition: keyof typeof spoilt, line: string, input?: string) {
  const script = [
    'mount -t tmpfs -o size=64k,nr_inodes=80 tmpfs "$DISK"',
    'mkdir "$DISK/tmp" "$DISK/state"',
    // Of the places that come after it the first that is there for every user.
    'mount -t tmpfs tmpfs /dev/shm',
    spoilt[condition],
    'export TMPDIR="$DISK/tmp" XDG_STATE_HOME="$DISK/state"',
    line,
  ].join('\n')
  const env = { DISK: disk }
  const options = { env, ...(input !== undefined && { input }) }
  return runProgram('unshare', ['-m', 'bash', '-c', script], options)
}

const mountable =
  existsSync('/dev/shm') &&
  !existsSync(`/run/user/${process.getuid?.()}`) &&
  (await runProgram('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', disk]).then(
    ({ status }) => status === 0,
    () => false,
  ))
const mayMount = (name: string): boolean => {
  if (!mountable) console.log(`SKIP ${name}: no disk can be mounted here`)
  return mountable
}

for (const condition of Object.keys(spoilt) as (keyof typeof spoilt)[]) {
  test(`a disk that is ${condition} keeps no command from its pipes`, async () => {
    if (!mayMount(condition)) return
    const line = `${nacre} -c 'read x; echo "$x"; echo e >&2'; ls /dev/shm`
    const { status, stdout, stderr } = await runOn(condition, line, 'given\n')
    assert.equal([status, String(stdout), String(stderr)], [0, 'given\n', 'e\n'])
  })

  test(`a disk that is ${condition} keeps no job from running`, async () => {
    if (!mayMount(condition)) return
    const out = join(dir, 'out')
    // The disk stays mounted until the command has come to its end.
    const wait = `for n in {1..200}; do [[ -s '${out}' ]] && break; sleep 0.1; done`
    const line = `${nacre} -c 'echo ran > ${out}' --background; status=$?; ${wait}; exit $status`
    const { status, stdout, stderr } = await runOn(condition, line)
    assert.is(status, 0, String(stderr))
    assert.match(String(stdout), /^run_\w+\n$/)
    assert.is(readFileSync(out, 'utf8'), 'ran\n')
    rmSync(out)
    assert.not.match(String(stderr), /^\s+at /m)
    if (condition === 'missing') return
    assert.not.match(String(stderr), 'nacre job read')
    // Bun does not say why.
    if (condition === 'read-only') assert.not.match(String(stderr), /Its output/)
    assert.match(
      String(stderr),
      /`nacre job` cannot find this job.*(ENOSPC|EROFS|Failed to listen)/,
    )
  })
}

for (const condition of Object.keys(spoilt) as (keyof typeof spoilt)[]) {
  test(`a disk that is ${condition} keeps no command from its sandbox`, async () => {
    if (!mayMount(condition)) return
    const words = `--sandbox workspace --workspace '${join(dir, 'work')}' --cwd '${join(dir, 'work')}'`
    const line = `mkdir -p '${join(dir, 'work')}'; ${nacre} ${words} -c 'echo a; echo b >f; cat f'; ls /dev/shm`
    const { status, stdout, stderr } = await runOn(condition, line)
    if (/needs bwrap|user namespaces|inside a sandbox/.test(String(stderr))) {
      return console.log(`SKIP ${condition}, sandboxed: ${String(stderr).trim()}`)
    }
    assert.equal([status, String(stdout)], [0, 'a\nb\n'], String(stderr))
  })

  test(`a disk that is ${condition} names no artifact that is not there`, async () => {
    if (!mayMount(condition)) return
    const line = `result=$(${nacre} --output-format json -c 'seq 1 100000'); echo "$result"; path=$(sed -n 's/.*"path":"\\([^"]*\\)".*/\\1/p' <<<"$result"); [[ ! $path || -s $path ]] && echo good`
    const { stdout } = await runOn(condition, line)
    assert.match(String(stdout), /\ngood\n$/)
  })
}

test('a session works on a full disk, with what it is given to read', async () => {
  if (!mayMount('a session on a full disk')) return
  const params = { command: 'cat; x=kept', stdin: 'text', session: 's' }
  const request = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'shell.exec', params })
  // The input stays open until the answer is there.
  const line =
    `coproc ${nacre} --rpc; echo '${request}' >&"\${COPROC[1]}"; ` +
    `while read -r -u "\${COPROC[0]}" line; do [[ $line = *'"id":1'* ]] && break; done; echo "$line"`
  const { stdout } = await runOn('full', line)
  const { result } = JSON.parse(String(stdout)) as { result: { stdout: string; exit_code: number } }
  assert.equal([result.stdout, result.exit_code], ['text', 0])
})

test.after(() => rmSync(dir, { recursive: true }))

test.run()
