import { test } from 'uvu'
import * as assert from 'uvu/assert'
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

test('without bwrap the package is named', async () => {
  const { problem, networkProblem, path } = await probeSandbox(null)
  assert.is(path, null)
  if (process.platform === 'linux') assert.match(problem ?? '', /install the package bubblewrap/)
  assert.is(networkProblem, problem)
})

test('a program that fails as bwrap is not one that works', async () => {
  const { problem } = await probeSandbox('/bin/false')
  assert.match(problem ?? '', /does not work|Linux/)
})

test.run()
