import { chmodSync, copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../helpers/cli.ts'
import { runProgram } from '../helpers/run-program.ts'
import { isAlive } from '../helpers/terminal-run.ts'

const setpriv = '/usr/bin/setpriv'
const uid = '54399'
const asUser = ['--reuid', uid, '--clear-groups']

for (const attached of [[], ['--pty'], ['--session', 's']]) {
  const name = `a deadline waited for a program of root that it could not stop ${attached.join(' ')}`
  test(name, async () => {
    if (process.getuid?.() !== 0 || !existsSync(setpriv))
      return console.log(`SKIP ${name}: only root can make a setuid program`)
    const dir = mkdtempSync('/tmp/nacre-outlived-')
    const asRoot = join(dir, 'as-root')
    try {
      copyFileSync(setpriv, asRoot)
      chmodSync(asRoot, 0o4755)
      chmodSync(dir, 0o777)
      const options = { env: { HOME: dir, XDG_STATE_HOME: dir, TMPDIR: dir }, cwd: '/' }
      const become = [...asUser, asRoot, '--reuid', '0', 'id', '-ru']
      if (String((await runProgram(setpriv, become, options)).stdout) !== '0\n')
        return console.log(`SKIP ${name}: /tmp is mounted nosuid`)
      // A shell of a session that becomes another program is none any more.
      const first = attached.includes('--session') ? '' : 'exec'
      const command = `trap '' HUP; ${first} ${asRoot} --reuid 0 sleep 60`
      const limits = ['--timeout', '0.5', '--kill-after', '0', '--output-format', 'json']
      const words = [...cliCommand(), ...attached, ...limits, '-c', command]
      const { stdout } = await runProgram(setpriv, [...asUser, ...words], options)
      const result = JSON.parse(String(stdout)) as Record<string, unknown>
      assert.equal([result['status'], result['reason']], ['stopped', 'timeout'])
      const [survivor] = result['survivors'] as { pid: number; command: string }[]
      assert.is(survivor?.command, 'sleep 60')
      assert.match(String(result['notices']), `still alive: ${survivor?.pid} sleep 60`)
      assert.ok(isAlive(survivor?.pid ?? 0))
      process.kill(survivor?.pid ?? 0, 'SIGKILL')
    } finally {
      rmSync(dir, { recursive: true })
    }
  })
}

test.run()
