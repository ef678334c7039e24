import { existsSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliRuntime } from '../helpers/cli.ts'
import { type Home, withHome } from '../helpers/home.ts'
import { runCli, runJson } from '../helpers/run-cli.ts'
import { until } from '../helpers/until.ts'

async function artifact({ env, workspace }: Home, ...args: string[]) {
  const finished = await runCli(['artifact', ...args], { env, cwd: workspace })
  return {
    status: finished.status,
    stdout: finished.stdout.toString(),
    stderr: finished.stderr.toString(),
  }
}

/** Keeps the output of a command; gives the artifact's id. */
async function keep({ env, workspace }: Home, command: string): Promise<string> {
  const result = await runJson(['-c', command, '--artifact', 'always'], { env, cwd: workspace })
  return (result['artifact'] as { id: string }).id
}

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}\n`).join('')

test(
  'show: all in bounded pieces, each of which says where the next begins',
  withHome(async (home) => {
    const id = await keep(home, 'seq 4500')
    let text = ''
    let args = ['show', id]
    for (let pieces = 0; pieces < 3; pieces++) {
      const { status, stdout, stderr } = await artifact(home, ...args)
      assert.is(status, 0)
      assert.ok(stdout.split('\n').length <= 2001)
      text += stdout
      args = (/go on with: nacre artifact (.*)\n/.exec(stderr)?.[1] ?? '').split(' ')
    }
    assert.is(text, numbers(1, 4500))
    assert.equal(args, [''], 'the last piece is the end')
  }),
)

test(
  'show: head, tail, offset and limit, by id or by address',
  withHome(async (home) => {
    const id = await keep(home, 'seq 100')
    const show = async (...args: string[]) => (await artifact(home, 'show', ...args)).stdout
    assert.is(await show(id, '--head', '3'), numbers(1, 3))
    assert.is(await show(`artifact://${id}`, '--tail', '3'), numbers(98, 100))
    assert.is(await show(id, '--offset', '50', '--limit', '2'), numbers(50, 51))
    assert.is(await show(id, '--offset', '99'), numbers(99, 100))
    assert.equal(await artifact(home, 'show', id, '--offset', '99999'), {
      status: 0,
      stdout: '',
      stderr: 'nacre: there is nothing at that place: the text has 100 lines\n',
    })
    assert.is(await show(id, '--line', '100', '--column', '3'), '0\n')
    assert.equal(JSON.parse(await show(id, '--limit', '1', '--output-format', 'json')), {
      id,
      text: '1\n',
      from: 1,
      to: 1,
      next_offset: 2,
      line: 2,
      column: 1,
      total_lines: null,
    })
    assert.is((await artifact(home, 'show', id, '--tail', '1', '--head', '1')).status, 125)
  }),
)

test(
  'path: the bytes as they were written',
  withHome(async (home) => {
    const id = await keep(home, String.raw`printf '\033[31mred\0\377\r\n'`)
    const path = (await artifact(home, 'path', id)).stdout.trimEnd()
    assert.ok(readFileSync(path).equals(Buffer.from('\x1b[31mred\0\xff\r\n', 'latin1')))
    assert.is((await artifact(home, 'show', id)).stdout, 'red\uFFFD\n')
  }),
)

test(
  'grep: as grep -n, with its exit status',
  withHome(async (home) => {
    const id = await keep(home, 'seq 1000; echo Last')
    const grep = (...args: string[]) => artifact(home, 'grep', id, ...args)
    assert.equal(await grep('^50.$', '--limit', '2'), {
      status: 0,
      stdout: '500:500\n501:501\n',
      stderr: 'nacre: there is more; go on with --offset 502\n',
    })
    assert.is((await grep('^50.$', '--offset', '509')).stdout, '509:509\n')
    assert.is((await grep('^50$', '-C', '1')).stdout, '49-49\n50:50\n51-51\n')
    assert.is((await grep('^50$', '-A', '1')).stdout, '50:50\n51-51\n')
    assert.is((await grep('^50$', '-B', '1')).stdout, '49-49\n50:50\n')
    assert.is((await grep('LAST', '-i')).stdout, '1001:Last\n')
    assert.equal(await grep('LAST'), { status: 1, stdout: '', stderr: '' })
    const wrong = await grep('(')
    assert.is(wrong.status, 125)
    assert.match(wrong.stderr, /Invalid regular expression/)
    const json = JSON.parse((await grep('^7$', '--output-format', 'json')).stdout) as unknown
    assert.equal(json, {
      id,
      text: '7:7\n',
      matches: 1,
      places: [{ line: 7, column: 1 }],
      next_offset: null,
      timed_out: false,
    })
  }),
)

// Bun's engine says "no match" when it has had enough, where Node's goes on until the time is over.
if (cliRuntime() === 'bun') {
  test(
    'grep: what the engine has given up on is not told as no match, and what stood before is told',
    withHome(async (home) => {
      const hostile = `${'x'.repeat(40)}${'z'.repeat(20)}xxy`
      const id = await keep(home, `printf '%s\\n' xxy ${hostile} xxy`)
      const grep = (offset: string) => artifact(home, 'grep', id, '(x+x+)+y', '--offset', offset)
      const early = 'nacre: the search ended early, out of time or memory'
      assert.equal(await grep('1'), {
        status: 0,
        stdout: '1:xxy\n',
        stderr: `${early}; go on with --offset 2\n`,
      })
      assert.equal(await grep('2'), {
        status: 124,
        stdout: '',
        stderr: `${early}: line 2 took all of it unsearched; go on with --offset 3\n`,
      })
      assert.is((await grep('3')).stdout, '3:xxy\n')
    }),
  )
}

test(
  'list: newest first; path: a file for any other tool',
  withHome(async (home) => {
    assert.equal(await artifact(home, 'list'), { status: 0, stdout: '', stderr: '' })
    const first = await keep(home, 'echo first')
    const second = await keep(home, 'echo second')
    const ids = (await artifact(home, 'list')).stdout.split('\n').map((line) => line.split(' ')[0])
    assert.ok(ids.indexOf(second) < ids.indexOf(first))
    const { artifacts } = JSON.parse(
      (await artifact(home, 'list', '--limit', '1', '--output-format', 'json')).stdout,
    ) as { artifacts: { id: string; command: string; bytes: number }[] }
    assert.is(artifacts.length, 1)
    assert.is(artifacts[0]?.command, 'echo second')
    const path = (await artifact(home, 'path', first)).stdout
    assert.is(readFileSync(path.trimEnd(), 'utf8'), 'first\n')
  }),
)

test(
  'prune: what is over the quota goes, and is named',
  withHome(async (home) => {
    const id = await keep(home, 'echo kept')
    assert.is((await artifact(home, 'prune')).stdout, '')
    const path = (await artifact(home, 'path', id)).stdout.trimEnd()
    home.write(home.userFile, { artifacts: { store_bytes: 1 } })
    const pruned = await artifact(home, 'prune')
    assert.ok(pruned.stdout.split('\n').includes(id))
    assert.not(existsSync(path))
  }),
)

test(
  'an expired artifact goes after a run, and one that cannot be removed costs no run its own',
  withHome(async (home) => {
    const id = await keep(home, 'echo first')
    const store = dirname((await artifact(home, 'path', id)).stdout)
    const stamp = join(store, '.pruned')
    const stuck = join(store, 'art_aaaaaaaaaaaaaaaaaaaa.log')
    const expired = Array.from({ length: 300 }, (_, at) => {
      const name = at.toString(2).padStart(20, 'a').replaceAll('0', 'c').replaceAll('1', 'd')
      return join(store, `art_${name}.log`)
    })
    for (const path of expired) writeFileSync(path, 'old\n')
    mkdirSync(join(stuck, 'in the way'), { recursive: true })
    for (const path of [...expired, stuck, stamp]) utimesSync(path, 1, 1)
    await keep(home, 'echo second')
    await until(
      () => statSync(stamp).size > 0,
      () => String(expired.filter((path) => existsSync(path)).length),
    )
    assert.equal(expired.filter((path) => existsSync(path)).length, 0)
    const result = await runJson(['-c', 'echo third', '--artifact', 'always'], {
      env: home.env,
      cwd: home.workspace,
    })
    assert.ok(existsSync((result['artifact'] as { path: string }).path))
    assert.match(String(result['notices']), /^Old artifacts cannot be removed \(1\), the first: /)
    const { status, stderr } = await artifact(home, 'prune')
    assert.equal([status, /cannot be removed \(1\)/.test(stderr)], [1, true])
  }),
)

test(
  'what is no artifact, no action, or a word too many',
  withHome(async (home) => {
    const refused: [string[], RegExp][] = [
      [['show', 'art_aaaaaaaaaaaaaaaaaaaa'], /No such artifact: art_a/],
      [['show', '../../etc/passwd'], /No such artifact/],
      [['shwo', 'x'], /Unknown action `shwo`; did you mean `show`\?/],
      [['show'], /Usage: nacre artifact show <id>/],
      [['grep', 'x'], /Usage: nacre artifact grep <id> <pattern>/],
      [[], /nacre artifact list\|show/],
      [['list', 'all'], /Usage: nacre artifact list/],
      [['grep', 'x', 'y', '--tail', '3'], /`--tail` is an option of `nacre artifact show`, not of/],
      [['show', 'x', '--line', '0'], /`--line` must be a whole number, 1 or more/],
    ]
    for (const [args, message] of refused) {
      const { status, stdout, stderr } = await artifact(home, ...args)
      assert.is(status, 125)
      assert.is(stdout, '')
      assert.match(stderr, message)
    }
  }),
)

test.run()
