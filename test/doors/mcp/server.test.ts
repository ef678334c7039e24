import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import {
  type CallToolResult,
  ErrorCode,
  type McpError,
  ResultSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { limits } from '../../../lib/protocol/limits.ts'
import { readProcess } from '../../../lib/system/process/process-table.ts'
import { cliCommand } from '../../helpers/cli.ts'
import { endJobs } from '../../helpers/jobs.ts'
import { runProgram } from '../../helpers/run-program.ts'
import { hear, until } from '../../helpers/until.ts'

interface Structured {
  status: string
  exit_code: number | null
  output: string
  origin: string
  job_id: string | null
  artifact: { id: string; uri: string; path: string } | null
  verdict: { rule: string } | null
  jobs?: { id: string }[]
}

async function withClient(
  use: (client: Client, transport: StdioClientTransport) => Promise<void>,
  args: string[] = ['--structured'],
  name = 'test',
): Promise<void> {
  const [program = '', ...words] = cliCommand()
  const state = mkdtempSync(join(tmpdir(), 'mcp-'))
  const transport = new StdioClientTransport({
    command: program,
    args: [...words, 'mcp', ...args],
    env: { ...(process.env as Record<string, string>), XDG_STATE_HOME: state },
  })
  const client = new Client({ name, version: '1' })
  await client.connect(transport)
  try {
    await use(client, transport)
  } finally {
    await client.close()
    await endJobs(state)
    rmSync(state, { recursive: true })
  }
}

async function call(
  client: Client,
  name: string,
  args: Record<string, unknown>,
  options: Parameters<Client['callTool']>[2] = {},
): Promise<{ text: string; data: Structured; isError: boolean }> {
  const result = (await client.callTool(
    { name, arguments: args },
    undefined,
    options,
  )) as CallToolResult
  const [first] = result.content
  return {
    text: first?.type === 'text' ? first.text : '',
    data: result.structuredContent as unknown as Structured,
    isError: result.isError ?? false,
  }
}

test('lists the tools with their annotations', () =>
  withClient(async (client) => {
    const { tools } = await client.listTools()
    assert.equal(
      tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint]),
      [
        ['bash', false],
        ['bash_job', false],
        ['artifact', true],
      ],
    )
    assert.match(tools[0]?.description ?? '', process.cwd())
    assert.match(client.getInstructions() ?? '', /bash_job[^]*artifact/)
  }))

test('a result is a text that is complete in itself', () =>
  withClient(async (client) => {
    const result = (await client.callTool({
      name: 'bash',
      arguments: { command: 'echo hi; exit 3' },
    })) as CallToolResult
    assert.equal(result, {
      content: [{ type: 'text', text: 'hi\n[exit status 3]' }],
      isError: false,
    })
    const cut = await call(client, 'bash', { command: 'seq 1 5000' })
    assert.match(cut.text, /Lines 3001-5000 of 5000 .*artifact \{"id": "art_/)
    const job = await call(client, 'bash', { command: 'sleep 300', mode: 'background' })
    assert.match(job.text, /bash_job \{"action": "wait", "job_id": "run_/)
  }, []))

test('a result is data too where that is asked for, without empty fields', () =>
  withClient(async (client) => {
    const { data, isError } = await call(client, 'bash', { command: 'echo hi; exit 3' })
    assert.is(data.status, 'exited')
    assert.is(data.exit_code, 3)
    assert.is(data.output, 'hi\n')
    assert.is(data.origin, 'mcp')
    assert.not(isError)
    assert.not(Object.values(data).includes(null))
  }))

test('an error is only what did not run, or was stopped', () =>
  withClient(async (client) => {
    const cases: [command: string, timeout: number, isError: boolean][] = [
      ['exit 3', 60, false],
      ['kill -SEGV $$', 60, false],
      ['sleep 300', 1, true],
      ['git add -A', 60, true],
    ]
    for (const [command, timeout, isError] of cases) {
      const result = await call(client, 'bash', { command, timeout, on_timeout: 'kill' })
      assert.is(result.isError, isError, `${command}: ${result.text}`)
    }
  }))

test('arguments that models send by habit are understood', () =>
  withClient(async (client) => {
    const cases: [Record<string, unknown>, RegExp][] = [
      [{ command: 'pwd', workdir: '/', description: 'Where am I?' }, /^\/\n/],
      [{ cmd: 'echo hi', timeout: '60' }, /^hi\n/],
      [{ command: 'echo "$PORT $CI"', env: { PORT: 8080, CI: true } }, /^8080 true\n/],
      [{ command: 'sleep 300', timeout_seconds: 1, on_timeout: 'kill' }, /may take 1\.0 s/],
      [{ command: 'sleep 300', run_in_background: 'true' }, /job id: run_/],
      [{ command: 'echo hi', run_in_background: false, cwd: null, env: null }, /^hi\n/],
      [{ command: 'test -t 1 && echo terminal', pty: 'true' }, /^terminal/],
    ]
    for (const [args, text] of cases) {
      assert.match((await call(client, 'bash', args)).text, text, JSON.stringify(args))
    }
    const twice = await call(client, 'bash', { command: 'true', timeout: 1, timeout_seconds: 2 })
    assert.ok(twice.isError)
    assert.match(twice.text, /`timeout_seconds` .* give `timeout` alone/)
    const both = await call(client, 'bash', {
      command: 'true',
      mode: 'slow',
      run_in_background: true,
    })
    assert.match(both.text, /`mode` and `run_in_background` contradict each other/)
  }))

test('a denial is an answer that says what to do', () =>
  withClient(async (client) => {
    const { data, isError, text } = await call(client, 'bash', { command: 'git add -A' })
    assert.is(data.status, 'denied')
    assert.is(data.verdict?.rule, 'git-add-blind')
    assert.match(text, /Denied, nothing was run/)
    assert.ok(isError)
  }))

test('wrong arguments are told by name', () =>
  withClient(async (client) => {
    const wrong = await call(client, 'bash', { command: 'true', timeout: 'soon' })
    assert.ok(wrong.isError)
    assert.match(wrong.text, /`timeout` must be a number, 0 or more, in seconds .*, not "soon"/)
    const unknown = await call(client, 'bash', { command: 'true', tiemout: 3 })
    assert.match(unknown.text, /`tiemout`; did you mean `timeout`/)
    const missing = await call(client, 'bash', {})
    assert.match(missing.text, /`command` is missing/)
  }))

test('a tool that is not there is an error of the protocol', () =>
  withClient(async (client) => {
    try {
      await client.callTool({ name: 'bsah', arguments: {} })
      assert.unreachable()
    } catch (error) {
      assert.match(String(error), /bsah.*did you mean `bash`/)
    }
  }))

test('parameters of a wrong shape are no fault of the server, and null is no argument', () =>
  withClient(async (client) => {
    const request = (method: string, params: object) =>
      client.request({ method, params } as never, ResultSchema)
    for (const [method, params, field] of [
      ['tools/call', { arguments: {} }, 'params.name'],
      ['tools/call', { name: 'bash', arguments: [] }, 'params.arguments'],
      ['resources/read', {}, 'params.uri'],
    ] as const) {
      const error = (await request(method, params).catch((why: unknown) => why)) as McpError
      assert.is(error.code, ErrorCode.InvalidParams)
      assert.match(error.message, `\`${field}\``)
    }
    const nothing = await request('tools/call', { name: 'bash', arguments: null })
    assert.match(JSON.stringify(nothing), '`command` is missing')
  }))

test('tells progress with live output', () =>
  withClient(async (client) => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-progress-'))
    let heard = ''
    // The client of the SDK drops what it reads together with the result: so the command waits to be heard.
    const onprogress = ({ message }: { message?: string | undefined }) => {
      heard += message
      const gate = { 'first\n': 'one', 'first\nsecond\n': 'two' }[heard]
      if (gate !== undefined) void writeFile(join(folder, gate), '\n')
    }
    try {
      // What comes soon after something else is held back for a moment.
      const command =
        'mkfifo one two; echo first; read -r <one; sleep 0.3; echo second; read -r <two'
      await call(client, 'bash', { command, cwd: folder }, { onprogress })
      assert.is(heard, 'first\nsecond\n')
    } finally {
      rmSync(folder, { recursive: true })
    }
  }))

test('a cancelled call stops its command', () =>
  withClient(async (client) => {
    const cancel = new AbortController()
    let pid = 0
    const onprogress = ({ message }: { message?: string | undefined }) => {
      pid = Number(message)
      cancel.abort()
    }
    try {
      const command = 'echo $$; exec sleep 300'
      await call(client, 'bash', { command, timeout: 60 }, { signal: cancel.signal, onprogress })
      assert.unreachable()
    } catch (error) {
      assert.not.match(String(error), /unreachable/)
    }
    await until(() => readProcess(pid) === null)
  }))

test('a call that waits for so long answers with a running job', () =>
  withClient(async (client) => {
    const started = await call(client, 'bash', { command: 'sleep 300', wait_seconds: 0.1 })
    assert.is(started.data.status, 'running')
    assert.not(started.isError)
    assert.match(started.text, /Still running after/)
    const id = started.data.job_id
    const killed = await call(client, 'bash_job', { action: 'kill', job_id: id })
    assert.is(killed.data.status, 'stopped')
  }))

test('a run that is not done at its deadline is handed over as a job, with what it has written', () =>
  withClient(async (client) => {
    const started = await call(client, 'bash', { command: 'echo begun; sleep 300', timeout: 1 })
    assert.is(started.data.status, 'running')
    assert.not(started.isError)
    assert.match(started.text, /^begun\nStill running after/)
    const killed = await call(client, 'bash_job', { action: 'kill', job_id: started.data.job_id })
    assert.is(killed.data.status, 'stopped')
  }))

test('two calls at once do not wait for each other', () =>
  withClient(async (client) => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-two-'))
    try {
      const meet = (own: string, other: string) =>
        call(client, 'bash', {
          command: `touch ${own}; until [ -e ${other} ]; do sleep 0.01; done; echo met`,
          cwd: folder,
        })
      const both = await Promise.all([meet('a', 'b'), meet('b', 'a')])
      assert.equal(
        both.map(({ data }) => data.output),
        ['met\n', 'met\n'],
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
  }))

test('complete output is read back as a resource and by the tool', () =>
  withClient(async (client) => {
    const { data } = await call(client, 'bash', { command: 'seq 1 5000' })
    const { id, uri } = data.artifact ?? { id: '', uri: '' }
    const { resources } = await client.listResources()
    assert.ok(resources.some((resource) => resource.uri === uri))
    const { resourceTemplates } = await client.listResourceTemplates()
    assert.is(resourceTemplates[0]?.uriTemplate, 'artifact://{id}')
    const { contents } = await client.readResource({ uri })
    assert.match((contents[0] as { text: string }).text, /^1\n2\n3\n/)
    const tail = await call(client, 'artifact', { id, tail: 2 })
    assert.match(tail.text, /^4999\n5000/)
    const found = await call(client, 'artifact', { id: uri, grep: '^4242$' })
    assert.match(found.text, '4242:4242')
  }))

/** Beyond how many lines and characters clients cut an answer, by the names that they give. */
const cutting: [name: string, lines: number, chars: number][] = [
  ['opencode', 2000, 51_200],
  ['claude-code', Infinity, 50_000],
  ['gemini-cli-mcp-client', Infinity, 40_000],
  ['codex-mcp-client', Infinity, 48_000],
]
for (const [name, lines, chars] of cutting) {
  test(`what a tool says of its end fits where ${name} cuts`, () =>
    withClient(
      async (client) => {
        const fits = (text: string) => {
          assert.ok(text.split('\n').length <= lines, `${text.split('\n').length} lines`)
          assert.ok(Buffer.byteLength(text) <= chars, `${Buffer.byteLength(text)} bytes`)
        }
        for (const command of ['seq 1 5000', "for n in {1..900}; do printf '%0100d\\n' $n; done"]) {
          const { text, data } = await call(client, 'bash', { command })
          fits(text)
          assert.match(text, /artifact {"id": "art_\w+"}\)\.\]\n\[exit status 0\]\n?$/)
          const read = await call(client, 'artifact', { id: data.artifact?.id })
          fits(read.text)
          assert.match(read.text, /\[to go on: offset \d+\]$/)
        }
        const { data } = await call(client, 'bash', {
          command: 'seq 1 5000; sleep 60',
          wait_seconds: 0.1,
        })
        let job = ''
        await until(
          async () => {
            job = (await call(client, 'bash_job', { action: 'read', job_id: data.job_id })).text
            return /to go on reading: cursor \d+/.test(job)
          },
          () => job,
        )
        fits(job)
        await call(client, 'bash_job', { action: 'kill', job_id: data.job_id })
      },
      ['--structured'],
      name,
    ))
}

test('options of the command line are the defaults of its runs', () =>
  withClient(
    async (client) => {
      const { data } = await call(client, 'bash', { command: 'pwd; echo $X' })
      assert.is(data.output, '/\n5\n')
    },
    ['--structured', '--cwd', '/', '--env', 'X=5'],
  ))

test('nothing but the protocol is on stdout, whatever comes in', async () => {
  const [program = '', ...words] = cliCommand()
  const child = spawn(program, [...words, 'mcp'], { stdio: ['pipe', 'pipe', 'inherit'] })
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stdin.end(
    '{"jsonrpc": "2.0", "id": 1, "met\n[]\n{"jsonrpc":"2.0","id":2,"method":"nope"}\n{"half',
  )
  const [status] = (await hear(child, 'close')) as [number]
  assert.is(status, 0)
  const lines = stdout.trimEnd().split('\n')
  const codes = lines.map((line) => (JSON.parse(line) as { error: { code: number } }).error.code)
  assert.equal(codes, [-32_700, -32_600, -32_601, -32_700])
})

/** Gives the answers to requests that come from a file. */
async function askAtOnce(requests: readonly object[]): Promise<Map<unknown, CallToolResult>> {
  const [program = '', ...words] = cliCommand()
  const lines = requests.map((request) => `${JSON.stringify({ jsonrpc: '2.0', ...request })}\n`)
  const { stdout, status } = await runProgram(program, [...words, 'mcp'], {
    input: lines.join(''),
  })
  assert.is(status, 0)
  const answers = stdout.toString().trimEnd().split('\n')
  return new Map(
    answers
      .map((line) => JSON.parse(line) as { id: unknown; result: CallToolResult })
      .map(({ id, result }) => [id, result]),
  )
}

const initialize = {
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  },
}

function toolCall(id: number, args: object): object {
  return { id, method: 'tools/call', params: { name: 'bash', arguments: args } }
}

test('the patience for calls under way holds up no end of the input without any', async () => {
  const startedMs = performance.now()
  await askAtOnce([initialize])
  assert.ok(performance.now() - startedMs < limits.endOfInputMs.mcp)
})

test('calls under way at the end of the input are answered', async () => {
  const answers = await askAtOnce([
    initialize,
    toolCall(1, { command: 'sleep 1; echo late' }),
    toolCall(2, { command: 'sleep 300' }),
  ])
  assert.equal(answers.get(1)?.content, [{ type: 'text', text: 'late\n[exit status 0]' }])
  assert.ok(answers.get(2)?.isError)
})

test('a line of 16 MB is taken in time that is in proportion to its length', async () => {
  const remark = 'x'.repeat(16 * 1024 * 1024)
  const answers = await askAtOnce([
    initialize,
    toolCall(1, { command: 'echo hi', description: remark }),
  ])
  assert.equal(answers.get(1)?.content, [{ type: 'text', text: 'hi\n[exit status 0]' }])
})

test('a job outlives its client', () =>
  withClient(async (client) => {
    const { data } = await call(client, 'bash', {
      command: 'echo $$; exec sleep 300',
      wait_seconds: 0.1,
    })
    let pid = 0
    await until(async () => {
      const job = { action: 'read', job_id: data.job_id }
      pid = Number.parseInt((await call(client, 'bash_job', job)).text)
      return pid > 1
    })
    await client.close()
    assert.is(readProcess(pid)?.zombie, false)
  }))

test.run()
