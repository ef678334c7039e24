import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createSnapshots } from '../../../lib/run/snapshot/snapshot.ts'
import { withSessions } from '../../helpers/sessions.ts'

/** Gives a session whose user has this `~/.bashrc`, and what it says. */
async function withRc(
  rc: string,
  check: (home: {
    run: (command: string) => Promise<{ stdout: string; stderr: string; notices: string[] }>
    home: string
    cache: string
  }) => Promise<void>,
  timeoutMs?: number,
): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'nacre-home-'))
  const cache = join(home, 'cache')
  writeFileSync(join(home, '.bashrc'), rc)
  const options = { directory: cache, ...(timeoutMs === undefined ? {} : { timeoutMs }) }
  try {
    let snapshots = createSnapshots(options)
    await withSessions(
      async ({ run, sessions }) => {
        await check({
          home,
          cache,
          async run(command) {
            // Each in a new shell, by a nacre that knows nothing yet.
            await sessions.close('main')
            snapshots = createSnapshots(options)
            const { stdout, stderr, notices } = await run(command)
            return { stdout, stderr, notices: notices ?? [] }
          },
        })
      },
      {
        readSetUp: (launch) => snapshots.read({ ...launch, env: { ...launch.env, HOME: home } }),
      },
    )
  } finally {
    rmSync(home, { recursive: true })
  }
}

test('functions, aliases, options and PATH are there', async () => {
  const rc = [
    `greet() { echo "hello $1"; }`,
    `alias ll='ls -l'`,
    `alias say="echo it\\'s"`,
    'shopt -s extglob globstar',
    'set -o noclobber',
    'PATH=$HOME/mine:$PATH',
    'not_exported=1',
    'matches() { [[ $1 == +(a|b) ]] && echo yes; }',
  ].join('\n')
  await withRc(rc, async ({ run, home }) => {
    const seen = await run(
      'greet you; say me; alias ll; shopt extglob globstar; set -o | grep noclobber; echo ${PATH%%:*}; matches ab; echo "[$not_exported]"',
    )
    assert.is(seen.stderr, '')
    assert.match(
      seen.stdout,
      /^hello you\nit's me\nalias ll='ls -l'\nextglob +\ton\nglobstar +\ton\n/,
    )
    assert.match(seen.stdout, /noclobber +\ton\n/)
    assert.ok(seen.stdout.endsWith(`${home}/mine\nyes\n[]\n`), seen.stdout)
    assert.equal(seen.notices, [])
  })
})

/** Awkward files that still give what stands in them. */
const taken: Record<string, string> = {
  'set -u': 'set -u; kept() { echo kept; }',
  'a guard for interactive shells':
    '[[ $- == *i* ]] || return\ncase $- in *i*) ;; *) return ;; esac\nkept() { echo kept; }',
  'a guard by PS1': '[ -z "$PS1" ] && return\nkept() { echo kept; }',
  'a function named grep': 'grep() { command grep --color=always "$@"; }; kept() { echo kept; }',
  'functions named as builtins':
    'builtin() { echo mine; }; printf() { echo mine; }; set() { echo mine; }; kept() { echo kept; }',
  'an alias of one sign': `alias -- -='cd -'; alias ..='cd ..'; alias ~='cd ~'; kept() { echo kept; }`,
  'aliases as our words': `alias builtin=false shopt=false printf=false; kept() { echo kept; }`,
  'a file that prints': 'echo hello; echo warning >&2; kept() { echo kept; }; printf "\\0end"',
  'a file that asks':
    'read -rp "Name? " name; kept() { echo kept; }; select x in a b; do break; done',
  'a file that fails': 'false; no-such-program; kept() { echo kept; }; (exit 3)',
  'a syntax error at its end': 'kept() { echo kept; }\nif then fi (',
  'an early return': 'kept() { echo kept; }; return 3; echo no',
  'an agent in the background': 'sleep 100 & setsid sleep 100 & disown -a; kept() { echo kept; }',
  'an EXIT trap': `trap 'echo bye; sleep 100' EXIT; kept() { echo kept; }`,
  'a DEBUG trap and PROMPT_COMMAND': `trap 'echo dbg' DEBUG; PROMPT_COMMAND='sleep 100'; kept() { echo kept; }`,
  'set -x and set -v': 'kept() { echo kept; }; set -xv',
  'output sent elsewhere': 'exec >/dev/null 2>&1; kept() { echo kept; }',
  'a here-document in a function': `kept() { cat <<'EOF'\nkept\nEOF\n}`,
  'a history of its own': 'HISTFILE=$HOME/history; set -o history; kept() { echo kept; }',
}

for (const [name, rc] of Object.entries(taken)) {
  test(`an awkward rc file is taken over: ${name}`, async () => {
    await withRc(rc, async ({ run, cache, home }) => {
      const { stdout, stderr, notices } = await run('kept')
      assert.equal([stdout, stderr, notices], ['kept\n', '', []])
      assert.equal(leftovers(cache), [])
      assert.not(readdirSync(home).includes('history'))
    })
  })
}

/** Files that cost a notice, and never the run. */
const refused: Record<string, string> = {
  'it exits': 'kept() { :; }; exit 3',
  'it becomes another program': 'exec true',
  'it fails under set -e': 'set -e; false',
  'it never ends': 'sleep 100',
  'it stops itself': 'kill -STOP $$',
  'it kills itself': 'kill -9 $$',
}

for (const [name, rc] of Object.entries(refused)) {
  test(`a broken rc file costs a notice: ${name}`, async () => {
    await withRc(
      rc,
      async ({ run, cache }) => {
        const { stdout, notices } = await run('echo runs')
        assert.is(stdout, 'runs\n')
        assert.is(notices.length, 1)
        assert.match(notices[0] ?? '', /\.bashrc was not taken over: it /)
        assert.equal(leftovers(cache), [])
      },
      300,
    )
  })
}

test('it is captured once, and again when the file changes', async () => {
  await withRc('echo ran >>~/count; kept() { echo one; }', async ({ run, home }) => {
    const rc = join(home, '.bashrc')
    writeFileSync(rc, `echo ran >>${home}/count; kept() { echo one; }`)
    assert.is((await run('kept')).stdout, 'one\n')
    assert.is((await run('kept')).stdout, 'one\n')
    assert.is(readFileSync(join(home, 'count'), 'utf8'), 'ran\n')
    writeFileSync(rc, `echo ran >>${home}/count; kept() { echo two; }`)
    assert.is((await run('kept')).stdout, 'two\n')
    assert.is(readFileSync(join(home, 'count'), 'utf8'), 'ran\nran\n')
  })
})

test('without a file, or with a folder that cannot be written, sessions run', async () => {
  await withRc('kept() { echo kept; }', async ({ run, home, cache }) => {
    mkdirSync(cache)
    rmSync(cache, { recursive: true })
    writeFileSync(cache, 'a file in its place')
    const blocked = await run('echo runs')
    assert.is(blocked.stdout, 'runs\n')
    assert.match(blocked.notices.join(), /was not taken over/)
    rmSync(join(home, '.bashrc'))
    assert.equal(await run('echo runs'), { stdout: 'runs\n', stderr: '', notices: [] })
  })
})

/** What a capture should have taken away: its folder, its processes. */
function leftovers(cache: string): string[] {
  const folders = readdirSync(cache).filter((name) => !name.startsWith('snapshot-'))
  const processes = execFileSync('ps', ['-eo', 'args='], { encoding: 'utf8' })
  return [...folders, ...processes.split('\n').filter((line) => line.includes(cache))]
}

test.run()
