import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { assertScreen, withScreen } from '../../../helpers/screen.ts'
import { keys } from '../../../helpers/keys.ts'

test('starts with a prompt, its colour and the status bar', () =>
  withScreen({}, async (screen) => {
    await screen.shows('~/code')
    assertScreen(screen, 'start')
    assert.is(screen.colorOf('> '), 209)
    assert.equal(screen.cursor(), { row: 1, column: 2 })
  }))

test('runs what was typed before it was there', () =>
  withScreen({}, async (screen) => {
    screen.type('!echo early\r')
    await screen.shows('! echo early\nearly\n✓ exit 0')
  }))

test('runs a command and closes it with its exit status', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!echo one; echo two >&2\r')
    await screen.shows('✓ exit 0')
    screen.type('!grep x /dev/null\r')
    await screen.shows('✗ exit 1')
    assertScreen(screen, 'commands')
  }))

test('the status bar shows the branch', () =>
  withScreen({ prepare: (home) => makeRepository(join(home, 'code')) }, async (screen) => {
    await screen.shows('~/code (topic/x)')
  }))

function makeRepository(folder: string): void {
  mkdirSync(join(folder, '.git'), { recursive: true })
  writeFileSync(join(folder, '.git/HEAD'), 'ref: refs/heads/topic/x\n')
}

test('a backslash at the end of a line continues the command', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!echo a \\\r')
    await screen.shows(/echo a \\\n/)
    screen.type('  b\r')
    await screen.shows('✓ exit 0')
    assert.match(screen.text(), '\na b\n')
  }))

test('a paste of many lines is one command and does not run by itself', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    await waitForPaste(screen)
    screen.type(keys.paste('!for n in 1 2 3; do\necho "line $n"\ndone\n'))
    await screen.shows('echo "line $n"')
    assert.not.match(screen.text(), 'line 3')
    screen.type('\r')
    await screen.shows('✓ exit 0')
    assert.match(screen.text(), 'line 1\nline 2\nline 3\n')
  }))

async function waitForPaste(screen: { modes: { bracketedPasteMode: boolean } }): Promise<void> {
  assert.ok(screen.modes.bracketedPasteMode)
}

test('edits with the keys of readline', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type(`cho hi${keys.ctrl('a')}!e${keys.ctrl('e')} wrong${keys.ctrl('w')}there\r`)
    await screen.shows('hi there\n✓ exit 0')
  }))

test('keeps the history between starts, in a file of its own user only', async () => {
  const state = { prepare: keepState() }
  await withScreen(state, async (screen) => {
    await screen.shows('> ')
    screen.type('!echo first\r')
    await screen.shows('✓ exit 0')
    screen.type('! echo second\r')
    await screen.shows('second\n✓ exit 0')
    screen.type(' !echo with-a-blank-before\r')
    await screen.shows('with-a-blank-before\n✓ exit 0')
    const file = join(screen.home, 'state/nacre/history')
    assert.is(statSync(file).mode & 0o777, 0o600)
    assert.is(statSync(join(screen.home, 'state/nacre')).mode & 0o777, 0o700)
    const kept = readFileSync(file, 'utf8')
    assert.match(kept, '"kind":"command","text":"echo first"')
    assert.match(kept, '"text":"echo second"')
    assert.not.match(kept, 'with-a-blank-before')
  })
  await withScreen({ prepare: (home) => writeHistory(home, ['!echo before']) }, async (screen) => {
    await screen.shows('> ')
    screen.type(keys.up)
    await screen.shows('> ! echo before')
  })
})

function keepState() {
  return () => undefined
}

function writeHistory(home: string, entries: string[]): void {
  mkdirSync(join(home, 'state/nacre'), { recursive: true, mode: 0o700 })
  const text = entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
  writeFileSync(join(home, 'state/nacre/history'), text)
}

test('Ctrl-R searches the history', () => {
  const entries = ['!make test', '!echo found it', '!git status']
  return withScreen({ prepare: (home) => writeHistory(home, entries) }, async (screen) => {
    await screen.shows('> ')
    screen.type(keys.ctrl('r'))
    await screen.shows('history:')
    screen.type('found')
    await screen.shows('history: found')
    assertScreen(screen, 'history-search')
    screen.type('\r')
    await screen.shows('> ! echo found it')
    screen.type('\r')
    await screen.shows('found it\n✓ exit 0')
  })
})

test('the palette lists slash commands and what was typed lately', () =>
  withScreen({ prepare: (home) => writeHistory(home, ['!make test']) }, async (screen) => {
    await screen.shows('> ')
    screen.type(keys.ctrl('p'))
    await screen.shows('palette:')
    screen.type('make')
    await screen.shows('› ! make test')
    screen.type(`${keys.ctrl('u')}artif`)
    await screen.shows('› /artifacts')
    screen.type('\r')
    await screen.shows('No artifacts.')
  }))

test('completes programs, paths and slash commands', () => {
  const prepare = (home: string) => writeFileSync(join(home, 'code/a file.txt'), 'content\n')
  return withScreen({ prepare }, async (screen) => {
    await screen.shows('> ')
    screen.type('!readlin\t')
    await screen.shows('> !readlink')
    screen.type(`${keys.ctrl('u')}!cat a\t`)
    await screen.shows('> !cat a\\ file.txt')
    screen.type('\r')
    await screen.shows('content\n✓ exit 0')
    screen.type('/art')
    await screen.shows('outputs that are kept on disk')
    screen.type('\t')
    await screen.shows('> /artifacts')
  })
})

test('Up finds what begins like the line; the grey suggestion is taken with →', () => {
  const entries = ['!make test', '!echo one', '!make clean', '!ls']
  return withScreen({ prepare: (home) => writeHistory(home, entries) }, async (screen) => {
    await screen.shows('> ')
    screen.type('! ma')
    await screen.shows('> ! make clean')
    screen.type(`${keys.up}${keys.up}`)
    await screen.shows('> ! make test')
    screen.type(`${keys.ctrl('c')}! ec`)
    await screen.shows('> ! echo one')
    screen.type('\u001B[C two\r')
    await screen.shows('one two\n✓ exit 0')
  })
})

test('a prompt is never offered in bash mode', () => {
  const entries = ['rm the old build folder', '!git status']
  return withScreen({ prepare: (home) => writeHistory(home, entries) }, async (screen) => {
    await screen.shows('> ')
    screen.type('/bash\r')
    await screen.shows('[BASH]')
    screen.type(keys.up)
    await screen.shows('bash> git status')
    screen.type(keys.up)
    screen.type(keys.up)
    screen.type('x')
    await screen.shows('bash> git statusx')
  })
})

test('goes on in the next line while a loop or a quote is open', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!for i in a b; do\r')
    screen.type('echo "$i\r')
    screen.type('-"\r')
    screen.type('done\r')
    await screen.shows('a\n-\nb\n-\n✓ exit 0')
  }))

test('a prompt for a model is told that there is none', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('what is this?\r')
    await screen.shows('No model is set')
  }))

test('wide and combining characters keep the cursor where the text ends', () =>
  withScreen({}, async (screen) => {
    await screen.shows('> ')
    screen.type('!echo 日本 e\u0301x')
    await screen.shows('日本 e\u0301x')
    assert.is(screen.cursor().column, 2 + '!echo '.length + 4 + 1 + 2)
    screen.type('\u007F\u007F\r')
    await screen.shows('日本\n✓ exit 0')
  }))

test('fits into 40 columns and follows the size of the window', () =>
  withScreen({ columns: 40, rows: 12 }, async (screen) => {
    await screen.shows('> ')
    screen.type('!echo a long command that does not fit into it')
    await screen.shows('fit into it')
    assert.ok(
      screen
        .text()
        .split('\n')
        .every((line) => line.length <= 40),
    )
    screen.resize(60, 12)
    screen.type('\r')
    await screen.shows('✓ exit 0')
    assertScreen(screen, 'narrow')
  }))

test('without colours where NO_COLOR says so', () =>
  withScreen({ env: { NO_COLOR: '1' } }, async (screen) => {
    await screen.shows('> ')
    screen.type('!echo plain\r')
    await screen.shows('✓ exit 0')
    assert.not.match(screen.raw(), /\u001B\[(?:3|4|9|10)[0-9][;m]/)
    assert.is(screen.colorOf('> '), -1)
  }))

test.run()
