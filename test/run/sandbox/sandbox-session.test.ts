import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { findObstacle, type Places, withPlaces } from '../../helpers/sandbox-places.ts'

const obstacle = await findObstacle()
if (obstacle !== null) console.log(`SKIP sessions in the sandbox: ${obstacle}`)

function testInside(name: string, body: (places: Places) => Promise<void>): void {
  if (obstacle === null) test(name, withPlaces(body, { changes: { session: 's' } }))
}

testInside(
  'a sandboxed session keeps its state and stays inside',
  async ({ run, observe, workspace }) => {
    const before = observe()
    const first = await run('cd /tmp; x=7; f() { echo "f $1"; }; echo $0')
    assert.is(first.output, 'bash\n')
    assert.equal(first.sandbox, { mechanism: 'bubblewrap', network: 'on', degraded: false })
    const second = await run(
      'pwd; f $x; echo no >"$OUT/target"; cat "$HOME/.ssh/id"; touch "$WS/made"',
    )
    assert.match(second.output ?? '', /^\/tmp\nf 7\n/)
    assert.match(second.output ?? '', 'Read-only file system')
    assert.is(observe(), before)
    assert.is((await run('ls "$WS"')).output, 'made\nmine\n')
    assert.match(second.notices[0] ?? '', /^A write was refused: /)
    assert.is((await run('(exit 4) | true; false')).exitCode, 1)
    assert.is(
      (await run('cat', { stdin: { kind: 'text', text: `given ${workspace}` } })).output,
      `given ${workspace}`,
    )
    const apart = await run('echo out; echo err >&2', { streams: 'separate' })
    assert.is(`${apart.stdout}${apart.stderr}`, 'out\nerr\n')
    assert.is((await run('seq 200000 | tail -1')).output, '200000\n')
  },
)

testInside(
  'no run enters a session that is confined otherwise',
  async ({ run, workspace, outside }) => {
    const free = await run('echo free', { sandbox: 'off' })
    assert.is(free.output, 'free\n')
    for (const changes of [{}, { network: 'off' as const }, { sandbox: 'read-only' as const }]) {
      const result = await run('echo x >"$OUT/target"', changes)
      assert.is(result.status, 'not_started')
      assert.is(result.error?.code, 'session_sandbox')
    }
    assert.is((await run('true', { session: 'other', network: 'off' })).exitCode, 0)
    assert.is((await run('true', { session: 'other' })).error?.code, 'session_sandbox')
    assert.is(
      (await run('true', { session: 'other', sandbox: 'off' })).error?.code,
      'session_sandbox',
    )
    const elsewhere = {
      session: 'other',
      network: 'off',
      workspace: outside,
      cwd: outside,
    } as const
    assert.is((await run('true', elsewhere)).error?.code, 'session_sandbox')
    writeFileSync(join(workspace, 'mine'), 'still\n')
  },
)

testInside(
  'a stop ends the command of a sandboxed session, not its shell',
  async ({ run, stopWhenUp }) => {
    await run('x=kept')
    const stopped = await stopWhenUp('echo >"$WS/up"; sleep 300; echo not reached')
    assert.is(stopped.status, 'stopped')
    assert.is(stopped.reason, 'cancel')
    assert.equal(stopped.survivors, [])
    assert.is((await run('echo $x')).output, 'kept\n')
  },
)

testInside(
  'a shell that ends is followed by one that is confined too',
  async ({ run, observe }) => {
    const before = observe()
    assert.is((await run('exit 3')).exitCode, 3)
    const next = await run('echo again; echo x >"$OUT/target"')
    assert.match(next.output ?? '', /^again\n/)
    assert.is(observe(), before)
    assert.ok(next.notices.some((notice) => notice.includes('fresh one')))
  },
)

testInside(
  'the background of a sandboxed session lives with it and cannot reach out',
  async ({ run, observe }) => {
    const before = observe()
    await run('(while sleep 0.05; do echo x >"$OUT/target"; done) >/dev/null 2>&1 & echo started')
    assert.match((await run('sleep 0.2; jobs')).output ?? '', 'Running')
    assert.is(observe(), before)
  },
)

test.run()
