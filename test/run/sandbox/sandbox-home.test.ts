import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  hidePlaces,
  type PlacesOptions,
  type WorkPlaces,
} from '../../../lib/run/sandbox/sandbox-places.ts'
import {
  findObstacle,
  openPlaces,
  type Places,
  secret,
  withPlaces,
} from '../../helpers/sandbox-places.ts'
import { until } from '../../helpers/until.ts'

const obstacle = await findObstacle()
if (obstacle !== null) console.log(`SKIP the home in the sandbox: ${obstacle}`)

/** Files of a home that hold what opens doors elsewhere, or tell of its person. */
const secrets: Readonly<Record<string, string>> = {
  agents:
    '.claude/.credentials.json .claude.json .codex/auth.json .gemini/oauth_creds.json .cursor/auth .continue/config.yaml .aider.conf.yml .config/github-copilot/apps.json .local/share/opencode/auth.json .pi/agent/auth.json .config/goose/secrets.yaml',
  browsers:
    '.mozilla/firefox/x/cookies.sqlite .config/google-chrome/Default/Cookies .config/chromium/Default/Cookies .config/BraveSoftware/x .cache/mozilla/x .cache/google-chrome/x .thunderbird/x/logins.json .var/app/x snap/firefox/common/.mozilla/x',
  histories:
    '.bash_history .zsh_history .python_history .node_repl_history .psql_history .mysql_history .lesshst .viminfo .local/share/fish/fish_history .rediscli_history',
  packages:
    '.npmrc .yarnrc.yml .pypirc .config/pip/pip.conf .cargo/credentials.toml .cargo/credentials .gem/credentials .m2/settings.xml .gradle/gradle.properties .nuget/NuGet/NuGet.Config .composer/auth.json .config/composer/auth.json .bundle/config .hex/hex.config .pub-cache/credentials.json .condarc .config/uv/credentials .sbt/.credentials .ivy2/.credentials .nimble/github_api_token',
  clouds:
    '.aws/credentials .azure/accessTokens.json .config/gcloud/credentials.db .kube/config .docker/config.json .terraform.d/credentials.tfrc.json .terraformrc .oci/config .fly/config.yml .config/doctl/config.yaml .netlify/config .vercel/auth.json .s3cfg .boto .config/rclone/rclone.conf .databrickscfg .vault-token',
  databases: '.pgpass .my.cnf .mongorc.js .dbshell .config/pgcli/config .pg_service.conf',
  others:
    '.ssh/id_ed25519 .gnupg/x .netrc .git-credentials .config/git/credentials .config/gh/hosts.yml .env .envrc .password-store/x.gpg .local/share/keyrings/x .Xauthority .config/Slack/Cookies .local/share/TelegramDesktop/x .cache/huggingface/token .kaggle/kaggle.json .config/hub .subversion/auth/x',
}

function plant(home: string, file: string, content = `${secret}\n`): void {
  mkdirSync(dirname(join(home, file)), { recursive: true })
  writeFileSync(join(home, file), content, { mode: 0o755 })
}

function testInside(name: string, body: (places: Places) => Promise<void>): void {
  if (obstacle === null) test(name, withPlaces(body))
}

for (const [kind, files] of Object.entries(secrets)) {
  testInside(`credentials of the home were read: ${kind}`, async ({ home, run }) => {
    const names = files.split(' ')
    for (const name of names) plant(home, name)
    for (const sandbox of ['workspace', 'read-only'] as const) {
      const command = `cd ~; for f in ${names.join(' ')}; do cat "$f"; done 2>/dev/null; grep -rlas ${secret} . || echo none`
      assert.is((await run(command, { sandbox })).output, 'none\n', sandbox)
    }
  })
}

testInside('a home in which less is needed than hidden had its secrets shown', async (places) => {
  const { home, run } = places
  for (let number = 0; number < 60; number++) plant(home, `.secret${number}`)
  plant(home, '.gitconfig', '[user]\n\tname = Someone\n')
  mkdirSync(join(home, 'projects/mine'), { recursive: true })
  plant(home, 'projects/notes', 'notes\n')
  symlinkSync('nowhere', join(home, 'dangling'))
  const command = `cd ~ && ls -A; cat projects/notes .secret7; git config user.name; touch new; grep -rlas ${secret} .`
  const { output } = await run(command)
  assert.match(output ?? '', /^\.gitconfig\nprojects\nnotes\n/)
  assert.match(output ?? '', 'Someone\ntouch: ')
  assert.not.match(output ?? '', secret)
  const inside = { cwd: join(home, 'projects/mine'), workspace: join(home, 'projects/mine') }
  assert.is((await run('pwd; touch made && ls', inside)).output, `${inside.cwd}\nmade\n`)
})

testInside('a secret was read by the name that a link in the home leads to', async (places) => {
  const { home, run } = places
  plant(home, 'dotfiles/npmrc')
  plant(home, 'dotfiles/claude/auth')
  plant(home, '.pyenv/versions/3/it', 'needed\n')
  symlinkSync('dotfiles/npmrc', join(home, '.npmrc'))
  symlinkSync('dotfiles/claude', join(home, '.claude'))
  symlinkSync('.pyenv/versions/3', join(home, '.python'))
  const { output } = await run(
    'cd ~; cat .npmrc dotfiles/* .claude/auth dotfiles/claude/auth; cat .python/it',
  )
  assert.not.match(output ?? '', secret)
  assert.match(output ?? '', 'needed')
})

testInside('a workspace in a hidden folder of the home did not work', async (places) => {
  const { home, run } = places
  plant(home, '.local/src/other/token')
  plant(home, '.config/tool/token')
  for (const folder of ['.local/src/mine', '.worktrees/mine', '.config/mine']) {
    const workspace = join(home, folder)
    mkdirSync(join(workspace, '.hidden'), { recursive: true })
    const command = `touch .hidden/made && ls .hidden && git init -q . && cat ~/.local/src/other/token ~/.config/tool/token`
    for (const cwd of [workspace, join(workspace, '.hidden')]) {
      const { output } = await run(command.replaceAll('.hidden', join(workspace, '.hidden')), {
        cwd,
        workspace,
      })
      assert.match(output ?? '', /^made\n/, folder)
      assert.not.match(output ?? '', secret)
    }
  }
})

testInside(
  'a home within another home had its secrets shown',
  async ({ root, home, workspace }) => {
    const work = { cwd: workspace, workspace, writable: [] as string[] } as WorkPlaces
    const homes = { homes: [home, root], hidden: [], visible: [] } as Partial<PlacesOptions>
    const hidden = hidePlaces(work, homes as PlacesOptions).hidden.map(({ path }) => path)
    assert.ok(hidden.includes(join(home, '.netrc')), hidden.join(' '))
  },
)

if (obstacle === null) {
  test('what the person names as visible stayed hidden, and what lies beside it did not', async () => {
    const first = await openPlaces()
    const { home } = first
    plant(home, '.npmrc', 'mine\n')
    plant(home, '.docker/config.json', 'mine\n')
    plant(home, '.docker/other')
    plant(home, '.tool/seen', 'mine\n')
    plant(home, '.tool/nacre/other')
    const visible = ['.npmrc', '.docker/config.json', '.tool'].map((name) => join(home, name))
    const environment = { ...process.env, HOME: home }
    const hidden = [join(home, '.tool/nacre')]
    const places = await openPlaces({ environment, sandbox: { visible, hidden } })
    try {
      const { output } = await places.run(
        'cd ~; cat .npmrc .docker/config.json .tool/seen; cat .docker/other .tool/nacre/other; echo x >.npmrc',
      )
      assert.match(output ?? '', /^mine\nmine\nmine\n/)
      assert.match(output ?? '', 'Read-only file system')
      assert.not.match(output ?? '', secret)
    } finally {
      await places.remove()
      await first.remove()
    }
  })

  test('tools that live in the home did not start', async () => {
    const first = await openPlaces()
    const { home } = first
    const program = (name: string) => `#!/bin/sh\necho ${name} runs\n`
    const tools = {
      '.pyenv/shims/mypython': program('python'),
      '.nvm/versions/node/v20/bin/mynode': program('node'),
      '.cargo/bin/mycargo': program('cargo'),
      '.local/bin/mytool': program('tool'),
      '.config/fish/config.fish': 'fish\n',
      '.m2/repository/x': 'repository\n',
      '.bash_aliases': 'mine() { echo mine runs; }\n',
      '.gitconfig': '[user]\n\tname = Someone\n',
      '.config/git/ignore': '*.log\n',
    }
    for (const [name, content] of Object.entries(tools)) plant(home, name, content)
    const path = ['.pyenv/shims', '.nvm/versions/node/v20/bin', '.cargo/bin', '.local/bin']
      .map((name) => `$HOME/${name}`)
      .join(':')
    plant(home, '.bashrc', `export PATH="${path}:$PATH"\n. ~/.bash_aliases\n`)
    const places = await openPlaces({ environment: { ...process.env, HOME: home } })
    try {
      const { output, exitCode } = await places.run(
        '. ~/.bashrc; mypython; mynode; mycargo; mytool; mine; git config user.name; cat ~/.config/fish/config.fish ~/.m2/repository/x; git init -q r && cd r && touch a.log && git status --short',
        { env: { XDG_CONFIG_HOME: join(home, '.config') } },
      )
      const runs = ['python', 'node', 'cargo', 'tool', 'mine'].map((name) => `${name} runs\n`)
      assert.is(output, `${runs.join('')}Someone\nfish\nrepository\n`)
      assert.is(exitCode, 0)
    } finally {
      await places.remove()
      await first.remove()
    }
  })

  for (const [name, enter, bind] of [
    ['by a relative name', [], 'socket'],
    ['in another network', ['unshare', '-Urn'], '$1/socket'],
  ] as const) {
    test(`a program that listens ${name} was reached`, async () => {
      const folder = realpathSync(mkdtempSync('/var/tmp/nacre-socket-'))
      const places = await openPlaces()
      const script = `use IO::Socket::UNIX; chdir $ARGV[0]; $s = IO::Socket::UNIX->new(Local => $ARGV[1], Listen => 1) or die; print "up\\n"; $| = 1; close STDOUT; while ($c = $s->accept) { print $c "${secret}"; close $c }`
      const words = [...enter, 'perl', '-e', script, folder, bind.replace('$1', folder)]
      const listener = spawn(words[0] ?? '', words.slice(1), {
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      let said = ''
      let ended = false
      listener.stdout.on('data', (bytes) => (said += String(bytes)))
      listener.on('exit', () => (ended = true))
      try {
        await until(() => said !== '' || ended)
        if (said === '') return console.log(`SKIP a listener ${name}: it does not start here`)
        const connect = `perl -e 'use IO::Socket::UNIX; $s = IO::Socket::UNIX->new(Peer => "${folder}/socket"); print $s ? <$s> : "refused"'`
        assert.is((await places.run(connect, { network: 'off' })).output, 'refused')
        assert.is((await places.run(connect, { sandbox: 'off' })).output, secret)
      } finally {
        listener.kill('SIGKILL')
        await places.remove()
        rmSync(folder, { recursive: true, force: true })
      }
    })
  }
}

test.run()
