import { spawnSync } from 'node:child_process'
import { test } from 'uvu'
import { findProgram } from '../../lib/system/look.ts'
import { cliCommand } from '../helpers/cli.ts'
import { keepFishQuiet, ownShells } from '../helpers/own-shell.ts'
import { type Screen, withScreen } from '../helpers/screen.ts'

const { PATH = '' } = process.env
const tmux = findProgram('tmux', PATH)
if (!tmux) console.log('SKIP nacre in tmux: it is not installed')

async function runsCommands(screen: Screen): Promise<void> {
  await screen.shows('/help tells')
  await screen.answers(`!echo fir''st\r`, 'first\n✓ exit 0')
  // A suspended program is told of by a shell with job control, which needs those signals.
  await screen.answers("!sh -c 'kill -TSTP $$; echo again'\r", 'suspended')
  await screen.answers('!fg\r', /again\n✓ exit 0/)
}

for (const shell of ownShells) {
  const env = { SHELL: findProgram(shell, PATH) ?? '' }
  test(`${shell} runs commands where whoever started nacre ignores signals`, () => {
    const ignore = `trap '' HUP TTIN TTOU; exec "$@"`
    const program = ['/bin/sh', '-c', ignore, 'sh', ...cliCommand()]
    return withScreen({ env, program, prepare: keepFishQuiet }, runsCommands)
  })

  if (!tmux) continue
  test(`${shell} runs commands in tmux`, () => {
    // tmux gives a single word to a shell, which may take the signals back.
    const words = ['env', ...cliCommand()]
    const program = [tmux, '-S', '../tmux', '-f', '/dev/null', 'new-session', ...words]
    return withScreen({ env, program, prepare: keepFishQuiet }, async (screen) => {
      try {
        await runsCommands(screen)
        screen.type('/quit\r')
        await screen.exited
      } finally {
        spawnSync(tmux, ['-S', `${screen.home}/tmux`, 'kill-server'], { stdio: 'ignore' })
      }
    })
  })
}

test.run()
