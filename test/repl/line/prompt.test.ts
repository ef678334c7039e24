import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { assertScreen, atPrompt, withScreen } from '../../helpers/screen.ts'
import { keys } from '../../helpers/keys.ts'

test('starts with a prompt, its colour and the status bar', () =>
  withScreen({}, async (screen) => {
    await screen.shows('~/code')
    await assertScreen(screen, 'start')
    assert.is(screen.colorOf('> '), 209)
    await screen.holds(() => screen.cursor().row === 1 && screen.cursor().column === 2)
  }))

test('runs what was typed before it was there', () =>
  withScreen({}, async (screen) => {
    await screen.answers('!echo early\r', '! echo early\nearly\n✓ exit 0')
  }))

test('runs a command and closes it with its exit status', () =>
  atPrompt({}, async (screen) => {
    await screen.answers('!echo one; echo two >&2\r', '✓ exit 0')
    await screen.answers('!grep x /dev/null\r', '✗ exit 1')
    await assertScreen(screen, 'commands')
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
  atPrompt({}, async (screen) => {
    await screen.answers('!echo a \\\r', /echo a \\\n/)
    await screen.answers('  b\r', '✓ exit 0')
    assert.match(screen.text(), '\na b\n')
  }))

test('a paste of many lines is one command and does not run by itself', () =>
  atPrompt({}, async (screen) => {
    await waitForPaste(screen)
    screen.type(keys.paste('!for n in 1 2 3; do\necho "line $n"\ndone\n'))
    await screen.shows('echo "line $n"')
    assert.not.match(screen.text(), 'line 3')
    await screen.answers('\r', '✓ exit 0')
    assert.match(screen.text(), 'line 1\nline 2\nline 3\n')
  }))

async function waitForPaste(screen: { modes: { bracketedPasteMode: boolean } }): Promise<void> {
  assert.ok(screen.modes.bracketedPasteMode)
}

test('edits with the keys of readline', () =>
  atPrompt({}, async (screen) => {
    screen.type(`cho hi${keys.ctrl('a')}!e${keys.ctrl('e')} wrong${keys.ctrl('w')}there\r`)
    await screen.shows('hi there\n✓ exit 0')
  }))

test('keeps the history between starts, in a file of its own user only', async () => {
  const state = { prepare: keepState() }
  await atPrompt(state, async (screen) => {
    await screen.answers('!echo first\r', '✓ exit 0')
    await screen.answers('! echo second\r', 'second\n✓ exit 0')
    await screen.answers(' !echo with-a-blank-before\r', 'with-a-blank-before\n✓ exit 0')
    const file = join(screen.home, 'state/nacre/history')
    assert.is(statSync(file).mode & 0o777, 0o600)
    assert.is(statSync(join(screen.home, 'state/nacre')).mode & 0o777, 0o700)
    const kept = readFileSync(file, 'utf8')
    assert.match(kept, '"kind":"command","text":"echo first"')
    assert.match(kept, '"text":"echo second"')
    assert.not.match(kept, 'with-a-blank-before')
  })
  await atPrompt({ prepare: (home) => writeHistory(home, ['!echo before']) }, async (screen) => {
    await screen.answers(keys.up, '> ! echo before')
  })
})

function keepState() {
  return () => undefined
}

/** Commands with a `!` before them, and prompts. */
function writeHistory(home: string, entries: string[]): void {
  mkdirSync(join(home, 'state/nacre'), { recursive: true, mode: 0o700 })
  const lines = entries.map((entry) => ({
    kind: entry.startsWith('!') ? 'command' : 'prompt',
    text: entry.replace(/^!/, ''),
  }))
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  writeFileSync(join(home, 'state/nacre/history'), text)
}

test('Ctrl-R searches the history', () => {
  const entries = ['!make test', '!echo found it', '!git status']
  return atPrompt({ prepare: (home) => writeHistory(home, entries) }, async (screen) => {
    await screen.answers(keys.ctrl('r'), 'history:')
    await screen.answers('found', 'history: found')
    await assertScreen(screen, 'history-search')
    await screen.answers('\r', '> ! echo found it')
    await screen.answers('\r', 'found it\n✓ exit 0')
  })
})

test('the palette lists slash commands and what was typed lately', () =>
  atPrompt({ prepare: (home) => writeHistory(home, ['!make test']) }, async (screen) => {
    await screen.answers(keys.ctrl('p'), 'palette:')
    await screen.answers('make', '› ! make test')
    await screen.answers(`${keys.ctrl('u')}artif`, '› /artifacts')
    await screen.answers('\r', 'No artifacts.')
  }))

test('completes programs, paths and slash commands', () => {
  const prepare = (home: string) => writeFileSync(join(home, 'code/a file.txt'), 'content\n')
  return atPrompt({ prepare }, async (screen) => {
    await screen.answers('!readlin\t', '> !readlink')
    await screen.answers(`${keys.ctrl('u')}!cat a\t`, '> !cat a\\ file.txt')
    await screen.answers('\r', 'content\n✓ exit 0')
    await screen.answers('/art', 'outputs that are kept on disk')
    await screen.answers('\t', '> /artifacts')
  })
})

test('Up finds what begins like the line; the grey suggestion is taken with →', () => {
  const entries = ['!make test', '!echo one', '!make clean', '!ls']
  return atPrompt({ prepare: (home) => writeHistory(home, entries) }, async (screen) => {
    await screen.answers('! ma', '> ! make clean')
    await screen.answers(`${keys.up}${keys.up}`, '> ! make test')
    await screen.answers(`${keys.ctrl('c')}! ec`, '> ! echo one')
    await screen.answers('\u001B[C two\r', 'one two\n✓ exit 0')
  })
})

test('a prompt is never offered in bash mode', () => {
  const entries = ['rm the old build folder', '!git status']
  return atPrompt({ prepare: (home) => writeHistory(home, entries) }, async (screen) => {
    await screen.answers('/bash\r', '[BASH]')
    await screen.answers(keys.up, 'bash> git status')
    screen.type(keys.up)
    screen.type(keys.up)
    await screen.answers('x', 'bash> git statusx')
  })
})

test('goes on in the next line while a loop or a quote is open', () =>
  atPrompt({}, async (screen) => {
    screen.type('!for i in a b; do\r')
    screen.type('echo "$i\r')
    screen.type('-"\r')
    await screen.answers('done\r', 'a\n-\nb\n-\n✓ exit 0')
  }))

test('a prompt for a model is told that there is none', () =>
  atPrompt({}, async (screen) => {
    await screen.answers('what is this?\r', 'No model is set')
  }))

test('wide and combining characters keep the cursor where the text ends', () =>
  atPrompt({}, async (screen) => {
    await screen.answers('!echo 日本 e\u0301x', '日本 e\u0301x')
    await screen.holds(() => screen.cursor().column === 2 + '!echo '.length + 4 + 1 + 2)
    await screen.answers('\u007F\u007F\r', '日本\n✓ exit 0')
  }))

test('fits into 40 columns and follows the size of the window', () =>
  atPrompt({ columns: 40, rows: 12 }, async (screen) => {
    await screen.answers('!echo a long command that does not fit into it', 'fit into it')
    assert.ok(
      screen
        .text()
        .split('\n')
        .every((line) => line.length <= 40),
    )
    screen.resize(60, 12)
    await screen.answers('\r', '✓ exit 0')
    await assertScreen(screen, 'narrow')
  }))

test('without colours where NO_COLOR says so', () =>
  atPrompt({ env: { NO_COLOR: '1' } }, async (screen) => {
    await screen.answers('!echo plain\r', '✓ exit 0')
    assert.not.match(screen.raw(), /\u001B\[(?:3|4|9|10)[0-9][;m]/)
    assert.is(screen.colorOf('> '), -1)
  }))

test.run()
