import { chownSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import { findProgram } from '../../lib/system/look.ts'
import { cliCommand, cliRuntime } from '../helpers/cli.ts'
import { ownShells, type ShellName, writeStartFile } from '../helpers/own-shell.ts'
import { assertScreen, withScreen } from '../helpers/screen.ts'

/** Start files as they are found, and what a person's commands say with them. */
const kinds = {
  plain: '',
  slow: 'sleep 1.5\n',
  broken: 'echo "unfinished\n',
  ends: 'exit 3\n',
}

/** Every kind with every shell, and every size with both: not every three of them. */
const screens: readonly (readonly [ShellName, keyof typeof kinds, number, number])[] = [
  ['bash', 'plain', 200, 60],
  ['bash', 'slow', 40, 10],
  ['bash', 'broken', 80, 24],
  ['bash', 'ends', 40, 10],
  ['zsh', 'plain', 40, 10],
  ['zsh', 'slow', 80, 24],
  ['zsh', 'broken', 200, 60],
  ['zsh', 'ends', 80, 24],
  ['fish', 'plain', 80, 24],
  ['fish', 'slow', 200, 60],
  ['fish', 'broken', 40, 10],
  ['fish', 'ends', 200, 60],
]

/** As an ordinary user where the tests run as root: the other one is looked at everywhere else. */
const nobody = 65534
const drop = process.getuid?.() === 0 ? findProgram('setpriv', process.env['PATH'] ?? '') : null

for (const [shell, kind, columns, rows] of screens) {
  if (!ownShells.includes(shell)) {
    console.log(`SKIP ${shell} with start files: it is not installed`)
    continue
  }
  // A folder that only root may look into holds nacre itself, at times. Deno's only thread waits in read(2)
  // for a terminal that it may not open anew, which is one of another user.
  const isShipped = process.env['NACRE_TEST_CLI'] !== undefined && cliRuntime() !== 'deno'
  const asUser = kind === 'plain' && drop !== null && isShipped
  test(`${shell}, start files: ${kind}, ${columns} × ${rows}`, () =>
    withScreen(
      {
        columns,
        rows,
        env: { SHELL: findProgram(shell, process.env['PATH'] ?? '') ?? '' },
        ...(asUser && {
          program: [
            drop ?? '',
            `--reuid=${nobody}`,
            `--regid=${nobody}`,
            '--clear-groups',
            ...cliCommand(),
          ],
        }),
        prepare(home) {
          writeStartFile(home, shell, kinds[kind])
          if (asUser) {
            for (const name of ['', ...readdirSync(home, { recursive: true, encoding: 'utf8' })]) {
              chownSync(join(home, name), nobody, nobody)
            }
          }
        },
      },
      async (screen) => {
        await screen.shows('/help tells')
        // Typed at once, as a person would who knows what to do.
        await screen.answers('!echo one\r', 'one\n✓ exit 0')
        await screen.answers('!cd ..; false\r', '✗ exit 1')
        await screen.answers('!\r', '[BASH]')
        await screen.answers('echo two\r', 'two\n✓ exit 0')
        await screen.shows(/bash> *\n\[BASH\] ~ *$/)
        // What is broken is told with its path, which is another one at each run.
        if (kind !== 'broken') await assertScreen(screen, `${shell}-${kind}`)
      },
    ))
}

test.run()
