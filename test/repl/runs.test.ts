import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { keys } from '../helpers/keys.ts'
import { assertScreen, withScreen } from '../helpers/screen.ts'

test('shows the last 20 lines, what is missing and the artifact', () =>
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
    await screen.shows(/before\nrunning · .* · 1 line · 6 B · Esc stops · Ctrl-B background/)
    const { writeFileSync } = await import('node:fs')
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
      screen.type('!echo started; exec sleep 1000\r')
      await screen.shows('started\nrunning')
      screen.type(key)
      await screen.shows('✗ stopped')
      screen.type('!echo still here\r')
      await screen.shows('still here\n✓ exit 0')
    }))
}

test('Ctrl-B sends a command to the background; its end is told', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!mkfifo fifo; echo started; read line < fifo\r')
    await screen.shows('started\nrunning')
    screen.type(keys.ctrl('b'))
    await screen.shows('1 job')
    screen.type('/jobs\r')
    await screen.shows(/run_[a-z2-7]{20}  running/)
    screen.type('!echo go > fifo\r')
    await screen.shows(/\[run_[a-z2-7]{20}\] mkfifo fifo.*✓ exit 0/)
    await screen.hides('1 job')
  }))

test('/kill stops a job with all that it started', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!echo started; sleep 1000\r')
    await screen.shows('started\nrunning')
    screen.type(keys.ctrl('b'))
    await screen.shows('1 job')
    screen.type('/kill\r')
    await screen.shows(/sleep 1000  ✗ stopped/)
  }))

test('what is typed while a command runs is not lost', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!mkfifo fifo; echo started; read line < fifo\r')
    await screen.shows('started\nrunning')
    screen.type('!echo ahead\r')
    const { writeFileSync } = await import('node:fs')
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
  ['Ctrl-C', keys.ctrl('c')],
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
    await screen.shows('1–23 of')
    assert.ok(screen.isAlternate)
    screen.type('/^321\r')
    await screen.shows(/^321\n/)
    screen.type('/4444\r')
    await screen.shows(/^4444\n/)
    screen.type('G')
    await screen.shows('4978–5000 of 5000')
    assertScreen(screen, 'viewer')
    screen.type('g')
    await screen.shows(/^1\n2\n/)
    screen.type(keys.pageDown)
    await screen.shows(/^24\n25\n/)
    screen.type('q')
    await screen.shows('✓ exit 0')
    assert.not.ok(screen.isAlternate)
  }))

test('the guard asks; an answer is remembered for exactly this command and can be forgotten', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!rm -rf ~\r')
    await screen.shows('[y] once')
    screen.type('n')
    await screen.shows('✗ denied')
    assert.ok(existsSync(screen.home))
    screen.type('/clear\r')
    await screen.hides('denied')
    screen.type('!rm -rf $UNKNOWN_PLACE\r')
    await screen.shows('[y] once')
    assertScreen(screen, 'approval')
    screen.type('a')
    await screen.shows('✓ exit 0')
    screen.type('/clear\r')
    await screen.hides('✓ exit 0')
    screen.type('!rm -rf $UNKNOWN_PLACE\r')
    await screen.shows('✓ exit 0')
    screen.type('/guard\r')
    await screen.shows(/1  rm -rf \$UNKNOWN_PLACE .*always/)
    screen.type('/guard forget 1\r')
    await screen.shows('Forgotten.')
    screen.type('!rm -rf $UNKNOWN_PLACE\r')
    await screen.shows('[y] once')
    screen.type(keys.escape)
    await screen.shows('✗ denied')
  }))

test('/cd, /sandbox and /history', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!echo > file; ln -s loop loop\r')
    await screen.shows('✓ exit 0')
    screen.type('/cd file/below\r')
    await screen.shows('Not a directory')
    screen.type('!cat \t')
    await screen.shows('→ file')
    screen.type(keys.escape)
    await screen.hides('→ file')
    screen.type(`${keys.ctrl('u')}/cd /usr/lib\r`)
    await screen.shows(/^\/usr\/lib /m)
    screen.type('!pwd\r')
    await screen.shows('/usr/lib\n✓ exit 0')
    screen.type('/cd -\r')
    await screen.shows('~/code')
    screen.type('/sandbox read-only\r')
    await screen.shows('sandbox read-only')
    screen.type('/clear\r')
    await screen.hides('✓')
    screen.type('/history usr\r')
    await screen.shows('/cd /usr/lib')
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
