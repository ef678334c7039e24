import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { keys } from '../../../helpers/keys.ts'
import { type Screen, withScreen } from '../../../helpers/screen.ts'

const program = (name: string) => join(import.meta.dirname, '../../../../fixtures/programs', name)

/** A test that needs programs of the system. */
function testWith(programs: string[], name: string, run: () => Promise<void>): void {
  const missing = programs.filter((wanted) => !findProgram(wanted))
  if (missing.length === 0) test(name, run)
  else console.log(`SKIP ${name}: ${missing.join(', ')} is not installed`)
}

function findProgram(name: string): string | undefined {
  const folders = `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`.split(':')
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
}

testWith(['vim'], 'vim edits a file; arrows, Esc and the size of the window reach it', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!vim -u NONE -N note.txt\r')
    await screen.shows('"note.txt" [New')
    assert.ok(screen.isAlternate)
    screen.type('ione two')
    await screen.shows('one two')
    screen.type(keys.escape)
    await screen.hides('-- INSERT --')
    screen.type('0iX')
    await screen.shows('Xone two')
    screen.resize(100, 30)
    await screen.shows(/(?:~ *\n){27}/)
    screen.type(`${keys.escape}:set columns? lines?\r`)
    await screen.shows(/columns=100[\s\S]*lines=30/)
    screen.type('\r:wq\r')
    await screen.shows('✓ exit 0')
    assert.not.ok(screen.isAlternate)
    assert.is(readFileSync(join(screen.home, 'code/note.txt'), 'utf8'), 'Xone two\n')
  }),
)

testWith(['less'], 'less scrolls with the arrow keys of the mode that it asks for', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!seq 1 1000 | less\r')
    await screen.shows(/^1\n2\n/)
    assert.ok(screen.modes.applicationCursorKeysMode)
    screen.type('\u001BOB')
    await screen.shows(/^2\n3\n/)
    screen.type('q')
    await screen.shows('✓ exit 0')
    assert.not.ok(screen.modes.applicationCursorKeysMode)
  }),
)

testWith(['top'], 'top draws itself and ends with q', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!top\r')
    await screen.shows(/PID +USER/)
    screen.type('q')
    await screen.shows('✓ exit 0')
  }),
)

testWith(['python3'], 'python talks', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!python3\r')
    await screen.shows('>>>')
    screen.type('print(6 * 7)\r')
    await screen.shows('\n42\n')
    screen.type(keys.ctrl('d'))
    await screen.shows('✓ exit 0')
    assert.match(screen.text(), '>>> print(6 * 7)\n42\n', 'what it wrote stays on the screen')
  }),
)

testWith(['git', 'vim'], 'git commit opens its editor', () =>
  withScreen(
    {
      env: { EDITOR: 'vim -u NONE -N', GIT_CONFIG_GLOBAL: '/dev/null' },
      prepare: (home) => makeCommit(join(home, 'code')),
    },
    async (screen) => {
      await screen.shows('> ')
      screen.type('!git commit\r')
      await screen.shows('Changes to be committed')
      screen.type(`iSubject line${keys.escape}`)
      await screen.shows('Subject line')
      screen.type(':wq\r')
      await screen.shows('✓ exit 0')
      const cwd = join(screen.home, 'code')
      const subject = execFileSync('git', ['log', '-1', '--format=%s'], { cwd, encoding: 'utf8' })
      assert.is(subject, 'Subject line\n')
    },
  ),
)

function makeCommit(cwd: string): void {
  const git = (...args: string[]) => execFileSync('git', args, { cwd })
  git('init', '-q')
  git('config', 'user.name', 'A Person')
  git('config', 'user.email', 'person@example.org')
  writeFileSync(join(cwd, 'file'), 'content\n')
  git('add', 'file')
}

test('a program that asks is answered in its place', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type(`!${program('installer.sh')}\r`)
    await screen.shows('Continue? [y/n]')
    screen.type('y\r')
    await screen.shows('Where to?')
    screen.type('/opt\r')
    await screen.shows('✓ exit 0')
    assert.match(screen.text(), 'installed in /opt')
  }))

test('a password is not echoed, and nothing keeps it', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type(`!${program('ask-password.sh')}\r`)
    await screen.shows('a secret is not shown')
    screen.type('hunter2secret\r')
    await screen.shows('✓ exit 0')
    assert.match(screen.text(), '13 characters')
    assert.not.match(screen.raw(), 'hunter2')
    assert.is(findInFiles(screen, 'hunter2'), '')
  }))

/** Files below the test's folder that hold a text. */
function findInFiles({ home }: Screen, text: string): string {
  const files = readdirSync(home, { recursive: true, withFileTypes: true })
  return files
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(text))
    .join()
}

test('keys, mouse, paste and kitty sequences reach the program as it has asked for them', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type(`!node ${program('show-keys.mjs')}\r`)
    await screen.shows('ready')
    assert.is(screen.modes.mouseTrackingMode, 'any')
    assert.ok(screen.modes.bracketedPasteMode)
    assert.match(screen.raw(), '\u001B[>5u')
    for (const [typed, shown] of [
      ['\u001BOP', '"\\u001bOP"'],
      ['\u001B[1;5C', '"\\u001b[1;5C"'],
      ['\u001Bx', '"\\u001bx"'],
      ['\u001B[<0;12;5M', '"\\u001b[<0;12;5M"'],
      [keys.paste('a\nb'), '"\\u001b[200~a\\nb\\u001b[201~"'],
      ['\u001B[97;5u', '"\\u001b[97;5u"'],
      [keys.ctrl('b'), '"\\u0002"'],
    ] as const) {
      screen.type(typed)
      await screen.shows(shown)
    }
    screen.type('q')
    await screen.shows('✓ exit 0')
    assert.is(screen.modes.mouseTrackingMode, 'none')
    assert.match(screen.raw().slice(screen.raw().lastIndexOf('\u001B[>5u')), '\u001B[<1u')
  }))

test('a paste is typed to a program that has not asked to be told of pastes', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type(`!read -r a; read -r b; printf '%q+%q\\n' "$a" "$b"\r`)
    await screen.shows('Ctrl-B background')
    screen.type(keys.paste('one\ntwo'))
    screen.type('\r')
    await screen.shows('\none+two\n')
  }))

test('the answers of the terminal go back to the program', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type(
      String.raw`!printf 'ab\033[6n'; IFS= read -rs -d R where; printf '%q\n' "$where"` + '\r',
    )
    await screen.shows(`ab$'\\E[1;3'`)
  }))

testWith(['vim'], 'Ctrl-] leaves a program on the whole screen; /attach shows it again', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!vim -u NONE -N note.txt\r')
    await screen.shows('"note.txt" [New')
    screen.type('\u001D')
    await screen.shows(/%1 \d/)
    assert.not.ok(screen.isAlternate)
    screen.type('/attach\r')
    await screen.shows(/~ *\n~ *\n~/)
    assert.ok(screen.isAlternate)
    screen.type(':q\r')
    await screen.shows('✓ exit 0')
    await screen.hides(/%1 \d/)
  }),
)

testWith(['sudo'], 'sudo gets a terminal', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!sudo sh -c "tty; echo as $USER"\r')
    await screen.shows(/\/dev\/pts\/\d+|a secret is not shown/)
    screen.type(keys.ctrl('c'))
    await screen.hides('Ctrl-C')
  }),
)

test('a flood of output still takes keys', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!yes flood\r')
    await screen.shows('flood\nflood')
    screen.type(keys.ctrl('c'))
    await screen.shows('✗ exit 130')
  }))

test.run()
