import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../../lib/executor/executor.ts'
import type { RequestInput } from '../../../lib/protocol/request/request.ts'
import { probeSandbox } from '../../../lib/run/sandbox/sandbox-probe.ts'
import type { Result } from '../../../lib/protocol/result/result.ts'

const test = suite('snapshot')

interface Person {
  home: string
  /** What a model's command says, where it is not told otherwise. */
  run: (command: string, more?: Partial<RequestInput>) => Promise<Result>
  /** The files of nacre among the temporary ones. */
  leftovers: () => string[]
}

interface Files {
  rc?: string
  zshrc?: string
  fish?: string
  shell?: string
  environment?: Record<string, string>
}

/** A person with these start files and a nacre of their own. */
async function withPerson(files: Files, check: (person: Person) => Promise<void>): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'nacre-home-'))
  const { rc, zshrc, fish } = files
  if (rc !== undefined) writeFileSync(join(home, '.bashrc'), rc)
  if (zshrc !== undefined) writeFileSync(join(home, '.zshrc'), zshrc)
  if (fish !== undefined) {
    mkdirSync(join(home, '.config/fish'), { recursive: true })
    writeFileSync(join(home, '.config/fish/config.fish'), fish)
  }
  const executor = createExecutor({
    stateDir: null,
    cwd: home,
    environment: {
      PATH: process.env['PATH'],
      HOME: home,
      SHELL: files.shell ?? '/bin/bash',
      NACRE_TEST_HOME: home,
      ...files.environment,
    },
  })
  try {
    await check({
      home,
      run: (command, more) =>
        executor.run({ command, origin: 'mcp', streams: 'separate', mode: 'slow', ...more }),
      leftovers() {
        const folders = readdirSync(tmpdir()).filter((name) => name.startsWith(`nacre-setup-`))
        const captures = folders.flatMap((folder) =>
          readdirSync(join(tmpdir(), folder)).filter((name) => name.startsWith('capture-')),
        )
        const marked = execFileSync('ps', ['-eo', 'pid=,args=', 'e'], {
          encoding: 'utf8',
          maxBuffer: 64 * 1024 * 1024,
        })
        const processes = marked
          .split('\n')
          .filter((line) => line.includes(`NACRE_TEST_HOME=${home}`))
          .filter((line) => line.includes('=snapshot_'))
        return [...captures, ...processes]
      },
    })
  } finally {
    await executor.close()
    rmSync(home, { recursive: true })
  }
}

/** In a fresh shell, and in one that stays. */
const ways: readonly Partial<RequestInput>[] = [{}, { session: 'main' }]

function textOf({ stdout, stderr, notices }: Result) {
  return { stdout, stderr, notices }
}

test('functions, aliases, variables and PATH reach a command, its terminal and its sandbox', async () => {
  const rc = [
    `greet() { echo "hello $1, $GREETING"; }`,
    `alias ll='ls -l'`,
    `alias say="echo it\\'s"`,
    'shopt -s extglob',
    'export GREETING=good-day',
    'PATH=$HOME/mine:$PATH',
    'not_exported=1',
    'matches() { [[ $1 == +(a|b) ]] && echo yes; }',
  ].join('\n')
  const command =
    'greet you; say me\nalias ll; echo ${PATH%%:*}; matches ab; echo "[$not_exported]"; echo $LINENO'
  await withPerson({ rc }, async ({ run, home }) => {
    const wanted = `hello you, good-day\nit's me\nalias ll='ls -l'\n${home}/mine\nyes\n[]\n2\n`
    const { problem } = await probeSandbox()
    if (problem !== null)
      process.stdout.write(`SKIP a command in a sandbox: ${problem}
`)
    const sandboxed: Partial<RequestInput>[] = problem === null ? [{ sandbox: 'read-only' }] : []
    for (const way of [...ways, ...sandboxed]) {
      assert.equal(textOf(await run(command, way)), { stdout: wanted, stderr: '', notices: [] })
    }
    const onTerminal = await run(command, { pty: true, streams: 'merged' })
    assert.is(onTerminal.output, wanted)
  })
})

test('options of the start files change no command', async () => {
  const rc = 'shopt -s globstar extglob; set -o noclobber; kept() { :; }'
  await withPerson({ rc }, async ({ run }) => {
    const show = 'kept; shopt globstar extglob | grep -c on$; set -o | grep noclobber | cut -f 2'
    for (const way of ways) assert.is((await run(show, way)).stdout, '0\noff\n')
  })
})

test('what a command was given for its functions is gone when it runs', async () => {
  await withPerson({ rc: 'greet() { echo hi; }' }, async ({ run }) => {
    const { stdout } = await run(
      'greet; echo "[${BASH_ENV-none}]"; ls /proc/self/fd | grep -c "^9$"; bash -c "greet" 2>&1',
    )
    assert.is(stdout, 'hi\n[none]\n0\nbash: line 1: greet: command not found\n')
  })
})

test('a function brings along the functions and aliases that it uses', async () => {
  const rc = [
    `alias loud='echo LOUD'`,
    `inner() { loud "$1"; }`,
    'outer() { inner "$1"; }',
    'unused() { echo unused; }',
  ].join('\n')
  await withPerson({ rc }, async ({ run }) => {
    // An alias is replaced where a function is read, and `inner` was read before there was one.
    assert.is((await run('outer x')).stdout, 'LOUD x\n')
    assert.is((await run('f=unused; $f')).stdout, 'unused\n')
    assert.is((await run('eval "un""used"')).stdout, 'unused\n')
    assert.is((await run('declare -F | grep -c .')).stdout, '3\n')
    assert.is(
      (await run('echo $(inner a) | cat; if inner b; then unused; fi')).stdout,
      'LOUD a\nLOUD b\nunused\n',
    )
  })
})

test('hardening is over what the start files export, and the caller over both', async () => {
  const rc = 'export EDITOR=vim PAGER=less MINE=1'
  await withPerson({ rc }, async ({ run }) => {
    const show = 'echo $EDITOR $PAGER $MINE'
    for (const way of ways) assert.is((await run(show, way)).stdout, 'true cat 1\n')
    assert.is((await run(show, { hardening: false })).stdout, 'vim less 1\n')
    assert.is((await run(show, { env: { MINE: '2' } })).stdout, 'true cat 2\n')
  })
})

test('no key reaches a model, however the start files hand it on', async () => {
  const rc = 'export OPENAI_API_KEY=secret-rc; export COPY="[$ANTHROPIC_API_KEY]"; kept() { :; }'
  const environment = { ANTHROPIC_API_KEY: 'secret-env' }
  await withPerson({ rc, environment }, async ({ run }) => {
    for (const way of ways) {
      const { stdout } = await run('env; declare -p; kept', way)
      assert.not.match(stdout ?? '', 'secret')
      assert.match(stdout ?? '', 'COPY=[]')
    }
    // A person's own session keeps them.
    const own = await run('env', { origin: 'print', session: 'own', shell: 'bash' })
    assert.match(own.stdout ?? '', 'COPY=[secret-env]')
    assert.match(own.stdout ?? '', 'OPENAI_API_KEY=secret-rc')
  })
})

test("a person's or script's own command is left as it is", async () => {
  await withPerson({ rc: 'export MINE=1; greet() { echo hi; }' }, async ({ run }) => {
    const { stdout } = await run('echo "[$MINE]"; type greet 2>/dev/null', { origin: 'print' })
    assert.is(stdout, '[]\n')
  })
})

test('an alias that only asks does not reach a model', async () => {
  const rc = `alias rm='rm -i' cp='cp -iv' mv='mv --interactive' ls='ls -C'`
  await withPerson({ rc }, async ({ run }) => {
    for (const way of ways) {
      const { stdout } = await run('touch gone; rm gone; alias; ls', way)
      assert.is(stdout, `alias ls='ls -C'\n`)
    }
  })
})

test('BASH_ENV of the person is left to them', async () => {
  await withPerson({ rc: 'greet() { echo hi; }' }, async ({ run, home }) => {
    writeFileSync(join(home, 'env.sh'), 'echo mine')
    const env = { BASH_ENV: join(home, 'env.sh') }
    assert.is((await run('echo then', { env })).stdout, 'mine\nthen\n')
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
  'an early return': 'kept() { echo kept; }; return 3; echo no',
  'an agent in the background': 'sleep 100 & setsid sleep 100 & disown -a; kept() { echo kept; }',
  'an EXIT trap': `trap 'echo bye; sleep 100' EXIT; kept() { echo kept; }`,
  'a DEBUG trap and PROMPT_COMMAND': `trap 'echo dbg' DEBUG; PROMPT_COMMAND='sleep 100'; kept() { echo kept; }`,
  'set -x and set -v': 'kept() { echo kept; }; set -xv',
  'output sent elsewhere': 'exec >/dev/null 2>&1; kept() { echo kept; }',
  'a here-document in a function': `kept() { cat <<'EOF'\nkept\nEOF\n}`,
  'a history of its own': 'HISTFILE=$HOME/history; set -o history; kept() { echo kept; }',
  'noclobber and IFS': 'set -o noclobber; IFS=.; kept() { echo kept; }',
  'values of many lines': `export MANY=$'a\\nb' QUOTES="it's"; kept() { [[ $MANY == a?b && $QUOTES = it?s ]] && echo kept; }`,
}

for (const [name, rc] of Object.entries(taken)) {
  test(`an awkward rc file is taken over: ${name}`, async () => {
    await withPerson({ rc }, async ({ run, home, leftovers }) => {
      for (const way of ways) {
        assert.equal(textOf(await run('kept', way)), { stdout: 'kept\n', stderr: '', notices: [] })
      }
      assert.equal(leftovers(), [])
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
    await withPerson({ rc }, async ({ run, leftovers }) => {
      const first = await run('echo runs')
      assert.is(first.stdout, 'runs\n')
      assert.is(first.notices.length, 1)
      assert.match(first.notices[0] ?? '', /\.bashrc was not taken over: it /)
      // A server is told once, and each session when it begins.
      assert.equal((await run('echo runs')).notices, [])
      assert.equal((await run('echo runs', { session: 'main' })).notices, first.notices)
      assert.equal(leftovers(), [])
    })
  })
}

test('an rc file with a fault of syntax costs a notice and what stands behind it', async () => {
  const rc = 'kept() { echo kept; }\nif then\nlost() { echo lost; }\n'
  await withPerson({ rc }, async ({ run }) => {
    const { stdout, notices } = await run('kept; type lost 2>/dev/null || echo none')
    assert.is(stdout, 'kept\nnone\n')
    assert.is(notices.length, 1)
    assert.match(notices[0] ?? '', /\.bashrc was taken over up to a fault of its syntax; `bash -n /)
  })
  // One whose last command fails is whole.
  await withPerson({ rc: 'shopt -s extglob\n[[ a = @(b|c) ]]' }, async ({ run }) => {
    assert.equal((await run('echo runs')).notices, [])
  })
})

shellTest('zsh', 'a fault of syntax in a zshrc costs a notice', async () => {
  const shell = '/usr/bin/zsh'
  await withPerson({ zshrc: 'alias kept="echo kept"\nif then\n', shell }, async ({ run }) => {
    const { stdout, notices } = await run('kept')
    assert.is(stdout, 'kept\n')
    assert.match(notices.join('\n'), /\.zshrc was taken over up to a fault of its syntax; `zsh -n /)
  })
  // What a check alone calls wrong is right.
  const zshrc = 'typeset -A h\nh=([a]=b)\nsetopt extended_glob\n[[ a = (#i)A ]]'
  await withPerson({ zshrc, shell }, async ({ run }) => {
    assert.equal((await run('echo runs')).notices, [])
  })
})

shellTest('fish', 'a fault of syntax in a config.fish costs a notice', async () => {
  await withPerson({ fish: 'set -gx A 1\nif true\n', shell: '/usr/bin/fish' }, async ({ run }) => {
    const { notices } = await run('echo runs')
    assert.match(notices.join('\n'), /config\.fish was taken over up to a fault of its syntax/)
  })
})

test('it is captured once, by whoever needs it first, and again when the file changes', async () => {
  await withPerson({}, async ({ run, home }) => {
    const rc = (text: string) => {
      writeFileSync(join(home, '.bashrc'), `echo ran >>${home}/count; kept() { echo ${text}; }`)
    }
    const captures = () => readFileSync(join(home, 'count'), 'utf8').split('\n').length - 1
    assert.is(
      (await run('kept 2>&1 || echo none')).stdout,
      'bash: line 1: kept: command not found\nnone\n',
    )
    rc('one')
    const both = await Promise.all([run('kept'), run('kept'), run('kept', { session: 'one' })])
    assert.equal(
      both.map(({ stdout }) => stdout),
      ['one\n', 'one\n', 'one\n'],
    )
    assert.is(captures(), 1)
    rc('another')
    assert.is((await run('kept')).stdout, 'another\n')
    assert.is((await run('kept', { session: 'two' })).stdout, 'another\n')
    assert.is(captures(), 2)
  })
})

function shellTest(shell: string, name: string, check: () => Promise<void>): void {
  if (spawnSync(shell, ['-c', 'true']).status === 0) test(name, check)
  else process.stdout.write(`SKIP ${name}: ${shell} is not installed\n`)
}

const zshrc = [
  `greet() { echo "hello $1, $GREETING" }`,
  `alias loud='greet LOUD'`,
  `alias -g NUL='>/dev/null'`,
  'setopt extendedglob',
  'export GREETING=good-day',
  'path=($HOME/mine $path)',
  'autoload -Uz zmv compinit',
  '_hidden() { :; }',
].join('\n')

shellTest('zsh', "a zsh gets a zsh user's variables, PATH and simple aliases", async () => {
  const own = `${zshrc}\nalias say='echo said'`
  await withPerson({ zshrc: own, shell: '/usr/bin/zsh' }, async ({ run, home }) => {
    const command =
      'say; echo no NUL $GREETING; echo ${PATH%%:*}; whence -w loud\nno-such 2>&1 | cat; ls /proc/self/fd | grep -c "^9$"'
    const wanted = (seen: string) =>
      `said\nno NUL good-day\n${home}/mine\nloud: none\n${seen}:2: command not found: no-such\n0\n`
    const fresh = textOf(await run(command, { shell: 'zsh' }))
    assert.equal(fresh, { stdout: wanted('(eval)'), stderr: '', notices: [] })
  })
})

shellTest('zsh', "a bash gets a zsh user's variables, PATH and simple aliases", async () => {
  const rc = 'export GREETING=never; alias say="echo never"'
  const aliases = [
    `alias say="echo 'it is' so"`,
    'alias more=say',
    `alias up='print up'`,
    `alias mv='nocorrect mv'`,
    `alias two='echo a; echo b'`,
    `alias dollar='echo $HOME'`,
    `alias again='two'`,
    `alias -g G='| grep'`,
  ]
  const own = `${zshrc}\n${aliases.join('\n')}`
  await withPerson({ zshrc: own, rc, shell: '/usr/bin/zsh' }, async ({ run, home }) => {
    for (const way of ways) {
      const { stdout, notices } = await run(
        'say; more; echo $GREETING ${PATH%%:*}; type -t up two dollar again G loud greet; type -t mv',
        way,
      )
      const wanted = `it is so\nit is so\ngood-day ${home}/mine\nfile\n`
      assert.equal([stdout, notices], [wanted, []])
    }
  })
})

shellTest('fish', "a bash gets a fish user's variables, PATH and aliases", async () => {
  const fish = [
    'set -gx GREETING good-day\nset -gx PATH $HOME/mine $PATH\nset -g hidden 1',
    `alias say 'echo "it is" so'\nalias other='echo $hidden'\nfunction mine; echo mine; end`,
  ].join('\n')
  await withPerson({ fish, shell: '/usr/bin/fish' }, async ({ run, home }) => {
    for (const way of ways) {
      const { stdout, notices } = await run(
        'say; type -t other mine; echo $GREETING ${PATH%%:*} "[$hidden]"',
        way,
      )
      assert.equal([stdout, notices], [`it is so\ngood-day ${home}/mine []\n`, []])
    }
  })
})

test.run()
