import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { keys } from '../../helpers/keys.ts'
import { type Screen, atPrompt } from '../../helpers/screen.ts'

const program = (name: string) => join(import.meta.dirname, '../../../fixtures/programs', name)

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
  atPrompt({}, async (screen) => {
    await screen.answers('!vim -u NONE -N note.txt\r', '"note.txt" [New')
    assert.ok(screen.isAlternate)
    await screen.answers('ione two', 'one two')
    screen.type(keys.escape)
    await screen.hides('-- INSERT --')
    await screen.answers('0iX', 'Xone two')
    screen.resize(100, 30)
    await screen.shows(/(?:~ *\n){27}/)
    await screen.answers(`${keys.escape}:set columns? lines?\r`, /columns=100[\s\S]*lines=30/)
    await screen.answers('\r:wq\r', '✓ exit 0')
    assert.not.ok(screen.isAlternate)
    assert.is(readFileSync(join(screen.home, 'code/note.txt'), 'utf8'), 'Xone two\n')
  }),
)

testWith(['less'], 'less scrolls with the arrow keys of the mode that it asks for', () =>
  atPrompt({}, async (screen) => {
    await screen.answers('!seq 1 1000 | less\r', /^1\n2\n/)
    assert.ok(screen.modes.applicationCursorKeysMode)
    await screen.answers('\u001BOB', /^2\n3\n/)
    await screen.answers('q', '✓ exit 0')
    assert.not.ok(screen.modes.applicationCursorKeysMode)
  }),
)

testWith(['top'], 'top draws itself and ends with q', () =>
  atPrompt({}, async (screen) => {
    await screen.answers('!top\r', /PID +USER/)
    await screen.answers('q', '✓ exit 0')
  }),
)

testWith(['python3'], 'python talks', () =>
  atPrompt({}, async (screen) => {
    await screen.answers('!python3\r', '>>>')
    // Before it asks again, its terminal still takes lines, and Ctrl-D for the end of one.
    await screen.answers('print(6 * 7)\r', /\n42\n>>>/)
    // Ctrl-B is the program's own key, and goes back by a character.
    await screen.shows('Ctrl-] background')
    await screen.answers(`'abc'${keys.ctrl('b')}X\r`, /\n'abcX'\n>>>/)
    await screen.answers(keys.ctrl('d'), '✓ exit 0')
    assert.match(screen.text(), '>>> print(6 * 7)\n42\n', 'what it wrote stays on the screen')
  }),
)

testWith(['git', 'vim'], 'git commit opens its editor', () =>
  atPrompt(
    {
      env: { EDITOR: 'vim -u NONE -N', GIT_CONFIG_GLOBAL: '/dev/null' },
      prepare: (home) => makeCommit(join(home, 'code')),
    },
    async (screen) => {
      await screen.answers('!git commit\r', 'Changes to be committed')
      await screen.answers(`iSubject line${keys.escape}`, 'Subject line')
      await screen.answers(':wq\r', '✓ exit 0')
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
  atPrompt({}, async (screen) => {
    await screen.answers(`!${program('installer.sh')}\r`, 'Continue? [y/n]')
    await screen.answers('y\r', 'Where to?')
    await screen.answers('/opt\r', '✓ exit 0')
    assert.match(screen.text(), 'installed in /opt')
  }))

test('a password is not echoed, and nothing keeps it', () =>
  atPrompt({}, async (screen) => {
    await screen.answers(`!${program('ask-password.sh')}\r`, 'a secret is not shown')
    await screen.answers('hunter2secret\r', '✓ exit 0')
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

test('keys, mouse and pastes reach the program as it has asked for them', () =>
  atPrompt({}, async (screen) => {
    await screen.answers(`!node ${program('show-keys.mjs')}\r`, 'ready')
    assert.is(screen.modes.mouseTrackingMode, 'any')
    assert.ok(screen.modes.bracketedPasteMode)
    for (const [typed, shown] of [
      ['\u001BOP', '"\\u001bOP"'],
      ['\u001B[1;5C', '"\\u001b[1;5C"'],
      ['\u001Bx', '"\\u001bx"'],
      ['\u001B[<0;12;5M', '"\\u001b[<0;12;5M"'],
      [keys.paste('a\nb'), '"\\u001b[200~a\\nb\\u001b[201~"'],
      ['\u001B[97;5u', '"\\u001b[97;5u"'],
      [keys.ctrl('b'), '"\\u0002"'],
    ] as const) {
      await screen.answers(typed, shown)
    }
    await screen.answers('q', '✓ exit 0')
    assert.is(screen.modes.mouseTrackingMode, 'none')
    assert.not.match(screen.raw(), '\u001B[>5u')
  }))

test('a paste is typed to a program that has not asked to be told of pastes', () =>
  atPrompt({}, async (screen) => {
    screen.type(`!read -r a; read -r b; printf '%q+%q\\n' "$a" "$b"\r`)
    await screen.shows('Ctrl-B background')
    screen.type(keys.paste('one\ntwo'))
    await screen.answers('\r', '\none+two\n')
  }))

test('the answers of the terminal go back to the program', () =>
  atPrompt({}, async (screen) => {
    screen.type(
      // The answer may come before it is read, and is not to be echoed.
      String.raw`!stty -echo; printf 'ab\033[6n'; IFS= read -r -d R where; printf '%q\n' "$where"; stty echo` +
        '\r',
    )
    await screen.shows(`ab$'\\E[1;3'`)
  }))

testWith(['vim'], 'Ctrl-] leaves a program on the whole screen; /attach shows it again', () =>
  atPrompt({}, async (screen) => {
    await screen.answers('!vim -u NONE -N note.txt\r', '"note.txt" [New')
    await screen.answers('\u001D', /%1 \d/)
    assert.not.ok(screen.isAlternate)
    await screen.answers('/attach\r', /~ *\n~ *\n~/)
    assert.ok(screen.isAlternate)
    await screen.answers(':q\r', '✓ exit 0')
    await screen.hides(/%1 \d/)
  }),
)

testWith(['sudo'], 'sudo gets a terminal', () =>
  atPrompt({}, async (screen) => {
    screen.type('!sudo sh -c "tty; echo as $USER"\r')
    await screen.shows(/\/dev\/pts\/\d+|a secret is not shown/)
    screen.type(keys.ctrl('c'))
    await screen.hides('Ctrl-C')
  }),
)

test('a flood of output still takes keys', () =>
  atPrompt({}, async (screen) => {
    await screen.answers('!yes flood\r', 'flood\nflood')
    await screen.answers(keys.ctrl('c'), '✗ exit 130')
  }))

test.run()
