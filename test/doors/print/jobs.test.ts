import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  type ModelServer,
  models,
  textOfRequest,
  withModelServer,
} from '../../helpers/model-server.ts'
import { runCli } from '../../helpers/run-cli.ts'

const [model] = models

const textOf = ({ content }: { content?: unknown }) => (typeof content === 'string' ? content : '')

/** Lets a model make these calls of `bash` one after another; then it is done. */
function script({ mock }: ModelServer, ...calls: object[]): void {
  mock.onMessage(/./, ({ messages }) => {
    const given = calls[messages.filter(({ role }) => role === 'tool').length]
    if (given === undefined) return { content: 'Done.' }
    return { toolCalls: [{ name: 'bash', arguments: JSON.stringify(given) }] }
  })
}

async function nacre({ home }: ModelServer, args: string[]) {
  const { workspace: cwd, env } = home
  const { stdout, stderr, status } = await runCli(args, { cwd, env })
  return { stdout: stdout.toString(), stderr: stderr.toString(), status }
}

const prompt = (server: ModelServer, ...args: string[]) =>
  nacre(server, ['-p', 'go', '--model', model, ...args])

interface Told {
  jobs: { id: string; command: string }[]
}

const ways = [
  { command: 'exec sleep 1000', mode: 'background' },
  { command: 'exec sleep 1000', wait_seconds: 0.1 },
  { command: 'exec sleep 1000', timeout: 1 },
  { command: 'sleep 1000', mode: 'background', session: 'work' },
]
for (const way of ways) {
  const { command, ...how } = way
  test(`a job that the model starts with ${JSON.stringify(how)} lives on, and is named`, () =>
    withModelServer(async (server) => {
      script(server, way)
      const { stdout, stderr, status } = await prompt(server, '--output-format', 'json')
      assert.is(status, 0, stderr)
      const { jobs } = JSON.parse(stdout) as Told
      const id = jobs[0]?.id ?? ''
      try {
        assert.equal(jobs, [{ id, command }])
        assert.match(stderr, `nacre: Job ${id} goes on: $ ${command}`)
        assert.match(stderr, `nacre job kill ${id}`)
        const shown = await nacre(server, ['job', 'show', id, '--output-format', 'json'])
        assert.is((JSON.parse(shown.stdout) as { status: string }).status, 'running')
        assert.match(textOfRequest(server.requests().at(-1)), id)
      } finally {
        await nacre(server, ['job', 'kill', id])
      }
    }))
}

test('a run that its model has waited for long enough goes on, and its whole work can be had', () =>
  withModelServer(async (server) => {
    const { mock, home } = server
    mock.onMessage(/./, ({ messages }) => {
      const replies = messages.filter(({ role }) => role === 'tool').map(textOf)
      const jobId = /job id: (\w+)/.exec(replies[0] ?? '')?.[1]
      const calls = [
        { name: 'bash', arguments: { command: 'echo begun; read x < fifo; echo $x', timeout: 1 } },
        { name: 'bash', arguments: { command: 'echo the end > fifo' } },
        { name: 'bash_job', arguments: { action: 'wait', job_id: jobId } },
      ]
      const call = calls[replies.length]
      if (!call) return { content: replies.at(-1) ?? '' }
      return { toolCalls: [{ ...call, arguments: JSON.stringify(call.arguments) }] }
    })
    execFileSync('mkfifo', [join(home.workspace, 'fifo')])
    const { stdout, stderr } = await prompt(server, '--output-format', 'json')
    const { text, jobs } = JSON.parse(stdout) as Told & { text: string }
    assert.match(text, /^begun\nthe end\n[\s\S]*\[exit status 0/)
    assert.equal(jobs, [], stderr)
  }))

test('a job that lives on is sandboxed, judged by the rules of the call, and told of at its end', () =>
  withModelServer(async (server) => {
    const { home, mock } = server
    const outside = join(home.dir, 'outside')
    const command = `rm -rf $UNKNOWN_X; echo in > inside; echo out > ${outside}; read x < fifo`
    execFileSync('mkfifo', [join(home.workspace, 'fifo')])
    script(
      server,
      { command, mode: 'background' },
      { command: 'echo go > fifo; while [ ! -e inside ]; do :; done' },
      { command: 'true', wait_seconds: 10 },
    )
    const args = ['--allow', 'rm', '--output-format', 'json']
    const { stdout, stderr } = await prompt(server, ...args)
    assert.equal((JSON.parse(stdout) as Told).jobs, [], stderr)
    assert.match(textOfRequest(server.requests().at(-1)), 'Ended in the background')
    assert.ok(existsSync(join(home.workspace, 'inside')))
    assert.not.ok(existsSync(outside))
    mock.reset()
  }))

test.run()
