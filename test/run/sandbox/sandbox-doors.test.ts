import { execFileSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { findObstacle, openPlaces, type Places, withPlaces } from '../../helpers/sandbox-places.ts'
import { hear } from '../../helpers/until.ts'

const obstacle = await findObstacle()
if (obstacle !== null) console.log(`SKIP doors of the sandbox: ${obstacle}`)

function door(name: string, check: (places: Places) => Promise<void>): void {
  if (obstacle === null) test(name, withPlaces(check))
}

/** Runs a command with a file as its standard input, opened as a shell opens it for `<`. */
async function runWithInput({ run }: Places, path: string, command: string) {
  const fd = openSync(path, 'r')
  try {
    const result = await run(command, { stdin: { kind: 'descriptor', fd } })
    const rest = Buffer.alloc(1_000_000)
    return { result, rest: rest.toString('utf8', 0, readSync(fd, rest)) }
  } finally {
    closeSync(fd)
  }
}

door('a file that is the standard input is read and not written', async (places) => {
  const target = join(places.outside, 'target')
  const { result } = await runWithInput(
    places,
    target,
    'cat; echo X >/dev/stdin; echo X >>/proc/self/fd/0; echo X 1<>/proc/$$/fd/0',
  )
  assert.match(result.output ?? '', /^untouched$/m)
  assert.is(readFileSync(target, 'utf8'), 'untouched\n')
})

door('a file is read from where its descriptor stands, which stays there', async (places) => {
  const path = join(places.outside, 'list')
  const lines = Array.from({ length: 50_000 }, (_, index) => `line ${index}\n`)
  writeFileSync(path, lines.join(''))
  const fd = openSync(path, 'r')
  try {
    const first = Buffer.alloc(7)
    readSync(fd, first)
    for (const [command, output] of [
      ['read -r a; read -r b; echo "$a, $b"', 'line 1, line 2\n'],
      ['wc -l', '49999\n'],
    ] as const) {
      const result = await places.run(command, { stdin: { kind: 'descriptor', fd } })
      assert.is(result.output, output)
    }
    readSync(fd, first)
    assert.is(first.toString(), 'line 1\n')
  } finally {
    closeSync(fd)
  }
})

door('a folder as standard input is refused', async (places) => {
  const fd = openSync(places.home, 'r')
  try {
    const result = await places.run('ls /proc/self/fd/0/.ssh', {
      stdin: { kind: 'descriptor', fd },
    })
    assert.is(result.status, 'not_started')
    assert.is(result.error?.code, 'stdin_is_folder')
  } finally {
    closeSync(fd)
  }
})

door('a device as standard input is read through a pipe', async (places) => {
  const { result } = await runWithInput(
    places,
    '/dev/zero',
    'head -c 5 | od -An -tx1; readlink /proc/self/fd/0; true',
  )
  assert.match(result.output ?? '', /00 00 00 00 00/)
  assert.not.match(result.output ?? '', /dev\/zero/)
})

door('a named pipe of the host as standard input is not written', async (places) => {
  const path = join(places.outside, 'fifo')
  execFileSync('mkfifo', [path])
  const both = openSync(path, 'r+')
  const fd = openSync(path, 'r')
  try {
    const result = await places.run('test -p /dev/stdin && echo evil >/dev/stdin; echo done', {
      stdin: { kind: 'descriptor', fd },
    })
    assert.is(result.output, 'done\n')
    execFileSync('sh', ['-c', 'echo mine >"$1"', 'sh', path])
    const text = Buffer.alloc(100)
    assert.is(text.toString('utf8', 0, readSync(both, text)), 'mine\n')
  } finally {
    closeSync(fd)
    closeSync(both)
  }
})

const planted: Readonly<Record<string, string>> = {
  '.envrc': 'echo evil >.envrc',
  '.nacre': 'mkdir n; echo {} >n/config.json; mv n .nacre',
  '.vscode': 'mkdir v; echo {} >v/tasks.json; mv v .vscode',
  '.husky': 'ln -s /tmp .husky',
}

for (const [name, command] of Object.entries(planted)) {
  door(`what the host would run is renamed where a run makes it: ${name}`, async (places) => {
    execFileSync('git', ['init', '-q', places.workspace])
    const result = await places.run(`${command}; echo made`)
    assert.is(result.output, 'made\n')
    assert.ok(!existsSync(join(places.workspace, name)))
    assert.match(result.notices.join('\n'), `This run has made ${name}`)
    const again = await places.run(command)
    assert.match(again.notices.join('\n'), `${name}.refused-n_`)
  })
}

const obeyed = ['.git/hooks', '.git/config', '.vscode', '.envrc', '.git/modules', 'tools/hooks']

/** Each tries to make the host run a command later; nothing of it may be there after the run. */
const attempts: Readonly<Record<string, string>> = {
  'a hook of git': 'printf "#!/bin/sh\\necho evil\\n" >.git/hooks/pre-commit',
  'a hook over a sample':
    'echo evil >.git/hooks/pre-commit.sample; mv -f .git/hooks/pre-commit.sample .git/hooks/pre-commit',
  'a setting of git': 'git config core.fsmonitor evil',
  'a setting of git by hand': 'echo "[core] fsmonitor = evil" >>.git/config',
  'another git folder': 'mv .git .other; mkdir .git; printf "[core]\\nfsmonitor=evil" >.git/config',
  'a link in place of the settings': 'echo evil >evil; ln -sf ../evil .git/config',
  'a link in place of the hooks':
    'mkdir e; echo evil >e/post-commit; rm -rf .git/hooks; ln -s ../e .git/hooks',
  'a task of an editor': 'echo evil >.vscode/tasks.json',
  'a new folder in place of the tasks':
    'mv .vscode .v; mkdir .vscode; echo evil >.vscode/tasks.json',
  'start file behind a link': 'echo evil >.envrc',
  'a link to another file': 'rm -f .envrc; echo evil >evil; ln -s evil .envrc',
  'hooks of a submodule': 'echo evil >.git/modules/sub/hooks/post-checkout',
  'hooks of the configured folder': 'echo evil >tools/hooks/pre-commit',
}

for (const [name, command] of Object.entries(attempts)) {
  door(`nothing is left for the host to run: ${name}`, async (places) => {
    const at = (path: string) => join(places.workspace, path)
    execFileSync('git', ['init', '-q', places.workspace])
    execFileSync('git', ['init', '-q', '--bare', at('.git/modules/sub')])
    for (const folder of ['tools/hooks', '.vscode']) mkdirSync(at(folder), { recursive: true })
    execFileSync('git', ['-C', places.workspace, 'config', 'core.hooksPath', 'tools/hooks'])
    writeFileSync(at('real-envrc'), 'echo mine\n')
    symlinkSync('real-envrc', at('.envrc'))
    const findEvil = () => obeyed.filter((path) => existsSync(at(path)) && grepsEvil(at(path)))
    await places.run(command)
    assert.equal(findEvil(), [])
    await places.run(command, { sandbox: 'off' })
    assert.is.not(findEvil().length, 0, 'does nothing without a sandbox either')
  })
}

function grepsEvil(path: string): boolean {
  try {
    execFileSync('grep', ['-Rq', 'evil', path])
    return true
  } catch {
    return false
  }
}

door('git works in a repository whose settings are read-only', async (places) => {
  execFileSync('git', ['init', '-q', places.workspace])
  const result = await places.run(
    'git add mine && git -c user.name=a -c user.email=a@b commit -qm one && git checkout -qb two && git stash list && git gc -q && git log --format=%s && git status --short',
  )
  assert.is(result.exitCode, 0, result.output)
  assert.match(result.output ?? '', /^one$/m)
  assert.equal(result.notices, [])
})

door('a new repository is the run’s own', async (places) => {
  const result = await places.run(
    'git init -q . && git config user.name me && git remote add origin ../x && git config branch.main.merge refs/heads/main && git config submodule.s.update rebase && ls -A .git | head -1',
  )
  assert.is(result.exitCode, 0, result.output)
  assert.equal(result.notices, [])
  assert.ok(existsSync(join(places.workspace, '.git/config')))
})

door('the settings of a new repository that run programs are renamed', async (places) => {
  const result = await places.run('git init -q . && git config core.fsmonitor /tmp/evil')
  assert.match(result.notices.join('\n'), /This run has made \.git\/config/)
  assert.ok(!existsSync(join(places.workspace, '.git/config')))
})

for (const text of [
  '[core] fsmonitor = evil',
  '[core][include]\npath = evil',
  '[core]hooksPath=e',
]) {
  door(`a setting on one line was let through: ${JSON.stringify(text)}`, async (places) => {
    const result = await places.run(`git init -q . && echo '${text}' >.git/config`)
    assert.match(result.notices.join('\n'), /This run has made \.git\/config/)
    assert.ok(!existsSync(join(places.workspace, '.git/config')))
  })
}

for (const text of [
  '[pager] log = evil',
  '[remote "origin"]\n\turl = ../x\n\tuploadpack = evil',
  '[submodule "s"]\n\tupdate = ""!evil',
  '[interactive] diffFilter = evil',
  '[core] alternateRefsCommand = evil',
  '[protocol "ext"] allow = always',
]) {
  door(`a setting that runs a program was let through: ${JSON.stringify(text)}`, async (places) => {
    const result = await places.run(`git init -q . && echo '${text}' >>.git/config`)
    assert.match(result.notices.join('\n'), /This run has made \.git\/config/)
    assert.ok(!existsSync(join(places.workspace, '.git/config')))
  })
}

door('a run could write the start files of a home that was its workspace', async (places) => {
  for (const cwd of [places.home, places.root]) {
    const result = await places.run('echo evil >>.bash_aliases', { cwd, workspace: cwd })
    assert.is(result.error?.code, 'workspace_too_wide')
    assert.match(result.error?.message ?? '', '--workspace')
  }
  const { home } = places
  const readOnly = { cwd: home, workspace: home, sandbox: 'read-only' } as const
  const reading = await places.run('ls -A', readOnly)
  assert.match(reading.output ?? '', '.config')
})

if (obstacle === null) {
  test('what the person declares may be written', async () => {
    const first = await openPlaces()
    const { workspace, root } = first
    const places = await openPlaces({ sandbox: { writable: [join(workspace, '.envrc')] } })
    try {
      await places.run('echo mine >.envrc', { cwd: workspace, workspace })
      assert.is(readFileSync(join(workspace, '.envrc'), 'utf8'), 'mine\n')
      await places.run('mkdir .zed', { cwd: workspace, workspace })
      assert.equal(
        readdirSync(workspace).filter((name) => name.startsWith('.zed')),
        ['.zed.refused'],
      )
    } finally {
      await places.remove()
      await first.remove()
      rmSync(root, { recursive: true, force: true })
    }
  })

  test('a socket that is a moment old is hidden', async () => {
    const places = await openPlaces()
    const path = join(places.outside, 'young')
    const open = new Set<Socket>()
    const server = createServer((socket) => open.add(socket)).listen(path)
    await hear(server, 'listening')
    try {
      const result = await places.run(
        `perl -e 'use IO::Socket::UNIX; print IO::Socket::UNIX->new(Peer => "$ENV{OUT}/young") ? "in" : "out"'`,
        { network: 'off' },
      )
      assert.is(result.output, 'out')
      assert.is(open.size, 0)
    } finally {
      server.close()
      await places.remove()
    }
  })
}

test.run()
