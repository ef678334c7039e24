import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../../helpers/cli.ts'
import { runCli } from '../../helpers/run-cli.ts'
import { findObstacle } from '../../helpers/sandbox-places.ts'

/** Runs `use` with a workspace in which a model may have left anything, and nacre in it. */
async function withWorkspace(
  use: (places: {
    root: string
    workspace: string
    nacre: (
      words: string[],
      env?: Record<string, string>,
    ) => Promise<{ text: string; status: number }>
  }) => Promise<void>,
): Promise<void> {
  const root = realpathSync(mkdtempSync('/var/tmp/nacre-planted-'))
  const workspace = join(root, 'work')
  mkdirSync(workspace)
  const own = { HOME: root, XDG_STATE_HOME: join(root, 'state'), SHELL: '/bin/bash' }
  try {
    await use({
      root,
      workspace,
      async nacre(words, env) {
        const { status, stdout, stderr } = await runCli(words, {
          cwd: workspace,
          env: { ...own, ...env },
        })
        return { status, text: `${String(stdout)}${String(stderr)}` }
      },
    })
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** What nacre itself, bubblewrap or a wrapper of its own could look for. */
const programs =
  'bwrap sh env git setsid script true false cat stty mkfifo ps timeout perl python3 node setpriv prlimit sleep socat kill id'

const sandboxed = ['--sandbox', 'workspace']

if ((await findObstacle()) === null) {
  test('a program that a model had left first on PATH was run by nacre outside of the sandbox', () =>
    withWorkspace(async ({ root, workspace, nacre }) => {
      const [bin, told] = [join(workspace, 'bin'), join(root, 'told')]
      mkdirSync(bin)
      for (const name of programs.split(' ')) {
        writeFileSync(join(bin, name), `#!/bin/bash\necho ${name} >>${told}\nexit 127\n`)
        chmodSync(join(bin, name), 0o755)
      }
      const env = { PATH: `${bin}:${process.env['PATH']}` }
      for (const words of [
        ['-c', 'echo ran', ...sandboxed],
        ['-c', 'echo ran', ...sandboxed, '--pty'],
        ['-c', 'echo ran', '--pty'],
        ['-c', 'echo ran', ...sandboxed, '--background', '--wait', '20s'],
      ]) {
        const { text } = await nacre(words, env)
        assert.match(text, /ran/)
        assert.not(
          existsSync(told),
          `${words.join(' ')}: ${existsSync(told) && readFileSync(told, 'utf8')}`,
        )
      }
    }))

  test('what a run had set for its own loader and shell was set for the next one', () =>
    withWorkspace(async ({ workspace, nacre }) => {
      const set = `echo 'echo evil' >start; export BASH_ENV=${workspace}/start ENV=${workspace}/start LD_PRELOAD=${workspace}/no.so PROMPT_COMMAND=evil`
      await nacre(['-c', set, ...sandboxed])
      const { text } = await nacre(['-c', 'env; bash -c true', ...sandboxed])
      assert.not.match(text, /evil|BASH_ENV|LD_PRELOAD|no\.so/)
    }))

  test('a nacre in the sandbox reached the jobs, the history and the holders of the one outside', () =>
    withWorkspace(async ({ nacre }) => {
      const ready = ['--background', '--ready', 'regex:^up$']
      const job = (await nacre(['-c', 'echo up; exec sleep 300', ...ready])).text
      const [id = ''] = /run_[a-z2-7]{20}/.exec(job) ?? []
      const command = cliCommand().map((word) => `'${word}'`)
      const inside = `n() { ${command.join(' ')} "$@"; }; n job list; n job kill ${id}; n artifact list; ls -A "$XDG_STATE_HOME/nacre"`
      try {
        const { text } = await nacre(['-c', inside, ...sandboxed])
        assert.not.match(
          text.replace(/No such job[^\n]*/g, '').replace(/There is no job[^\n]*/g, ''),
          `${id} `,
        )
        const { text: shown } = await nacre(['job', 'show', id])
        assert.match(shown, /running/)
      } finally {
        await nacre(['job', 'kill', id])
      }
    }))

  /** In the place of a file of the workspace that nacre reads. */
  const odd: Readonly<Record<string, (path: string) => unknown>> = {
    'a named pipe': (path) => execFileSync('mkfifo', [path]),
    'eight gigabytes': (path) => {
      writeFileSync(path, '')
      truncateSync(path, 8 * 1024 ** 3)
    },
    'a link to endless zeros': (path) => symlinkSync('/dev/zero', path),
    'a link to its input': (path) => symlinkSync('/dev/stdin', path),
    'a folder': (path) => mkdirSync(path),
    'a link to itself': (path) => symlinkSync(path, path),
    'a million brackets': (path) => writeFileSync(path, '['.repeat(1e6)),
  }
  for (const [name, make] of Object.entries(odd)) {
    test(`a start hung or failed where a file of the workspace was ${name}`, () =>
      withWorkspace(async ({ workspace, nacre }) => {
        for (const file of ['.nacre/config.json', '.nacre', '.git', '.envrc']) {
          const path = join(workspace, file)
          mkdirSync(join(path, '..'), { recursive: true })
          make(path)
          const { status, text } = await nacre(['-c', 'echo ran', ...sandboxed])
          rmSync(join(workspace, file.split('/')[0] ?? file), { recursive: true })
          assert.match(text, /^ran$/m, file)
          assert.is(status, 0)
        }
      }))
  }
}

test.run()
