import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Screen, withScreen } from '../../helpers/screen.ts'
import { keys } from '../../helpers/keys.ts'

/** What is typed, and commands after Esc: what the line is then is what bash with `set -o vi` makes of it. */
const commands: readonly (readonly [string, string])[] = [
  ['echo one two three', 'x'],
  ['echo one two three', '0x'],
  ['echo one two three', '0dw'],
  ['echo one two three', '0d2w'],
  ['echo one two three', '02dw'],
  ['echo one two three', 'bD'],
  ['echo one two three', '0fodfo'],
  ['echo one two three', '0fo;x'],
  ['echo one two three', '$Fo,x'],
  ['echo one two three', '0wdwwP'],
  ['echo one two three', '0yw$p'],
  ['echo one two three', '0xp'],
  ['echo one two three', '0rE~'],
  ['echo one two three', '03~'],
  ['echo one two three', '0dwu'],
  ['echo one two three', '0x..'],
  ['echo one two three', '0wdw.'],
  ['echo one two three', '02x3.'],
  ['echo one two three', '0d2w2.'],
  ['a b c d e f g h', '02d2w'],
  ['echo one two three', `0wcwfour${keys.escape}w.`],
  ['echo one two three', `0wi-${keys.escape}w.`],
  ['echo one two three', `0wA!${keys.escape}0.`],
  ['echo $(ls (a b) c)', '0fl%x'],
  ['echo a-b.c d', '0wdw'],
  ['echo a-b.c d', '0wdW'],
  ['echo a-b.c d', '$bX'],
  ['echo a-b.c d', '0wdE'],
  ['echo a-b.c d', '0$dB'],
  ['  indented', '^x'],
  ['x', 'x'],
  ['echo a😀b', 'X'],
  ['echo 😀b', '0wx'],
  ['echo a 😀', '0fade'],
  ['echo a😀', '2rx'],
]
/** The same, where the last command begins to take text. */
const insertions: readonly (readonly [string, string])[] = [
  ['echo one two three', '0wcwfour'],
  ['echo one two three', '0wctt'],
  ['echo one two three', 'bbi-'],
  ['echo one two three', 'bba-'],
  ['echo one two three', '0A more'],
  ['echo one two three', 'I: '],
  ['echo one two three', 'ccls'],
  ['echo one two three', '0wCx y'],
  ['echo one two three', '0wsZ'],
]
/** Typed last, it tells that all before it was read. */
const end = '@'
const cases = [
  ...commands.map(([text, typed]) => [text, `${typed}A${end}`] as const),
  ...insertions.map(([text, typed]) => [text, typed + end] as const),
]

/** The line of each case, one after the other on one terminal. */
async function edit(screen: Screen, isCommanding: (since: number) => boolean): Promise<string[]> {
  const found: string[] = []
  for (const [text, typed] of cases) {
    screen.type(text)
    await screen.holds(() => screen.page().line.endsWith(text))
    const since = screen.raw().length
    screen.type(keys.escape)
    await screen.holds(() => isCommanding(since))
    for (const [at, part] of typed.split(keys.escape).entries()) {
      const since = screen.raw().length
      if (at > 0) screen.type(keys.escape)
      if (at > 0) await screen.holds(() => isCommanding(since))
      screen.type(part)
    }
    await screen.holds(() => screen.page().line.includes(end))
    found.push(screen.page().line.replace(/^(?:ins)?> /, ''))
    screen.type(keys.ctrl('c'))
    await screen.holds(() => /^(?:ins)?>$/.test(screen.page().line))
  }
  return found
}

test('vi keys edit the line as bash has them', async () => {
  let ours: string[] = []
  let theirs: string[] = []
  await withScreen({ env: { NACRE_KEYS: 'vi' } }, async (screen) => {
    await screen.shows('~/code')
    ours = await edit(screen, (since) => screen.raw().slice(since).includes('\u001B[7m>'))
  })
  // Typed at the prompt, they would change what the editor believes to be on the screen.
  const settings = [
    ...['editing-mode vi', 'show-mode-in-prompt on', 'keyseq-timeout 1', 'bell-style none'],
    ...['vi-ins-mode-string "ins"', 'vi-cmd-mode-string "cmd"', 'enable-bracketed-paste off'],
  ].map((setting) => `set ${setting}\n`)
  const bash = {
    program: ['bash', '--norc', '--noprofile', '-i'],
    env: { PS1: '> ' },
    prepare: (home: string) => writeFileSync(join(home, '.inputrc'), settings.join('')),
  }
  await withScreen(bash, async (screen) => {
    try {
      await screen.holds(() => screen.page().line === 'ins>')
      theirs = await edit(screen, () => screen.page().line.startsWith('cmd>'))
    } finally {
      // SIGTERM does not end it.
      process.kill(screen.pid, 'SIGHUP')
    }
  })
  assert.equal(
    ours.map((line, at) => [...(cases[at] ?? []), line]),
    theirs.map((line, at) => [...(cases[at] ?? []), line]),
  )
})

test('/keys changes them, and Esc on an empty line still leaves bash mode', () =>
  withScreen({}, async (screen) => {
    await screen.shows('~/code')
    await screen.answers('/keys vi\r', 'Keys: vi')
    await screen.answers('!\r', '[BASH]')
    await screen.answers('echo before\r', 'before\n✓ exit 0')
    screen.type(keys.escape)
    await screen.holds(() => screen.raw().includes('\u001B[7mbash>'))
    await screen.answers('kA and after\r', 'before and after\n✓ exit 0')
    await screen.holds(() => screen.page().line === 'bash>')
    const since = screen.raw().length
    screen.type(keys.escape)
    await screen.holds(() => screen.raw().slice(since).includes('\u001B[7mbash>'))
    screen.type(keys.escape)
    await screen.hides('[BASH]')
    await screen.answers('/keys emacs\r', 'Keys: emacs')
  }))

test.run()
