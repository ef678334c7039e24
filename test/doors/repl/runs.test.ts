import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { findProgram } from '../../../lib/system/programs.ts'
import { cliCommand } from '../../helpers/cli.ts'
import { keys } from '../../helpers/keys.ts'
import { keepFishQuiet, ownShells } from '../../helpers/own-shell.ts'
import { assertScreen, type Screen, withScreen } from '../../helpers/screen.ts'

test('folds long output to the window, and says what is missing and where it is', () =>
  withScreen({ rows: 30 }, async (screen) => {
    await screen.shows('> ')
    screen.type('!seq 1 5000\r')
    await screen.shows('✓ exit 0')
    assertScreen(screen, 'preview')
  }))

test('output is live: it is there while the command runs', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
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
    withScreen({}, async (screen) => {
      await screen.shows('> ')
      // A bash that is about to start a program can miss an interrupt.
      screen.type(`!sh -c 'echo started; exec sleep 1000'\r`)
      await screen.shows('started\nrunning')
      screen.type(key)
      await screen.shows('✗ exit 130')
      screen.type('!echo still here\r')
      await screen.shows('still here\n✓ exit 0')
    }))
}

test('Ctrl-B lets a command go on, and gives a shell with the same state', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!mkfifo fifo; x=5\r')
    await screen.shows('✓ exit 0')
    screen.type('!echo started; read line < fifo; echo heard $line\r')
    await screen.shows('started\nrunning')
    screen.type(keys.ctrl('b'))
    await screen.shows(/%1 \d/)
    screen.type('/jobs\r')
    await screen.shows(/%1 {2}running/)
    screen.type('!echo "x is $x"; echo go > fifo\r')
    await screen.shows('x is 5')
    await screen.shows(/\[%1\] echo started.*✓ exit 0/)
    screen.type('/view %1\r')
    await screen.shows(/started\nheard go\n/)
    screen.type('q')
    await screen.hides('heard go')
  }))

test('/kill stops a job with all that it started', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!echo started; sleep 1000\r')
    await screen.shows('started\nrunning')
    screen.type(keys.ctrl('b'))
    await screen.shows(/%1 \d/)
    // VS Code moves the cursor where a line below it is wrapped anew.
    screen.resize(60, 24)
    await screen.shows(/stops it\n> ?\n~\/code · %1 /)
    screen.type('/kill %1\r')
    await screen.shows(/sleep 1000 {2}✗ stopped/)
  }))

test('the viewer marks what its search finds, and nothing else', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type("!printf 'one\\nOne\\n'\r")
    await screen.shows('✓ exit 0')
    screen.type('v\r')
    await screen.shows('1–2 of 2')
    screen.type('/One\r')
    await screen.holds(() => screen.raw().includes('\u001B[7mOne'))
    assert.not.match(screen.raw(), '\u001B[7mone')
    screen.type('q')
  }))

for (const shell of ownShells) {
  const env = { SHELL: findProgram(shell, process.env['PATH'] ?? '') ?? '' }
  test(`${shell} goes on where a command has removed nacre's temporary files`, () =>
    withScreen({ env, prepare: keepFishQuiet }, async (screen) => {
      await screen.shows('> ')
      screen.type('!export x=5; rm -r ../tmp/nacre-shell-*; echo removed\r')
      await screen.shows('removed\n✓ exit 0')
      screen.type('!echo after $x\r')
      await screen.shows(/removed\n✓ exit 0 .*\n! echo after \$x\nafter 5\n✓ exit 0/)
    }))
}

test('leaving with running jobs asks', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!echo started; sleep 1000\r')
    await screen.shows('started\nrunning')
    screen.type(keys.ctrl('b'))
    await screen.shows(/%1 \d/)
    screen.type('/quit\r')
    await screen.shows('Leave all the same?')
    screen.type(keys.escape)
    await screen.shows('? no')
    screen.type('!echo here\r')
    await screen.shows('here\n✓ exit 0')
  }))

test('what is typed while a command runs is not lost', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!mkfifo fifo; echo started; read line < fifo\r')
    await screen.shows('started\nrunning')
    screen.type('!echo ahead\r')
    writeFileSync(join(screen.home, 'code/fifo'), 'go\n')
    await screen.shows('ahead\n✓ exit 0')
  }))

test('a command has the environment of its person', () =>
  withScreen({ env: { EDITOR: 'my-editor' } }, async (screen) => {
    await screen.shows('> ')
    screen.type('!echo "$EDITOR $PAGER."\r')
    await screen.shows('my-editor .')
  }))

test('bash mode keeps the state of one shell', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!\r')
    await screen.shows('[BASH]')
    assert.is(screen.colorOf('bash> '), 121)
    assert.is(screen.colorOf('[BASH]'), 121)
    screen.type('mkdir sub; cd sub; greeting=hello\r')
    await screen.shows('[BASH] ~/code/sub')
    screen.type('echo "$greeting from ${PWD##*/}"\r')
    await screen.shows('hello from sub\n✓ exit 0')
    screen.type('!echo also $greeting\r')
    await screen.shows('also hello\n✓ exit 0')
    assertScreen(screen, 'bash-mode')
    screen.type('exit\r')
    await screen.hides('[BASH]')
  }))

for (const [name, typed] of [
  ['quit', 'quit\r'],
  ['Esc', keys.escape],
  ['Ctrl-D', keys.ctrl('d')],
] as const) {
  test(`${name} leaves bash mode and not nacre`, () =>
    withScreen({}, async (screen) => {
      await screen.shows('> ')
      screen.type('/bash\r')
      await screen.shows('[BASH]')
      screen.type(typed)
      await screen.hides('[BASH]')
      screen.type('!echo still here\r')
      await screen.shows('still here\n✓ exit 0')
    }))
}

test('/view opens the whole output, searches and scrolls', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!seq 1 5000\r')
    await screen.shows('✓ exit 0')
    screen.type('v\r')
    await screen.shows('4978–5000 of 5,000')
    assert.ok(screen.isAlternate)
    screen.type('?^321$\r')
    await screen.shows(/^321\n/)
    screen.type('/^4444$\r')
    await screen.shows(/^4444\n/)
    // No line is passed over, however near the next match is.
    screen.type('?^444.$\r')
    await screen.shows(/^4443\n/)
    screen.type('n')
    await screen.shows(/^4442\n/)
    screen.type('N')
    await screen.shows(/^4443\n/)
    screen.type('G')
    await screen.shows(/^4978\n[^]*4978–5000 of 5,000/)
    assertScreen(screen, 'viewer')
    // In a narrow window where one is counts more than which keys there are.
    screen.resize(40, 10)
    await screen.shows('4978–4986 of 5,000')
    screen.resize(80, 24)
    await screen.shows('4978–5000 of 5,000')
    screen.type('g')
    await screen.shows(/^1\n2\n/)
    screen.type(keys.pageDown)
    await screen.shows(/^24\n25\n/)
    screen.type('q')
    await screen.shows('✓ exit 0')
    assert.not.ok(screen.isAlternate)
  }))

test('/view finds what stands far within one line, and goes sideways from there', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type(`!echo first; head -c 300000 /dev/zero | tr '\\0' a; echo needle; echo last\r`)
    await screen.shows('✓ exit 0')
    screen.type('v\r')
    await screen.shows(/^first\na+…\nlast\n[^]*1–3 of 3/)
    screen.type('/needle\r')
    await screen.shows(/^a{26}needle\n/m)
    screen.type('\u001B[C')
    await screen.shows(/^a{6}needle\n/m)
    screen.type('\u001B[D')
    await screen.shows(/^a{26}needle\n/m)
    screen.type('q')
    await screen.shows('✓ exit 0')
  }))

test('the guard asks; an answer is remembered for exactly this command and can be taken back', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!rm -rf ~\r')
    await screen.shows('yes (this once)')
    assert.not.match(screen.text(), 'always')
    await answer(screen, 'no\r')
    await screen.shows('✗ denied')
    assert.ok(existsSync(screen.home))
    screen.type('/clear\r')
    await screen.hides('denied')
    screen.type('!rm -rf $UNKNOWN_PLACE\r')
    await screen.shows('yes (this once)')
    assertScreen(screen, 'approval')
    await answer(screen, 'always\r')
    await screen.shows('? always')
    await screen.shows('✓ exit 0')
    screen.type('/clear\r')
    await screen.hides('✓ exit 0')
    screen.type('!rm -rf $UNKNOWN_PLACE\r')
    await screen.shows('✓ exit 0')
    screen.type('/guard\r')
    await screen.shows(/1 {2}rm -rf \$UNKNOWN_PLACE .*always/)
    screen.type('/guard forget 1\r')
    await screen.shows('Forgotten.')
    screen.type('!rm -rf $UNKNOWN_PLACE\r')
    await screen.shows('yes (this once)')
    screen.type(keys.escape)
    await screen.shows('✗ denied')
  }))

/** As a person who has read the question: after a pause. */
async function answer(screen: Screen, text: string): Promise<void> {
  await delay(500)
  screen.type(text)
}

test('what was typed before the question appeared does not answer it', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!rm -rf $NOPE\r!ls\r/bash\r')
    await screen.shows('yes (this once)')
    screen.type(keys.escape)
    await screen.shows('✗ denied')
    await screen.shows('[BASH]')
  }))

test('/cd, /sandbox and /history work in both modes', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!mkdir "with space"\r')
    await screen.shows('✓ exit 0')
    screen.type('/cd nowhere\r')
    await screen.shows('No such file or directory')
    screen.type('/cd with space\r')
    await screen.shows('~/code/with space')
    screen.type('!pwd\r')
    await screen.shows('code/with space\n✓ exit 0')
    screen.type('/bash\r')
    await screen.shows('[BASH]')
    screen.type('/cd -\r')
    await screen.hides('~/code/with space')
    screen.type('/sandbox workspace\r')
    await screen.shows('gets a new shell in it')
    screen.type('/clear\r')
    await screen.hides('new shell')
    screen.type('/history with\r')
    await screen.shows('! mkdir "with space"')
  }))

test('a damaged state folder costs what is damaged and a sentence each, never the command', () =>
  withScreen({ columns: 200, prepare: damageState }, async (screen) => {
    await screen.shows(/2 lines of .*\/history cannot be read\n[^]*> /)
    screen.type('!rm -rf $NOPE\r')
    await screen.shows(/Remembered approvals cannot be read: .*\/approvals\.json: /)
    await answer(screen, 'always\r')
    await screen.shows(/This answer is not remembered: [^]*✓ exit 0/)
    screen.type('!seq 1 3000\r')
    await screen.shows(/The complete output was not kept: [^]*\n✓ exit 0/)
    assert.match(screen.all(), 'The audit line could not be written: ')
    screen.type('!echo on\r')
    await screen.shows('on\n✓ exit 0')
  }))

/** Files where folders are to be, folders where files are, and what no JSON is. */
function damageState(home: string): void {
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
    withScreen({ program: [...words, ...cliCommand()] }, async (screen) => {
      await screen.shows('> ')
      screen.type(`!x=kept; ${within}\r`)
      await screen.shows(/[✓✗] exit/)
      screen.type(`!seq 100000\r`)
      await screen.shows(new RegExp(`\n100000\nThe complete output was not kept: ${code}`))
      await screen.shows(/✓ exit 0[^]*\n> /)
      screen.type(`!sh -c 'read -r y; echo "got $y"'; echo $x\r`)
      await screen.shows(/echo \$x\n+running/)
      screen.type('it\r')
      await screen.shows('got it\nkept\n✓ exit 0')
      screen.type('v\r')
      await screen.shows('1–3 of 3')
      screen.type('q/quit\r')
      assert.is((await screen.exited).exitCode, 0)
    }),
  )
}

test('a command that took long and ended unseen rings, and says how it ended', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!sleep 10.1; (exit 3)\r')
    await screen.shows(/^running · /m)
    // The terminal tells that its window has lost the focus.
    screen.type('\u001B[O')
    await screen.shows('✗ exit 3')
    assert.match(
      screen.raw(),
      /\u0007\u001B\]9;sleep 10\.1; \(exit 3\): ✗ exit 3 · 10[^\u0007]*\u0007/,
    )
  }))

test('every run is in the audit as one of the repl', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!echo audited\r')
    await screen.shows('✓ exit 0')
    const folder = join(screen.home, 'state/nacre')
    assert.ok(readdirSync(folder).includes('audit.jsonl'))
    const line = readFileSync(join(folder, 'audit.jsonl'), 'utf8').trim()
    assert.match(line, '"origin":"repl"')
    assert.match(line, '"command":"echo audited"')
  }))

test.run()
