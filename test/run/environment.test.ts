import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../lib/executor/executor.ts'
import type { Origin, RequestInput } from '../../lib/protocol/request/request.ts'

const keys = {
  ANTHROPIC_AUTH_TOKEN: 'secret-1',
  CLAUDE_CODE_OAUTH_TOKEN: 'secret-2',
  AZURE_OPENAI_API_KEY: 'secret-3',
  OPENAI_API_KEY: 'secret-4',
  MY_OWN_KEY: 'secret-5',
}

const test = suite('environment')

/** How many of the keys a command sees that `origin` asks for. */
async function countKeys(origin: Origin, pty: boolean): Promise<number> {
  const environment = { ...process.env, ...keys }
  const executor = createExecutor({ stateDir: null, environment, modelKeys: ['MY_OWN_KEY'] })
  try {
    const { output } = await executor.run({ command: 'env', origin, pty, streams: 'merged' })
    return Object.values(keys).filter((key) => output?.includes(key)).length
  } finally {
    await executor.close()
  }
}

for (const pty of [false, true]) {
  for (const origin of ['agent', 'mcp'] as const) {
    test(`no key of a model provider reaches a command of ${origin}, pty ${pty}`, async () => {
      assert.is(await countKeys(origin, pty), 0)
    })
  }
  for (const origin of ['print', 'rpc', 'repl'] as const) {
    test(`a command of a person or script keeps its keys: ${origin}, pty ${pty}`, async () => {
      assert.is(await countKeys(origin, pty), Object.keys(keys).length)
    })
  }
}

/** What is promised to programs that nobody watches, in the words of the promise. */
const promised: Record<string, string> = {
  'PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER BAT_PAGER DELTA_PAGER GH_PAGER GLAB_PAGER': 'cat',
  'PSQL_PAGER MYSQL_PAGER HOMEBREW_PAGER': 'cat',
  AWS_PAGER: '',
  LESS: 'FRX',
  'EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR': 'true',
  'GIT_TERMINAL_PROMPT YARN_ENABLE_TELEMETRY YARN_ENABLE_PROGRESS_BARS TF_INPUT': '0',
  GCM_INTERACTIVE: 'never',
  'GH_PROMPT_DISABLED CI PIP_NO_INPUT PIP_DISABLE_PIP_VERSION_CHECK TF_IN_AUTOMATION': '1',
  'COMPOSER_NO_INTERACTION CLOUDSDK_CORE_DISABLE_PROMPTS PYTHONUNBUFFERED NACRE': '1',
  DEBIAN_FRONTEND: 'noninteractive',
  'npm_config_yes PNPM_DISABLE_SELF_UPDATE_CHECK': 'true',
  'npm_config_update_notifier npm_config_fund npm_config_audit npm_config_progress': 'false',
  PNPM_UPDATE_NOTIFIER: 'false',
  CARGO_TERM_PROGRESS_WHEN: 'never',
}

async function readEnvironment(
  input: Partial<RequestInput>,
): Promise<Record<string, string | undefined>> {
  const executor = createExecutor({ stateDir: null, environment: { PATH: process.env['PATH'] } })
  try {
    const { output } = await executor.run({ command: 'env', origin: 'print', ...input })
    const lines = (output ?? '').split('\n').map((line) => line.split(/=(.*)/s))
    return Object.fromEntries(lines.map(([name, value]) => [name, value]))
  } finally {
    await executor.close()
  }
}

test('a command that nobody watches finds what is promised, and no other one', async () => {
  const [hard, soft, asked, pty] = await Promise.all([
    readEnvironment({ command: 'env' }),
    readEnvironment({ command: 'env', hardening: false }),
    readEnvironment({ command: 'env', env: { PAGER: 'mine', CI: '' } }),
    readEnvironment({ command: 'env', pty: true }),
  ])
  const wanted = Object.entries(promised).flatMap(([names, value]) =>
    names.split(' ').map((name) => [name, value] as const),
  )
  for (const [name, value] of wanted) assert.is(hard[name], value, name)
  assert.equal([hard['TERM'], hard['NO_COLOR']], ['dumb', '1'])
  assert.match(hard['SSH_ASKPASS'] ?? '', /\/false$/)
  assert.is(hard['SUDO_ASKPASS'], hard['SSH_ASKPASS'])
  assert.equal([asked['PAGER'], asked['CI']], ['mine', ''])
  assert.equal([pty['PAGER'], pty['TERM'], pty['NO_COLOR']], ['cat', 'xterm-256color', undefined])
  // What is set beside the promise: the marks of a run, and what a shell sets by itself.
  const own = ['NACRE_RUN', 'NACRE_OWNER', 'PWD', 'OLDPWD', 'SHLVL', '_', 'PATH', '']
  const known = new Set([...wanted.map(([name]) => name), ...own, 'TERM', 'NO_COLOR'])
  const others = Object.keys(hard).filter((name) => !known.has(name))
  assert.equal(others, ['SSH_ASKPASS', 'SUDO_ASKPASS'])
  assert.equal(
    Object.keys(soft).filter((name) => !own.includes(name)),
    ['NACRE'],
  )
})

test('no key stands in /proc of nacre once a model has chosen a command', async () => {
  if (process.platform !== 'linux') return console.log('SKIP keys in /proc: there is none')
  const secret = `secret-${Math.random()}`
  const child = spawn(process.execPath, ['--import', 'tsx', '-e', program], {
    cwd: join(import.meta.dirname, '..', '..'),
    env: { ...process.env, OPENAI_API_KEY: secret, MY_OWN_KEY: `${secret}=` },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  for await (const chunk of child.stdout) text += String(chunk)
  const [before, own, seen, handed] = text.split('\n')
  assert.is(before, '2')
  assert.is(own, secret)
  assert.is(seen, '0')
  assert.is(handed, secret)
})

/** Runs a command of a model, which looks for the key in this process, then one of a person. */
const program = `
  import('./lib/executor/executor.ts').then(async ({ createExecutor }) => {
    const executor = createExecutor({ stateDir: null, modelKeys: ['MY_OWN_KEY'] })
    const count = "tr '\\\\0' '\\\\n' </proc/" + process.pid + "/environ | grep -c secret-"
    const run = (command, origin) => executor.run({ command, origin, streams: 'merged', sandbox: 'off' })
    const tell = ({ output }) => console.log(output.trim())
    tell(await run(count, 'print'))
    console.log(process.env.OPENAI_API_KEY)
    tell(await run(count, 'agent'))
    tell(await run('echo $OPENAI_API_KEY', 'print'))
    await executor.close()
  })`

test.run()
