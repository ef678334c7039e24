import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, renameSync } from 'node:fs'
import { rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type RpcProcess, withRpc } from '../../helpers/rpc.ts'
import { runJson } from '../../helpers/run-cli.ts'
import { findObstacle, type Places, secret, withPlaces } from '../../helpers/sandbox-places.ts'
import { until } from '../../helpers/until.ts'

const obstacle = await findObstacle()
if (obstacle !== null) console.log(`SKIP the mounts of a sandbox: ${obstacle}`)

interface Folders {
  outer: string
  /** The workspace of the door, in which `kept` lies. */
  nested: string
  /** Nothing that a run of the door may write. */
  outside: string
}

/** A door in a workspace that lies in another one, whose runs may replace it. */
function door(
  name: string,
  body: (folders: Folders, rpc: RpcProcess) => Promise<void>,
  open: (folders: Folders) => string[] = ({ nested }) => ['--cwd', nested],
): void {
  if (obstacle !== null) return
  test(name, async () => {
    const root = realpathSync(mkdtempSync('/var/tmp/nacre-mounts-'))
    const [outer, outside] = [join(root, 'outer'), join(root, 'outside')]
    const nested = join(outer, 'mid/nested')
    for (const folder of [nested, outside]) mkdirSync(join(folder, '.git'), { recursive: true })
    mkdirSync(join(outer, 'other/nested/.git'), { recursive: true })
    writeFileSync(join(nested, 'kept'), 'kept\n')
    const folders = { outer, nested, outside }
    const words = ['--rpc', '--sandbox', 'workspace', ...open(folders)]
    try {
      await withRpc(async (rpc) => {
        // It is open then.
        await rpc.call('shell.list')
        await body(folders, rpc)
      }, words)
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  })
}

let sessions = 0

/** Every way in which a run of the door begins: `touch made` in its workspace. */
const ways: Record<string, (rpc: RpcProcess) => Promise<string>> = {
  run: (rpc) => ask(rpc, 'shell.exec', { command: 'touch made' }),
  'run that only reads': (rpc) =>
    ask(rpc, 'shell.exec', { command: 'cat kept', sandbox: 'read-only' }),
  'run in a session': (rpc) =>
    ask(rpc, 'shell.exec', { command: 'touch made', session: `s${++sessions}` }),
  'run on a terminal': (rpc) => ask(rpc, 'shell.exec', { command: 'touch made', pty: true }),
  'run of a holder': (rpc) =>
    ask(rpc, 'tool.call', {
      name: 'bash',
      arguments: { command: 'touch made', mode: 'background' },
    }),
}

async function ask(rpc: RpcProcess, method: string, params: object): Promise<string> {
  const { result, error } = await rpc.call(method, params)
  return JSON.stringify(result ?? error)
}

async function isRefused({ outer, outside }: Folders, rpc: RpcProcess): Promise<void> {
  for (const [name, begin] of Object.entries(ways)) {
    const told = await begin(rpc)
    assert.match(told, /was removed, renamed or replaced after nacre had started/, name)
  }
  const elsewhere = [outside, join(outer, 'other/nested'), join(outer, 'mid/nested')]
  for (const folder of elsewhere) assert.not(existsSync(join(folder, 'made')), folder)
}

/** How a run in the outer workspace puts something else in the place of the nested one. */
const swaps: Record<string, (folders: Folders) => void> = {
  'a link to a folder outside': ({ nested, outside }) => {
    renameSync(nested, `${nested}-old`)
    symlinkSync(outside, nested)
  },
  'another folder': ({ outer, nested }) => {
    renameSync(nested, `${nested}-old`)
    renameSync(join(outer, 'other/nested'), nested)
  },
  'a link above it': ({ outer }) => {
    renameSync(join(outer, 'mid'), join(outer, 'mid-old'))
    symlinkSync('other', join(outer, 'mid'))
  },
  'a folder of the same name': ({ nested }) => {
    // Both are there for a moment, so that the new one has another number.
    mkdirSync(`${nested}-new/.git`, { recursive: true })
    rmSync(nested, { recursive: true })
    renameSync(`${nested}-new`, nested)
  },
}

for (const [name, swap] of Object.entries(swaps)) {
  door(
    `a run of an open door wrote where ${name} was put for its workspace`,
    async (folders, rpc) => {
      swap(folders)
      await isRefused(folders, rpc)
    },
  )

  door(
    `a door that had run wrote where ${name} was put for its workspace`,
    async (folders, rpc) => {
      for (const [way, begin] of Object.entries(ways)) {
        assert.not.match(await begin(rpc), /"error":\{|"code":-/, way)
      }
      await until(() => existsSync(join(folders.nested, 'made')))
      rmSync(join(folders.nested, 'made'))
      swap(folders)
      await isRefused(folders, rpc)
    },
  )
}

door('a workspace that was moved away was made anew', async (folders, rpc) => {
  renameSync(folders.nested, `${folders.nested}-old`)
  const told = await ways['run']?.(rpc)
  assert.match(told ?? '', /cwd_not_found|ENOENT|not exist|renamed/)
  assert.not(existsSync(folders.nested))
  renameSync(`${folders.nested}-old`, folders.nested)
  assert.match(String(await ways['run']?.(rpc)), '"exit_code":0')
})

door(
  'a workspace that was named by a link followed the link',
  async ({ nested, outside, outer }, rpc) => {
    assert.match(String(await ways['run']?.(rpc)), '"exit_code":0')
    assert.ok(existsSync(join(nested, 'made')))
    unlinkSync(join(outer, 'link'))
    symlinkSync(outside, join(outer, 'link'))
    const params = { command: 'touch again', cwd: nested }
    assert.match(await ask(rpc, 'shell.exec', params), '"exit_code":0')
    assert.ok(existsSync(join(nested, 'again')))
    assert.match(await ask(rpc, 'shell.exec', { command: 'touch x' }), 'outside the workspace')
    assert.not(existsSync(join(outside, 'x')))
  },
  ({ outer, nested }) => {
    symlinkSync(nested, join(outer, 'link'))
    return ['--cwd', join(outer, 'link'), '--workspace', join(outer, 'link')]
  },
)

function inside(name: string, body: (places: Places) => Promise<void>): void {
  if (obstacle === null) test(name, withPlaces(body))
}

/** Numbers and targets of the descriptors of every process that the command sees. */
const listDescriptors = `for p in /proc/[0-9]*; do for f in $p/fd/*; do l=$(readlink "$f") && echo "\${f##*/} $l"; done; done; true`

for (const how of [{}, { pty: true }, { session: 's' }, { sandbox: 'read-only' }] as const) {
  inside(`a command had a descriptor of a folder: ${JSON.stringify(how)}`, async (places) => {
    mkdirSync(join(places.workspace, '.git/hooks'), { recursive: true })
    mkdirSync(join(places.workspace, '.idea/runConfigurations'), { recursive: true })
    writeFileSync(join(places.workspace, '.envrc'), '')
    const { output, exitCode } = await places.run(listDescriptors, how)
    assert.is(exitCode, 0, output ?? '')
    const lines = (output ?? '').split('\n').map((line) => line.trim())
    const open = lines.filter((line) => /^\d+ \//.test(line))
    const known =
      /^\d+ \/(dev\/(null|tty|pts\/\d+)|.*\/nacre-pipes-|proc\/|run\/nacre|.*\/(pipes|sessions?)\/)/
    // Standard streams are pipes with names.
    const strange = open.filter((line) => !known.test(line) && !/^[012] /.test(line))
    assert.equal(strange, [], output ?? '')
    assert.ok(!open.some((line) => /\.git|\.idea|\.envrc|work space$/.test(line)), output ?? '')
  })
}

inside('a living run led the mounts of another one out of the workspace', async (places) => {
  const { workspace, home } = places
  writeFileSync(join(workspace, 'up'), '')
  const swapping = `rm up; while [ -e . ]; do
    mkdir -p .idea/runConfigurations .zed; ln -s "$HOME/.ssh" l; ln -s "$HOME" m
    mv -T .zed z; mv -T l .zed; mv -T .idea i; mv -T m .idea
    mv -T .zed l; mv -T z .zed; mv -T .idea m; mv -T i .idea; rm l m
    [ -e stop ] && break; done`
  const living = places.run(swapping)
  await until(() => !existsSync(join(workspace, 'up')))
  const before = places.observe()
  const command = 'cat .zed/id .idea/.ssh/id 2>&1; echo x >>.zed/planted; mkdir .idea/planted; true'
  const seen = { begun: 0, failed: 0 }
  for (let tries = 0; tries < 60; tries++) {
    const { output, status, error } = await places.run(command)
    assert.not.match(output ?? '', secret)
    if (status === 'exited') seen.begun++
    else seen.failed++
    assert.match(error?.message ?? '', /^$|replaced meanwhile|The sandbox could not be set up/)
  }
  writeFileSync(join(workspace, 'stop'), '')
  await living
  assert.is(places.observe(), before)
  assert.equal(readdirSync(join(home, '.ssh')), ['id'])
  assert.ok(seen.begun > seen.failed, JSON.stringify(seen))
})

if (obstacle === null) {
  test('one of many mounts showed the file of another', async () => {
    const root = realpathSync(mkdtempSync('/var/tmp/nacre-mounts-'))
    const folders = ['.zed', '.vscode', '.idea/runConfigurations', '.husky', '.claude', '.cursor']
    const files = [
      '.envrc',
      '.exrc',
      '.vimrc',
      '.nvimrc',
      '.nvim.lua',
      '.dir-locals.el',
      '.mcp.json',
    ]
    try {
      for (const folder of [...folders, '.git/hooks']) {
        mkdirSync(join(root, folder), { recursive: true })
      }
      const named = [...folders.map((folder) => join(folder, 'f')), '.git/hooks/f', ...files]
      for (const name of named) writeFileSync(join(root, name), `${name}\n`)
      const list = named.join(' ')
      const command = `cat ${list}; for f in ${list}; do (echo x >$f) 2>/dev/null && echo "$f is open"; done; touch made`
      for (const pty of [[], ['--pty']]) {
        const words = [...pty, '--sandbox', 'workspace', '-c', command]
        const { output } = await runJson(words, { cwd: root })
        assert.equal(String(output).trim().split(/\r?\n/), named)
        rmSync(join(root, 'made'))
      }
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  })

  test('--workspace that is a link was refused', async () => {
    const root = realpathSync(mkdtempSync('/var/tmp/nacre-mounts-'))
    try {
      mkdirSync(join(root, 'real'))
      symlinkSync('real', join(root, 'link'))
      const words = ['--sandbox', 'workspace', '-c', 'pwd -P; touch made']
      const how = { cwd: join(root, 'link') }
      for (const more of [[], ['--wait', '60']]) {
        const result = await runJson(['--workspace', join(root, 'link'), ...more, ...words], how)
        assert.is(result['output'], `${join(root, 'real')}\n`)
        rmSync(join(root, 'real/made'))
      }
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  })
}

test.run()
