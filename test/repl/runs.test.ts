import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { findProgram } from '../../lib/system/look.ts'
import { cliCommand } from '../helpers/cli.ts'
import { keys } from '../helpers/keys.ts'
import { keepFishQuiet, ownShells } from '../helpers/own-shell.ts'
import { assertScreen, type Screen, atPrompt, withScreen } from '../helpers/screen.ts'

test('folds long output to the window, and says what is missing and where it is', () =>
  atPrompt({ rows: 30 }, async (screen) => {
    await screen.answers('!seq 1 5000\r', '✓ exit 0')
    await assertScreen(screen, 'preview')
  }))

test('output is live: it is there while the command runs', () =>
  atPrompt({}, async (screen) => {
    screen.type('!echo before; read line < fifo; echo after $line\r'.replace('!', '!mkfifo fifo; '))
    await screen.shows(/before\nrunning · .* · Ctrl-C stops · Ctrl-B background/)
    writeFileSync(join(screen.home, 'code/fifo'), 'go\n')
    await screen.shows('before\nafter go\n✓ exit 0')
  }))

for (const [name, key] of [
  ['Esc', keys.escape],
  ['Ctrl-C', keys.ctrl('c')],
] as const) {
  test(`${name} stops the command and not nacre`, () =>
    atPrompt({}, async (screen) => {
      // A bash that is about to start a program can miss an interrupt.
      await screen.answers(`!sh -c 'echo started; exec sleep 1000'\r`, 'started\nrunning')
      await screen.answers(key, '✗ exit 130')
      await screen.answers('!echo still here\r', 'still here\n✓ exit 0')
    }))
}

/** Reads lines, and counts the interrupts that it hears. */
const countsInterrupts = `let n = 0; process.on("SIGINT", () => console.log("caught", ++n)); process.stdin.on("data", (line) => console.log("heard " + line)); console.log("ready")`

test('Ctrl-C is for the program, however often, and what is typed next is too', () =>
  atPrompt({ columns: 120 }, async (screen) => {
    await screen.answers(`!node -e '${countsInterrupts}'\r`, 'ready\nrunning')
    for (let count = 1; count <= 5; count++) {
      await screen.answers(keys.ctrl('c'), `caught ${count}\n`)
    }
    await screen.answers('rm everything\r', 'heard rm everything')
    await screen.shows('Ctrl-B, /kill ends it')
    await screen.answers(keys.ctrl('b'), /%1 \d/)
    await screen.answers('/kill\r', /✗ stopped/)
  }))

test('Ctrl-B lets a command go on, and gives a shell with the same exported variables', () =>
  atPrompt({}, async (screen) => {
    await screen.answers('!mkfifo fifo; export x=5\r', '✓ exit 0')
    await screen.answers('!echo started; read line < fifo; echo heard $line\r', 'started\nrunning')
    await screen.answers(keys.ctrl('b'), /%1 \d/)
    await screen.answers('/jobs\r', /%1 {2}running/)
    await screen.answers('!echo "x is $x"; echo go > fifo\r', 'x is 5')
    await screen.shows(/\[%1\] echo started.*✓ exit 0/)
    await screen.answers('/view %1\r', /started\nheard go\n/)
    screen.type('q')
    await screen.hides('heard go')
  }))

test('/kill stops a job with all that it started', () =>
  atPrompt({}, async (screen) => {
    await screen.answers('!echo started; sleep 1000\r', 'started\nrunning')
    await screen.answers(keys.ctrl('b'), /%1 \d/)
    // VS Code moves the cursor where a line below it is wrapped anew.
    screen.resize(60, 24)
    await screen.shows(/stops it\n> ?\n~\/code · %1 /)
    await screen.answers('/kill %1\r', /sleep 1000 {2}✗ stopped/)
  }))

test('the viewer marks what its search finds, and nothing else', () =>
  atPrompt({}, async (screen) => {
    await screen.answers("!printf 'one\\nOne\\n'\r", '✓ exit 0')
    await screen.answers('v\r', '1–2 of 2')
    screen.type('/One\r')
    await screen.holds(() => screen.raw().includes('\u001B[7mOne'))
    assert.not.match(screen.raw(), '\u001B[7mone')
    screen.type('q')
  }))

for (const shell of ownShells) {
  const env = { SHELL: findProgram(shell, process.env['PATH'] ?? '') ?? '' }
  test(`${shell} goes on where a command has removed nacre's temporary files`, () =>
    atPrompt({ env, prepare: keepFishQuiet }, async (screen) => {
      screen.type('!export x=5; rm -r ../tmp/nacre-shell-*; echo removed\r')
      await screen.shows('removed\n✓ exit 0')
      screen.type('!echo after $x\r')
      await screen.shows(/removed\n✓ exit 0 .*\n! echo after \$x\nafter 5\n✓ exit 0/)
    }))
}

test('leaving with running jobs asks', () =>
  atPrompt({}, async (screen) => {
    await screen.answers('!echo started; sleep 1000\r', 'started\nrunning')
    await screen.answers(keys.ctrl('b'), /%1 \d/)
    await screen.answers('/quit\r', 'Leave all the same?')
    await screen.answers(keys.escape, '? no')
    await screen.answers('!echo here\r', 'here\n✓ exit 0')
  }))

test('what is typed while a command runs is not lost', () =>
  atPrompt({}, async (screen) => {
    await screen.answers('!mkfifo fifo; echo started; read line < fifo\r', 'started\nrunning')
    screen.type('!echo ahead\r')
    writeFileSync(join(screen.home, 'code/fifo'), 'go\n')
    await screen.shows('ahead\n✓ exit 0')
  }))

test('a command has the environment of its person', () =>
  atPrompt({ env: { EDITOR: 'my-editor' } }, async (screen) => {
    await screen.answers('!echo "$EDITOR $PAGER."\r', 'my-editor .')
  }))

test('bash mode keeps the state of one shell', () =>
  atPrompt({}, async (screen) => {
    await screen.answers('!\r', '[BASH]')
    assert.is(screen.colorOf('bash> '), 121)
    assert.is(screen.colorOf('[BASH]'), 121)
    await screen.answers('mkdir sub; cd sub; greeting=hello\r', '[BASH] ~/code/sub')
    await screen.answers('echo "$greeting from ${PWD##*/}"\r', 'hello from sub\n✓ exit 0')
    await screen.answers('!echo also $greeting\r', 'also hello\n✓ exit 0')
    await assertScreen(screen, 'bash-mode')
    screen.type('exit\r')
    await screen.hides('[BASH]')
  }))

for (const [name, typed] of [
  ['quit', 'quit\r'],
  ['Esc', keys.escape],
  ['Ctrl-D', keys.ctrl('d')],
] as const) {
  test(`${name} leaves bash mode and not nacre`, () =>
    atPrompt({}, async (screen) => {
      await screen.answers('/bash\r', '[BASH]')
      screen.type(typed)
      await screen.hides('[BASH]')
      await screen.answers('!echo still here\r', 'still here\n✓ exit 0')
    }))
}

test('/view opens the whole output, searches and scrolls', () =>
  atPrompt({}, async (screen) => {
    await screen.answers('!seq 1 5000\r', '✓ exit 0')
    await screen.answers('v\r', '4978–5000 of 5,000')
    assert.ok(screen.isAlternate)
    await screen.answers('?^321$\r', /^321\n/)
    await screen.answers('/^4444$\r', /^4444\n/)
    // No line is passed over, however near the next match is.
    await screen.answers('?^444.$\r', /^4443\n/)
    await screen.answers('n', /^4442\n/)
    await screen.answers('N', /^4443\n/)
    await screen.answers('G', /^4978\n[^]*4978–5000 of 5,000/)
    await assertScreen(screen, 'viewer')
    // In a narrow window where one is counts more than which keys there are.
    screen.resize(40, 10)
    await screen.shows('4978–4986 of 5,000')
    screen.resize(80, 24)
    await screen.shows('4978–5000 of 5,000')
    await screen.answers('g', /^1\n2\n/)
    await screen.answers(keys.pageDown, /^24\n25\n/)
    await screen.answers('q', '✓ exit 0')
    assert.not.ok(screen.isAlternate)
  }))

test('/view finds what stands far within one line, and goes sideways from there', () =>
  atPrompt({}, async (screen) => {
    screen.type(`!echo first; head -c 300000 /dev/zero | tr '\\0' a; echo needle; echo last\r`)
    await screen.shows('✓ exit 0')
    await screen.answers('v\r', /^first\na+…\nlast\n[^]*1–3 of 3/)
    await screen.answers('/needle\r', /^a{26}needle\n/m)
    await screen.answers('\u001B[C', /^a{6}needle\n/m)
    await screen.answers('\u001B[D', /^a{26}needle\n/m)
    await screen.answers('q', '✓ exit 0')
  }))

/** Asks about `true a b`, and what goes on to be asked about. */
function prepareRule(home: string): void {
  mkdirSync(join(home, 'config/nacre'), { recursive: true })
  const guard = { rules: [{ match: 'true a', decision: 'ask' }] }
  writeFileSync(join(home, 'config/nacre/config.json'), JSON.stringify({ guard }))
}

test('the guard asks; what is remembered is shown, holds for all that begins so, and can be taken back', () =>
  atPrompt({ columns: 120, prepare: prepareRule }, async (screen) => {
    await screen.answers('!rm -rf ~\r', 'yes (this once) · no')
    await answer(screen, 'no\r')
    await screen.shows('✗ denied')
    assert.ok(existsSync(screen.home))
    await screen.answers('!true a /; true a ~\r', 'yes (this once) · no')
    await answer(screen, 'no\r')
    screen.type('/clear\r')
    await screen.hides('denied')
    await screen.answers('!true a b\r', 'always (allows `true a b …` from now on)')
    await answer(screen, 'always\r')
    await screen.shows('? always')
    await screen.shows('✓ exit 0')
    screen.type('/clear\r')
    await screen.hides('✓ exit 0')
    await screen.answers('!true a b\r', '✓ exit 0')
    screen.type('/clear\r')
    await screen.hides('✓ exit 0')
    await screen.answers(
      '!true a b; cd ..; true a c\r',
      'always (allows `true a b …`, `true a c …`',
    )
    await screen.answers(keys.escape, '✗ denied')
    await screen.answers('/guard\r', '1  true a b …')
    await screen.answers('/guard forget 1\r', 'Forgotten.')
    await screen.answers('!true a b\r', 'yes (this once)')
    await screen.answers(keys.escape, '✗ denied')
  }))

test('an answer for good is not offered for what is not known before the run', () =>
  atPrompt({}, async (screen) => {
    screen.type('/clear\r')
    await screen.hides('/help')
    await screen.answers('!rm -rf $UNKNOWN_PLACE\r', 'yes (this once)')
    await assertScreen(screen, 'approval')
    await screen.answers(keys.escape, '✗ denied')
  }))

/** As a person who has read the question: after a pause. */
async function answer(screen: Screen, text: string): Promise<void> {
  await delay(500)
  screen.type(text)
}

test('what was typed before the question appeared does not answer it', () =>
  atPrompt({}, async (screen) => {
    await screen.answers('!rm -rf $NOPE\r!ls\r/bash\r', 'yes (this once)')
    await screen.answers(keys.escape, '✗ denied')
    await screen.shows('[BASH]')
  }))

test('/cd, /sandbox and /history work in both modes', () =>
  atPrompt({}, async (screen) => {
    await screen.answers('!mkdir "with space"\r', '✓ exit 0')
    await screen.answers('/cd nowhere\r', 'No such file or directory')
    await screen.answers('/cd with space\r', '~/code/with space')
    await screen.answers('!pwd\r', 'code/with space\n✓ exit 0')
    await screen.answers('/bash\r', '[BASH]')
    screen.type('/cd -\r')
    await screen.hides('~/code/with space')
    await screen.answers('/sandbox workspace\r', 'gets a new shell in it')
    screen.type('/clear\r')
    await screen.hides('new shell')
    await screen.answers('/history with\r', '! mkdir "with space"')
  }))

test('a pipe in the place of .git/HEAD holds up no prompt', () => {
  const prepare = (home: string) => {
    mkdirSync(join(home, 'code/.git'))
    spawnSync('mkfifo', [join(home, 'code/.git/HEAD')])
  }
  return atPrompt({ prepare }, (screen) => screen.answers('!echo on\r', 'on\n✓ exit 0'))
})

test('a damaged state folder costs what is damaged and a sentence each, never the command', () =>
  withScreen({ columns: 200, prepare: damageState }, async (screen) => {
    await screen.shows(/2 lines of .*\/history cannot be read\n[^]*> /)
    screen.type('!true a b\r')
    await screen.shows(/Remembered approvals cannot be read: .*\/approvals\.json: /)
    await answer(screen, 'always\r')
    await screen.shows(/This answer is not remembered: [^]*✓ exit 0/)
    await screen.answers('!seq 1 3000\r', /The complete output was not kept: [^]*\n✓ exit 0/)
    assert.match(screen.all(), 'The audit line could not be written: ')
    await screen.answers('!echo on\r', 'on\n✓ exit 0')
  }))

/** Files where folders are to be, folders where files are, and what no JSON is. */
function damageState(home: string): void {
  prepareRule(home)
  const state = join(home, 'state/nacre')
  mkdirSync(join(state, 'audit.jsonl'), { recursive: true })
  writeFileSync(join(state, 'artifacts'), '')
  writeFileSync(join(state, 'history'), 'no JSON\n{"kind":\n')
  writeFileSync(join(state, 'approvals.json'), '{"x')
}

/** How the disk of the home is (Deno keeps some megabytes there too), and what is told of a long output then. */
const disks = {
  full: ['true', 'cat /dev/zero > fill', '(?:ENOSPC|No space left)'],
  'read-only': ['mount -o remount,ro "$HOME"', 'true', 'EROFS'],
} as const
const mayMount = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0

for (const [disk, [before, within, code]] of Object.entries(disks)) {
  const name = `on a disk that is ${disk} commands run, and a sentence tells what is not kept`
  if (!mayMount) {
    console.log(`SKIP ${name}: nothing can be mounted here`)
    continue
  }
  const mount =
    'mount -t tmpfs -o size=32m none "$HOME" && mkdir "$HOME/code" "$HOME/tmp" && cd "$HOME/code"'
  const words = ['unshare', '-m', 'sh', '-c', `${mount} && ${before} && exec "$@"`, 'sh']
  test(name, () =>
    atPrompt({ program: [...words, ...cliCommand()] }, async (screen) => {
      await screen.answers(`!x=kept; ${within}\r`, /[✓✗] exit/)
      screen.type(`!seq 100000\r`)
      await screen.shows(new RegExp(`\n100000\nThe complete output was not kept: ${code}`))
      await screen.shows(/✓ exit 0[^]*\n> /)
      await screen.answers(`!sh -c 'read -r y; echo "got $y"'; echo $x\r`, /echo \$x\n+running/)
      await screen.answers('it\r', 'got it\nkept\n✓ exit 0')
      await screen.answers('v\r', '1–3 of 3')
      screen.type('q/quit\r')
      assert.is((await screen.exited).exitCode, 0)
    }),
  )
}

const fill = 'cat /dev/zero > ../tmp/fill 2>/dev/null; '
for (const shell of ownShells) {
  for (const [since, first] of [
    ['from the start', fill],
    ['later', ''],
  ] as const) {
    const name = `df and rm run in ${shell} where the folder for temporary files is full ${since}`
    if (!mayMount) {
      console.log(`SKIP ${name}: nothing can be mounted here`)
      continue
    }
    const mount = `mount -t tmpfs -o size=1m none "$HOME/tmp"; ${first} exec "$@"`
    const program = ['unshare', '-m', 'sh', '-c', mount, 'sh', ...cliCommand()]
    const SHELL = findProgram(shell, process.env['PATH'] ?? '') ?? ''
    // Its own temporary file is beside the one that it edits.
    const env = { SHELL, EDITOR: 'sed -i s/a/edited/' }
    test(name, () =>
      withScreen({ env, program, prepare: keepFishQuiet }, async (screen) => {
        await screen.shows('~/code')
        // What is free once the shell has read its command fills up with the second one.
        for (const word of ['once', 'twice']) {
          await screen.answers(`!${fill}${fill}echo ${word}\r`, `${word}\n✓ exit 0`)
        }
        await screen.answers('!df ../tmp | grep -o 100%\r', '100%\n✓ exit 0')
        await screen.answers(`!echo a${keys.ctrl('x')}${keys.ctrl('e')}`, /! sed .*\n✓ exit 0/)
        await screen.answers('\r', 'edited\n✓ exit 0')
        await screen.answers('!rm ../tmp/fill; echo removed\r', 'removed\n✓ exit 0')
      }),
    )
  }
}

test('a command that took long and ended unseen rings, and says how it ended', () =>
  atPrompt({}, async (screen) => {
    await screen.answers('!sleep 10.1; (exit 3)\r', /^running · /m)
    await screen.shows('✗ exit 3')
    const told = /\u0007\u001B\]9;sleep 10\.1; \(exit 3\): ✗ exit 3 · \d\d\.\d s\u0007/
    await screen.holds(() => told.test(screen.raw()))
  }))

test('every run is in the audit as one of the repl', () =>
  atPrompt({}, async (screen) => {
    await screen.answers('!echo audited\r', '✓ exit 0')
    const folder = join(screen.home, 'state/nacre')
    assert.ok(readdirSync(folder).includes('audit.jsonl'))
    const line = readFileSync(join(folder, 'audit.jsonl'), 'utf8').trim()
    assert.match(line, '"origin":"repl"')
    assert.match(line, '"command":"echo audited"')
  }))

test.run()
