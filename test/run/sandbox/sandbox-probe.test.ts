import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../../helpers/cli.ts'
import { findObstacle } from '../../helpers/sandbox-places.ts'
import { explainFailure, probeSandbox } from '../../../lib/run/sandbox/sandbox-probe.ts'

const failed = new Error('Command failed')

test('what bwrap says is told with its cause and what to do', () => {
  const cases: [said: string, told: RegExp][] = [
    [
      'bwrap: No permissions to create new namespace, likely because …',
      /user namespaces, which are off/,
    ],
    [
      'bwrap: No permissions to creating new namespace, likely because …',
      /user namespaces, which are off/,
    ],
    ['bwrap: setting up uid map: Permission denied', /already inside a sandbox|AppArmor/],
    [
      "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
      /already inside a sandbox|AppArmor/,
    ],
    [
      'bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted',
      /already inside a sandbox|AppArmor/,
    ],
    ['bwrap: Unknown option --perms', /newer bubblewrap/],
    ['bwrap: something else', /does not work: bwrap: something else/],
    ['', /cannot be run \(Command failed\)/],
  ]
  for (const [said, told] of cases) {
    assert.match(explainFailure(said, failed), told)
    assert.match(explainFailure(`warning\n${said}\n`, failed), told)
  }
})

test('print tells that there is no sandbox, and never runs with the network that is to be off', async () => {
  if ((await findObstacle()) !== null) return console.log('SKIP hiding bwrap, which takes bwrap')
  const { path } = await probeSandbox()
  if (path === null) return assert.unreachable()
  const hide = ['--dev-bind', '/', '/', '--ro-bind', '/dev/null', path]
  const run = (...options: string[]) => {
    const words = [...hide, ...cliCommand(), '-c', 'echo ran', '--sandbox', 'auto', ...options]
    return spawnSync(path, words, { encoding: 'utf8' })
  }
  const { stdout, stderr } = run()
  assert.is(stdout, 'ran\n')
  assert.match(stderr, /^nacre: NOT SANDBOXED: .* install the package bubblewrap\n$/)
  const off = run('--network', 'off')
  assert.equal([off.stdout, off.status], ['', 125])
})

test('without bwrap the package is named', async () => {
  const { problem, networkProblem, path } = await probeSandbox(null)
  assert.is(path, null)
  if (process.platform === 'linux') assert.match(problem ?? '', /install the package bubblewrap/)
  assert.is(networkProblem, problem)
})

test('a bwrap that mounts no descriptors is told apart from one that works', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nacre-probe-'))
  const old = join(folder, 'bwrap')
  const refuse = 'echo "bwrap: Unknown option --ro-bind-fd" >&2; exit 1'
  writeFileSync(old, `#!/bin/sh\ncase "$*" in *--ro-bind-fd*) ${refuse};; esac\n`, { mode: 0o755 })
  try {
    const { problem } = await probeSandbox(old)
    assert.match(problem ?? '', /newer bubblewrap: 0\.10 .*--bind-fd|Linux/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a program that fails as bwrap is not one that works', async () => {
  const { problem } = await probeSandbox('/bin/false')
  assert.match(problem ?? '', /does not work|Linux/)
})

test.run()
