import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../../lib/executor/executor.ts'
import { hostCommands } from '../../helpers/host-commands.ts'
import { findSshObstacle, makeClientFolder, startServer } from '../../helpers/ssh-host.ts'

const obstacle =
  findSshObstacle() ?? (process.getuid?.() === 0 ? null : 'only root gives users another shell')
if (obstacle !== null) console.log(`SKIP login shells of a host: ${obstacle}`)

const noise = 'echo said by the login; echo and on stderr >&2\n'

/** What a login may be like, and what stands in its home. */
const logins: readonly { name: string; shell: string; files: Record<string, string> }[] = [
  { name: 'dash', shell: '/bin/dash', files: {} },
  {
    name: 'bash with a profile that talks and is broken',
    shell: '/bin/bash',
    files: { '.bashrc': `${noise}if then\n`, '.profile': 'exit 3\n' },
  },
  { name: 'zsh', shell: '/usr/bin/zsh', files: { '.zshenv': noise } },
  {
    name: 'fish',
    shell: '/usr/bin/fish',
    files: { '.config/fish/config.fish': 'echo said by the login\n' },
  },
]

for (const { name, shell, files } of obstacle === null ? logins : []) {
  if (!existsSync(shell)) {
    console.log(`SKIP login shell ${name}: ${shell} is missing`)
    continue
  }
  test(`commands give the same behind ${name}`, async () => {
    const server = await startServer('', ['Banner /etc/hostname', 'MaxSessions 50'], (folder) => {
      const home = join(folder, 'home')
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(join(home, path, '..'), { recursive: true })
        writeFileSync(join(home, path), text)
      }
      mkdirSync(home, { recursive: true })
      return readFileSync('/etc/passwd', 'utf8').replace(
        /^root:.*$/m,
        `root:x:0:0:root:${home}:${shell}`,
      )
    })
    const folder = makeClientFolder(server)
    const executor = createExecutor({
      stateDir: null,
      environment: { ...process.env, PATH: `${folder}:${process.env['PATH']}` },
    })
    const check = async (command: string) => {
      const there = await executor.run({
        command,
        origin: 'print',
        host: 'box',
        guard: false,
        streams: 'separate',
      })
      const here = spawnSync('bash', ['-c', command], { input: '', encoding: 'utf8' })
      assert.equal(
        [there.stdout, there.stderr, there.exitCode, there.signal],
        [here.stdout, here.stderr, here.status, here.signal],
        `${command}: ${JSON.stringify(there)}`,
      )
    }
    try {
      await Promise.all(hostCommands.map(check))
    } finally {
      await executor.close()
      await server.close()
    }
  })
}

test.run()
