import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import {
  client as createClient,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
} from '@agentclientprotocol/sdk'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../helpers/cli.ts'
import { openHome } from '../helpers/jobs.ts'
import {
  artifactIn,
  askModel,
  bash,
  logIn,
  promptModel,
  script,
  type ToolCall,
  withMcp,
  withRpc,
} from '../helpers/model-doors.ts'
import { models, type ModelServer, withModelServer } from '../helpers/model-server.ts'
import { runCli } from '../helpers/run-cli.ts'
import { findObstacle } from '../helpers/sandbox-places.ts'
import { atPrompt } from '../helpers/screen.ts'
import { until } from '../helpers/until.ts'

/** What a person has, which is nobody else's. */
interface World {
  server: ModelServer
  workspace: string
  /** A folder beside the workspace, not below `/tmp`. */
  outside: string
  job: string
  artifact: string
  /** Where its bytes are. */
  path: string
  /** What the names of its files in `/tmp` begin with. */
  tag: string
}

type Sandbox = 'off' | 'workspace' | 'read-only'
interface Cell {
  name: string
  call: ToolCall
  /** By sandbox, where that makes a difference. `auto` is `workspace` where the system has one. */
  answer: RegExp | Record<Sandbox, RegExp>
}

const without = (text: string) => new RegExp(`^(?![^]*${text})`)

/** What every owner may ask of the system: `more` is `session`, or nothing for a fresh shell. */
function commandCells(world: World, owner: string, more: object = {}): Cell[] {
  const { workspace, outside, path, tag } = world
  const cell = (
    name: string,
    command: string,
    answer: Cell['answer'],
    rest: object = {},
  ): Cell => ({
    name,
    call: bash(command, { ...more, ...rest }),
    answer,
  })
  const readOnly = /Read-only file system/
  // What is not there inside is not refused: its folder is another one.
  const hidden = /No such file/
  const below = join(workspace, 'sub')
  return [
    cell('its directory', 'pwd', new RegExp(`^${workspace}$`, 'm')),
    cell('a file of the workspace', 'cat mine', /^of the workspace$/m),
    cell('a write in the workspace', 'echo x >made && echo written', {
      off: /^written$/m,
      workspace: /^written$/m,
      'read-only': readOnly,
    }),
    cell('a file outside', `cat ${outside}/target`, /^of outside$/m),
    cell('a write outside', `echo x >>${outside}/written && echo written`, {
      off: /^written$/m,
      workspace: readOnly,
      'read-only': readOnly,
    }),
    cell("a person's kept output by its path", `head -n 1 ${path}`, {
      // Without a sandbox a command reads what its user can.
      off: /^kept of a person$/m,
      workspace: hidden,
      'read-only': hidden,
    }),
    cell("a person's file in /tmp", `cat /tmp/${tag}-person`, {
      off: /^of a person$/m,
      workspace: hidden,
      'read-only': hidden,
    }),
    // `/tmp` is private, and as writable as anywhere, in every sandbox; of one server, each owner has its own.
    cell("others' files in /tmp", `echo >/tmp/${tag}-${owner}; ls /tmp | grep ${tag} | xargs`, {
      off: new RegExp(`${tag}-person`),
      workspace: new RegExp(`^${tag}-${owner}$`, 'm'),
      'read-only': new RegExp(`^${tag}-${owner}$`, 'm'),
    }),
    cell('a directory below', 'pwd', new RegExp(`^${below}$`, 'm'), { cwd: below }),
    cell(
      'a directory outside',
      'pwd',
      {
        off: new RegExp(`^${outside}$`, 'm'),
        workspace: /outside the workspace/,
        'read-only': /outside the workspace/,
      },
      { cwd: outside },
    ),
  ]
}

/** What only a model asks, by the tools that it has: the sandbox makes no difference to who owns what. */
function modelCells({ job, artifact }: World, more: object = {}): Cell[] {
  const ofJob = (action: string, rest: object = {}): Cell => ({
    name: `${action} a person's job`,
    call: ['bash_job', { action, job_id: job, ...rest }],
    answer: /^There is no job|There is no job `/,
  })
  const forged = (id: string): Cell => ({
    name: `an artifact by the id ${id}`,
    call: ['artifact', { id }],
    answer: /No such artifact/,
  })
  return [
    { name: 'much output', call: bash('seq 5000', more), answer: /\.log/ },
    {
      name: 'its first kept output by its path',
      call: (replies) => bash(`tail -n 1 ${logIn(replies.at(-1))}`, more),
      answer: /^5000$/m,
    },
    { name: 'much output again', call: bash('seq 6000', more), answer: /\.log/ },
    {
      name: 'its own output by its id',
      call: (replies) => ['artifact', { id: artifactIn(replies.at(-1)), tail: 1 }],
      answer: /^6000/,
    },
    {
      name: 'a later output by its path',
      call: (replies) => bash(`tail -n 1 ${logIn(replies.at(-2))}`, more),
      answer: /^6000$/m,
    },
    forged(artifact),
    forged(`artifact://${artifact}`),
    forged(`../artifacts/${artifact}`),
    forged('art_/../../../../../../etc/passwd'),
    { name: 'which jobs there are', call: ['bash_job', { action: 'list' }], answer: without(job) },
    ofJob('read'),
    ofJob('wait', { wait_seconds: 0.1 }),
    ofJob('write', { text: 'echo typed by a model\n' }),
    ofJob('kill'),
    {
      name: 'a job by a path',
      call: ['bash_job', { action: 'read', job_id: `../jobs/${job}` }],
      answer: /There is no job/,
    },
    {
      name: 'what would write to the clipboard and the title of its reader',
      call: bash(String.raw`printf '\033]52;c;ZXZpbA==\007\033]0;title\007\033[21tplain\n'`, more),
      answer: /^plain\n/,
    },
  ]
}

function assertAnswers(cells: readonly Cell[], replies: readonly string[], sandbox: Sandbox) {
  const wrong = cells.flatMap(({ name, answer }, at) => {
    const wanted = answer instanceof RegExp ? answer : answer[sandbox]
    const told = replies[at] ?? '(nothing)'
    return wanted.test(told) ? [] : [`${name}: ${told.slice(0, 500)}\n  not ${String(wanted)}`]
  })
  assert.equal(wrong, [])
}

/** As `ask` of a door that takes one call after another. */
async function askEach(
  calls: readonly ToolCall[],
  one: (name: string, args: Record<string, unknown>) => Promise<string>,
): Promise<string[]> {
  const replies: string[] = []
  const resolve = (call: ToolCall): readonly [string, object] =>
    typeof call === 'function' ? resolve(call(replies)) : call
  for (const call of calls) {
    const [name, args] = resolve(call)
    replies.push(await one(name, args as Record<string, unknown>))
  }
  return replies
}

/** What `auto` comes to is asked in fresh shells alone. */
const ofModel = (world: World, owner: string, flags: readonly string[]) => [
  ...modelCells(world),
  ...commandCells(world, owner),
  ...(flags.includes('auto')
    ? []
    : [
        ...modelCells(world, { session: 's' }).slice(0, 5),
        ...commandCells(world, owner, { session: 's' }),
      ]),
]

type Door = (world: World, flags: string[], sandbox: Sandbox) => Promise<void>

/** One process a door and setting. */
const doors: Readonly<Record<string, Door>> = {
  /** A person's: each command is a process, whose own outputs end with it; a session would too. */
  async print(world, flags, sandbox) {
    const cells = commandCells(world, 'print')
    const { env } = world.server.home
    const replies = await askEach(
      cells.map(({ call }) => call),
      async (_, { command, cwd = world.workspace }) => {
        // Its `--cwd` is the directory of the door, by which the workspace is found if nothing names that.
        const places = ['--cwd', String(cwd), '--workspace', world.workspace]
        const words = ['-c', String(command), ...places, ...flags]
        const ended = await runCli(words, { cwd: world.workspace, env })
        return `${String(ended.stdout)}${String(ended.stderr)}`
      },
    )
    assertAnswers(cells, replies, sandbox)
  },

  async prompt(world, flags, sandbox) {
    const cells = ofModel(world, 'prompt', flags)
    const text = `matrix of prompt with ${flags.join(' ')}`
    const calls = cells.map(({ call }) => call)
    const { replies } = await askModel(world.server, text, calls, [...flags, '--max-steps', '100'])
    assertAnswers(cells, replies, sandbox)
  },

  async repl(world, flags, sandbox) {
    const { server, workspace } = world
    const cells = ofModel(world, 'repl', flags)
    const text = `matrix of repl with ${flags.join(' ')}`
    const replies = script(
      server,
      text,
      cells.map(({ call }) => call),
    )
    const given = Object.entries(server.home.env).filter(([, value]) => value !== undefined)
    const env = {
      ...(Object.fromEntries(given) as Record<string, string>),
      XDG_CONFIG_HOME: join(server.home.dir, '.config'),
    }
    const args = ['--model', models[0], '--cwd', workspace, '--max-steps', '100', ...flags]
    await atPrompt({ args, env }, async (screen) => {
      screen.type(`${text}\r`)
      await until(
        () => replies.length === cells.length,
        () => screen.text(),
      )
    })
    assertAnswers(cells, replies, sandbox)
  },

  /** A person's commands, a host's calls of tools and a conversation, side by side in one process. */
  async rpc(world, flags, sandbox) {
    const { server, workspace } = world
    const env = { ...server.home.env, NACRE_MODEL: models[0] } as Record<string, string>
    await withRpc(
      { env },
      async (call, client) => {
        for (const session of [{}, { session: 'p' }]) {
          const cells = commandCells(world, 'exec', session)
          const replies = await askEach(
            cells.map(({ call }) => call),
            async (_, args) => {
              const given = args as { command: string }
              try {
                const { stdout, stderr, error } = await client.request('shell.exec', given)
                return `${stdout}${stderr}${error?.message ?? ''}`
              } catch (error) {
                return String(error)
              }
            },
          )
          assertAnswers(cells, replies, sandbox)
        }
        const cells = ofModel(world, 'call', flags)
        const replies = await askEach(
          cells.map(({ call }) => call),
          async (name, args) => (await call(name, args)).text,
        )
        assertAnswers(cells, replies, sandbox)

        const ofPrompt = ofModel(world, 'talk', flags)
        const text = `matrix of rpc with ${flags.join(' ')}`
        const told = await promptModel(
          server,
          client,
          text,
          ofPrompt.map(({ call }) => call),
        )
        assertAnswers(ofPrompt, told, sandbox)
      },
      { flags: [...flags, '--max-steps', '100'], cwd: workspace },
    )
  },

  async mcp(world, flags, sandbox) {
    const cells = ofModel(world, 'mcp', flags)
    const env = world.server.home.env as Record<string, string>
    await withMcp(
      { env },
      async (call, client) => {
        const replies = await askEach(
          cells.map(({ call }) => call),
          async (name, args) => (await call(name, args)).text,
        )
        assertAnswers(cells, replies, sandbox)
        const uris = ['artifact://../../../etc/passwd', `artifact://${world.artifact}`]
        for (const uri of uris) {
          const failure = await client.readResource({ uri }).catch((error: unknown) => error)
          assert.match(String(failure), /No such artifact/)
        }
      },
      { flags, cwd: world.workspace },
    )
  },

  /** Two conversations of an editor in one process. */
  async acp(world, flags, sandbox) {
    const { server, workspace } = world
    const [program = '', ...words] = cliCommand()
    const options = ['--model', models[0], '--max-steps', '100', ...flags]
    const child = spawn(program, [...words, 'acp', ...options], {
      cwd: workspace,
      env: { ...process.env, ...server.home.env },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const ended = new Promise((resolve) => child.once('close', resolve))
    const connection = createClient({ name: 'test' })
      .onNotification(methods.client.session.update, () => undefined)
      .connect(
        ndJsonStream(
          Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
          Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
        ),
      )
    try {
      const { agent } = connection
      const [protocolVersion, clientCapabilities] = [PROTOCOL_VERSION, {}]
      await agent.request(methods.agent.initialize, { protocolVersion, clientCapabilities })
      for (const owner of ['one', 'two']) {
        const cells = owner === 'one' ? ofModel(world, owner, flags) : commandCells(world, owner)
        const text = `matrix of acp ${owner} with ${flags.join(' ')}`
        const calls = cells.map(({ call }) => call)
        const replies = script(server, text, calls)
        const { sessionId } = await agent.request(methods.agent.session.new, {
          cwd: workspace,
          mcpServers: [],
        })
        const prompt = [{ type: 'text' as const, text }]
        await agent.request(methods.agent.session.prompt, { sessionId, prompt })
        assertAnswers(cells, replies, sandbox)
      }
      child.stdin.end()
      await ended
    } finally {
      connection.close()
      child.kill('SIGKILL')
      await ended
    }
  },
}

async function withWorld(use: (world: World) => Promise<void>): Promise<void> {
  const person = openHome()
  const outside = realpathSync(mkdtempSync('/var/tmp/nacre-matrix-'))
  const tag = `nacre-matrix-${process.pid}`
  try {
    await withModelServer(async (server) => {
      const { workspace, env } = server.home
      Object.assign(env, person.env)
      mkdirSync(join(workspace, 'sub'))
      writeFileSync(join(workspace, 'mine'), 'of the workspace\n')
      writeFileSync(join(outside, 'target'), 'of outside\n')
      writeFileSync(`/tmp/${tag}-person`, 'of a person\n')
      const job = await person.start('echo up; cat', '--pty')
      const keep = ['-c', 'echo kept of a person', '--artifact', 'always']
      const kept = (await person.json(keep))['artifact'] as { id: string; path: string }
      const place = { artifact: kept.id, path: kept.path }
      await use({ server, workspace, outside, job, tag, ...place })
      const shown = await person.json(['job', 'show', job])
      assert.is(shown['status'], 'running')
      const read = await person.run(['job', 'read', job])
      assert.not.match(read.stdout.toString(), 'typed by a model')
    })
  } finally {
    await person.close()
    rmSync(outside, { recursive: true })
    await runCli(['-c', `rm -f /tmp/${tag}-*`])
  }
}

const obstacle = await findObstacle()
if (obstacle !== null) console.log(`SKIP the doors in sandboxes: ${obstacle}`)

const settings = (['off', 'auto', 'workspace', 'read-only'] as const).slice(0, obstacle ? 1 : 4)
/** Names of doors, to try these alone. */
const wanted = process.env['NACRE_TEST_DOORS']?.split(' ')

for (const [name, door] of Object.entries(doors)) {
  if (wanted?.includes(name) === false) continue
  test(`${name}: what is whose, in each sandbox`, () =>
    withWorld(async (world) => {
      for (const setting of settings) {
        const sandbox = setting === 'auto' ? 'workspace' : setting
        await door(world, ['--sandbox', setting], sandbox)
      }
    }))
}

test.run()
