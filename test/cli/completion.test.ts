import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { chmodSync } from 'node:fs'
import { cliCommand } from '../helpers/cli.ts'
import { createHome, type Home, withHome } from '../helpers/home.ts'
import { runCli } from '../helpers/run-cli.ts'
import { quoteWord } from '../../lib/protocol/words.ts'
import { runProgram } from '../helpers/run-program.ts'

/** A line up to the cursor, and some words that must and must not be offered there. */
const lines: [words: string[], offered: string[], not: string[]][] = [
  [
    ['nacre', ''],
    ['artifact', 'guard', 'doctor', 'completion'],
    ['list', '--tail'],
  ],
  [['nacre', 'gu'], ['guard'], ['doctor']],
  [['nacre', '--sand'], ['--sandbox'], ['--shell']],
  [['nacre', '--output-format', ''], ['text', 'json', 'stream-json'], ['artifact']],
  [['nacre', '--sandbox', 'w'], ['workspace'], ['off']],
  [
    ['nacre', 'artifact', ''],
    ['list', 'show', 'grep', 'path', 'prune'],
    ['bash', 'jsonl'],
  ],
  [['nacre', 'artifact', 'show', '--ta'], ['--tail'], ['--head']],
  [['nacre', 'guard', '--origin', ''], ['agent', 'mcp', 'repl'], ['text']],
  [['nacre', 'mcp', '--sand'], ['--sandbox'], ['--tail']],
  [['nacre', 'job', ''], ['list', 'read', 'kill'], ['show-all']],
  [['nacre', 'completion', ''], ['bash', 'zsh', 'fish'], ['list']],
  [
    ['nacre', 'help', ''],
    ['job', 'guard'],
    ['help', 'list'],
  ],
]

const scripts = new Map<string, string>()

async function script(shell: string): Promise<string> {
  const made = scripts.get(shell)
  if (made !== undefined) return made
  const { status, stdout } = await runCli(['completion', shell])
  assert.is(status, 0)
  scripts.set(shell, stdout.toString())
  return stdout.toString()
}

const isInstalled = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0

type Environment = Record<string, string | undefined>

/** An environment with a `nacre` on its PATH. */
function withProgram({ env, dir, write }: Home): Environment {
  const program = `${dir}/bin/nacre`
  write(program, `#!/bin/sh\nexec ${cliCommand().map(quoteWord).join(' ')} "$@"\n`)
  chmodSync(program, 0o755)
  return { ...env, PATH: `${dir}/bin:${process.env['PATH'] ?? ''}` }
}

async function leaveJob({ env }: Home): Promise<string> {
  const started = await runCli(['-c', 'true', '--background', '--quiet'], { env })
  const job = started.stdout.toString().trim()
  assert.is((await runCli(['job', 'wait', job], { env })).status, 0)
  return job
}

/** Tests what a shell really offers; `ask` gives the offered words of a line. */
function testShell(
  shell: string,
  ask: (words: string[], script: string, env: Environment) => Promise<string[]>,
) {
  if (!isInstalled(shell)) {
    console.log(`SKIP completion in ${shell}: it is not installed`)
    return
  }
  for (const [words, offered, not] of lines) {
    test(
      `${shell}: ${words.join(' ')}`,
      withHome(async (home) => {
        const found = await ask(words, await script(shell), withProgram(home))
        for (const word of offered)
          assert.ok(found.includes(word), `${word} is among ${found.join()}`)
        for (const word of not)
          assert.not(found.includes(word), `${word} is not among ${found.join()}`)
      }),
    )
  }

  // bash does so by itself where nothing else is offered.
  if (shell !== 'bash') {
    test(
      `${shell}: the file of a script`,
      withHome(async (home) => {
        const found = await ask(['nacre', '/bin/bas'], await script(shell), withProgram(home))
        assert.ok(
          found.some((word) => /^(?:\/bin\/)?bash$/.test(word)),
          found.join(),
        )
      }),
    )
  }

  test(
    `${shell}: the ids of the jobs there are now`,
    withHome(async (home) => {
      const env = withProgram(home)
      const job = await leaveJob(home)
      const text = await script(shell)
      const found = await ask(['nacre', 'job', 'read', ''], text, env)
      assert.ok(found.includes(job), `${job} is among ${found.join()}`)
      const actions = await ask(['nacre', 'job', ''], text, env)
      assert.not(actions.includes(job), 'an id is offered behind an action only')
      const running = await ask(['nacre', 'job', 'kill', ''], text, env)
      assert.not(running.includes(job), 'a job that has ended cannot be killed')
    }),
  )
}

testShell('bash', async (words, text, env) => {
  const program = `${text}
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _nacre
    printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = await runProgram('bash', ['--norc', '-c', program, 'bash', ...words], {
    env,
  })
  assert.is(stderr.toString(), '')
  return stdout.toString().split('\n')
})

testShell('fish', async (words, text, env) => {
  const program = `${text}\ncomplete -C ${JSON.stringify(words.join(' '))}`
  const { stdout, stderr } = await runProgram('fish', ['--no-config', '-c', program], { env })
  assert.is(stderr.toString(), '')
  return stdout
    .toString()
    .split('\n')
    .map((line) => line.split('\t')[0] ?? '')
})

/** zsh completes in its line editor only: another zsh types the line on a terminal of its own. */
const zshDriver = `
zmodload zsh/zpty
zpty driven zsh -f -i
zpty -w driven 'source $NACRE_SETUP'
while zpty -r driven line; do [[ $line == *ready* ]] && break; done
zpty -w -n driven "$NACRE_LINE"$'\\t'
while zpty -r driven line; do print -rn -- $line; done
`

/** The driven zsh tells the matches, between two marks, and ends. */
const zshSetup = `
PROMPT=
autoload -U compinit; compinit -D -u
source $NACRE_SCRIPT
bindkey '^I' complete-word
mark() { print -r -- '<mark>' }
compprefuncs=(mark)
comppostfuncs=(mark exit)
compadd() {
  if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then
    builtin compadd "$@"
    return
  fi
  local -a hits
  builtin compadd -A hits "$@"
  (( $#hits )) && print -rl -- $hits
}
print ready
`

testShell('zsh', async (words, text, env) => {
  const home = createHome()
  try {
    const [setup, completion] = [join(home.dir, 'setup.zsh'), join(home.dir, 'completion.zsh')]
    home.write(setup, zshSetup)
    home.write(completion, text)
    const { stdout } = await runProgram('zsh', ['-f', '-c', zshDriver], {
      env: {
        ...env,
        ZDOTDIR: home.dir,
        TERM: 'dumb',
        NACRE_SETUP: setup,
        NACRE_SCRIPT: completion,
        NACRE_LINE: words.join(' '),
      },
      cwd: home.dir,
    })
    return (stdout.toString().split('<mark>')[1] ?? '').split(/[\r\n]+/)
  } finally {
    home.remove()
  }
})

test('a shell that there is none for', async () => {
  const { status, stderr } = await runCli(['completion', 'bsh'])
  assert.is(status, 125)
  assert.match(stderr.toString(), /Unknown action `bsh`; did you mean `bash`\?/)
  assert.is((await runCli(['completion'])).status, 125)
})

test.run()
