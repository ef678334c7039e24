import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runCli, runJson } from '../helpers/run-cli.ts'
import { type Screen, atPrompt } from '../helpers/screen.ts'

/** U+2028 is a line break for JavaScript's readline and for nothing else. */
const command = `echo 'line \u2028 sep'; echo up; read x; echo "got $x"; sleep 300`

/** Runs a test in a REPL beside a job on a terminal that another nacre holds. */
function withJob(use: (screen: Screen, id: string, env: Record<string, string>) => Promise<void>) {
  return atPrompt({}, async (screen) => {
    const env = { XDG_STATE_HOME: join(screen.home, 'state') }
    const options = ['--pty', '--background', '--ready', 'regex:^up']
    const id = String((await runJson(['-c', command, ...options], { env }))['job_id'])
    try {
      await use(screen, id, env)
    } finally {
      await runCli(['job', 'kill', id], { env })
    }
  })
}

test('a job of another nacre is listed, read, typed into, left and killed in the REPL', () =>
  withJob(async (screen, id, env) => {
    await screen.answers('/jobs\r', `${id}  running`)
    await screen.answers(`/view ${id}\r`, /line [^]+ sep\nup/)
    screen.type('q')
    await screen.hides(/\nup\n/)
    screen.type(`/attach ${id}\r`)
    await screen.shows(new RegExp(`^! nacre job attach ${id}\nline [^]+ sep\nup`, 'm'))
    await screen.answers('typed\r', 'got typed')
    await screen.answers('\u001D', '✓ exit 0')
    assert.is((await runJson(['job', 'show', id], { env }))['status'], 'running')
    await screen.answers(`/kill ${id}\r/jobs\r`, `${id}  stopped`)
  }))

test('of a job with a stream for its errors, both streams are seen', () =>
  atPrompt({}, async (screen) => {
    const env = { XDG_STATE_HOME: join(screen.home, 'state') }
    const words = ['-c', 'seq 3000; echo wrong >&2', '--background']
    const id = String((await runJson(words, { env }))['job_id'])
    await runCli(['job', 'wait', id], { env })
    await screen.answers(`/view ${id}\r`, /2999\n3000\nwrong\n[^]*3001/)
    await screen.answers('?^2$\r', /^2\n3\n/)
  }))

test('who attaches to a job of another nacre waits for its end, and hears how it was', () =>
  withJob(async (screen, id, env) => {
    await screen.answers(`/attach ${id}\r`, /^up$/m)
    await runCli(['job', 'kill', id], { env })
    await screen.shows('✗ exit 143')
  }))

test.run()
