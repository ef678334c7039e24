import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startClient } from '../../lib/client.ts'
import { createSecrets } from '../../lib/run/secrets.ts'
import { cliCommand } from '../helpers/cli.ts'
import { runCli } from '../helpers/run-cli.ts'

const test = suite('secrets')

const token = `ghp_${'a1B2'.repeat(9)}`
const given = {
  DB_PASSWORD: 'hunter22',
  REPO: `https://me:${token}@example.com/x.git`,
  PLAIN: 'seen',
}

interface Told {
  text: string
  notices: string[]
}

/** Gives a folder with a home whose start files export a token, and calls the tool of a model over `--rpc` there. */
async function withModel(
  use: (
    run: (args: Record<string, unknown>) => Promise<Told>,
    place: { home: string; env: NodeJS.ProcessEnv },
  ) => Promise<void>,
  config = {},
): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'nacre-test-'))
  try {
    writeFileSync(join(home, '.bashrc'), `export GITHUB_TOKEN=${token}\nexport CHOSEN=mine\n`)
    mkdirSync(join(home, 'config', 'nacre'), { recursive: true })
    writeFileSync(join(home, 'config', 'nacre', 'config.json'), JSON.stringify(config))
    mkdirSync(join(home, 'work'))
    const places = { XDG_CONFIG_HOME: join(home, 'config'), XDG_STATE_HOME: join(home, 'state') }
    const env = { ...process.env, ...given, ...places, HOME: home, SHELL: '/bin/bash' }
    const [program = '', ...words] = cliCommand()
    const command = [...words, '--rpc', '--sandbox', 'off', '--cwd', join(home, 'work')]
    const client = await startClient({ command: [program, ...command], env })
    try {
      await use(
        async (args) => {
          const { content, details } = await client.request('tool.call', {
            name: 'bash',
            arguments: args,
          })
          const [first] = content
          const { notices } = details as { notices: string[] }
          return { text: first?.type === 'text' ? first.text : '', notices }
        },
        { home, env },
      )
    } finally {
      await client.close()
    }
  } finally {
    rmSync(home, { recursive: true })
  }
}

const show = 'echo "<$DB_PASSWORD|$REPO|$GITHUB_TOKEN|$PLAIN|$CHOSEN>"'
const nothing = '<|||seen|mine>'

test('no secret of the environment or of start files reaches a command of a model, however it runs', () =>
  withModel(async (run) => {
    for (const how of [{}, { pty: true }, { session: 's' }, { session: 't', pty: true }]) {
      assert.match((await run({ command: show, ...how })).text, nothing, JSON.stringify(how))
    }
    const job = await run({ command: show, mode: 'background', wait_seconds: 20 })
    assert.match(job.text, nothing)
  }))

test('what is kept back is named once, and what passes by name is not kept back', () =>
  withModel(
    async (run) => {
      const first = await run({ command: show })
      const named = first.notices.filter((text) => text.includes('look like secrets'))
      assert.is(named.length, 1)
      assert.match(named[0] ?? '', 'GITHUB_TOKEN, REPO')
      assert.not.match(named[0] ?? '', 'DB_PASSWORD')
      assert.match(first.text, '<hunter22|||seen|mine>')
      assert.equal((await run({ command: show })).notices, [])
      const own = await run({ command: show, env: { GITHUB_TOKEN: 'own' } })
      assert.match(own.text, '<hunter22||own|seen|mine>')
    },
    { agent: { pass_env: ['DB_PASSWORD'] } },
  ))

test('no process of nacre shows a secret in /proc to a command of a model', async () => {
  if (process.platform !== 'linux') return console.log('SKIP secrets in /proc: there is none')
  await withModel(async (run) => {
    // The brackets keep the pattern out of its own command line.
    const command = `for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ | grep -q '^XDG_STATE_HOME='"$XDG_STATE_HOME" && tr '\\0' '\\n' < $p/environ | grep '^DB_PASSWORD=hunte[r]22'; done 2>/dev/null; echo looked`
    const { text } = await run({ command })
    assert.match(text, 'looked')
    assert.not.match(text, 'hunter22')
  })
})

test('a command of a person keeps all', async () => {
  for (const args of [
    ['-c', show],
    ['-p', `!${show}`],
  ]) {
    const { stdout } = await runCli(args, {
      env: { ...given, GITHUB_TOKEN: token, CHOSEN: 'mine' },
    })
    assert.is(stdout.toString().trim(), `<hunter22|${given.REPO}|${token}|seen|mine>`)
  }
})

test('the file of a workspace lets no secret pass, and does not switch off the audit', () =>
  withModel(async (_, { home, env }) => {
    const folder = join(home, 'work', '.nacre')
    mkdirSync(folder)
    writeFileSync(
      join(folder, 'config.json'),
      '{"agent":{"pass_env":["GITHUB_TOKEN"]},"audit":"off"}',
    )
    const { stderr } = await runCli(['-c', 'true'], { env, cwd: join(home, 'work') })
    for (const key of ['agent.pass_env', 'audit']) {
      assert.match(stderr.toString(), `\`${key}\` is ignored: a workspace may not set it`)
    }
  }))

for (const audit of ['on', 'no-commands', 'off'] as const) {
  test(`audit ${audit}: no secret stands in it`, () =>
    withModel(
      async (run, { home, env }) => {
        const command = `: hunter22 ghp_${'b'.repeat(36)} API_KEY=abc`
        await run({ command })
        await runCli(['-c', command], { env })
        const path = join(home, 'state', 'nacre', 'audit.jsonl')
        const lines = (existsSync(path) ? readFileSync(path, 'utf8') : '')
          .split('\n')
          .filter(Boolean)
        const commands = lines.map((line) => (JSON.parse(line) as { command: unknown }).command)
        const masked = ': [secret:DB_PASSWORD] [secret:github-token] API_KEY=[secret:API_KEY]'
        const line = { on: masked, 'no-commands': null, off: undefined }[audit]
        assert.equal(commands, line === undefined ? [] : [line, line])
      },
      { audit },
    ))
}

test('the table knows secrets by name or value, and nothing else', () => {
  const isSecret = createSecrets({ environment: {} }).withheldFrom('agent')
  const secrets = createSecrets({ environment: {} })
  const names = `GITHUB_TOKEN PGPASSWORD MYSQL_PWD AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID OPENAI_API_KEY STRIPE_APIKEY SENTRY_DSN
    RAILS_MASTER_KEY DJANGO_SECRET_KEY SECRET_KEY_BASE GH_PAT DB_PASS AZURE_STORAGE_CONNECTION_STRING AZURE_INFERENCE_CREDENTIAL
    npm_config__authToken SESSION_COOKIE GPG_PASSPHRASE AWS_BEARER_TOKEN_BEDROCK OPENAI_ADMIN_KEY DOCKER_AUTH_CONFIG`
  for (const name of names.split(/\s+/)) assert.ok(isSecret(name, 'x'), name)
  const others = `PATH HOME PWD OLDPWD SSH_AUTH_SOCK SSH_ASKPASS GIT_ASKPASS GOOGLE_APPLICATION_CREDENTIALS TOKENIZERS_PARALLELISM
    MAX_TOKENS VAULT_TOKEN_FILE PASSWORD_STORE_DIR GPG_KEY KEYMAP MONKEY XDG_SESSION_ID LS_COLORS TOKEN_URL GIT_AUTHOR_NAME`
  for (const name of others.split(/\s+/)) assert.not.ok(isSecret(name, '/some/where'), name)
  assert.not.ok(isSecret('NEEDS_PASSWORD', 'true'))
  const values = [
    token,
    'postgres://me:p%40x@db/x',
    `sk-proj-${'a'.repeat(40)}`,
    'AKIAIOSFODNN7EXAMPLE',
    'xoxb-1234567890-abc',
  ]
  const jwt = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${'s'.repeat(20)}`
  const key = '-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----'
  for (const value of [...values, jwt, key]) {
    assert.ok(isSecret('X', value), value)
    assert.match(
      secrets.mask(`echo '${value}' end`),
      /^echo '[a-z/:]*\[secret:[a-z-]+\](@db\/x)?' end$/,
    )
  }
  const plain =
    'git clone git@github.com:a/b.git && ssh me@host:22 x=1 PASSWORD=$PW TOKEN="$T" task-force-and-more-words-with-dashes'
  assert.is(secrets.mask(plain), plain)
})

test('a text made to be slow is masked at once', () => {
  const secrets = createSecrets({ environment: {} })
  for (const part of [
    'eyJ',
    'eyJ-',
    'eyJ.',
    '://a:',
    '://',
    'Bearer ',
    'sk-',
    'ghp_-',
    '-----BEGIN PRIVATE KEY-----',
    'x="',
    'a=',
    'A',
  ]) {
    const text = part.repeat(500_000 / part.length)
    const startedMs = performance.now()
    secrets.mask(text)
    assert.ok(performance.now() - startedMs < 2000, part)
  }
})

test.run()
