import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { hasProgram, ordinaryWork } from '../../helpers/ordinary-work.ts'
import { findObstacle, openPlaces, withPlaces } from '../../helpers/sandbox-places.ts'

const obstacle = await findObstacle()
if (obstacle !== null) console.log(`SKIP work in the sandbox: ${obstacle}`)

if (obstacle === null) {
  for (const network of ['on', 'off'] as const) {
    for (const [name, command, output, program] of ordinaryWork) {
      if (program !== undefined && !hasProgram(program)) {
        console.log(`SKIP ${name}: there is no ${program}`)
        continue
      }
      test(
        `works with network ${network}: ${name}`,
        withPlaces(
          async (places) => {
            const result = await places.run(command)
            assert.match(result.output ?? '', output, JSON.stringify(result))
            assert.is(result.exitCode, 0, result.output)
            assert.equal(result.notices, [])
          },
          { changes: { network } },
        ),
      )
    }
  }

  test(
    'what one run leaves in the private tmp the next one finds, and nobody else',
    withPlaces(async (places) => {
      await places.run('echo kept >/tmp/nacre-test-kept')
      assert.is((await places.run('cat /tmp/nacre-test-kept')).output, 'kept\n')
      assert.not(existsSync('/tmp/nacre-test-kept'))
    }),
  )

  test(
    'a linked worktree can commit, and only where its repository knows it',
    withPlaces(async (places) => {
      const git = 'git -c user.email=a@b -c user.name=n'
      const repository = join(places.outside, 'repository')
      const worktree = join(places.root, 'tree')
      execFileSync('sh', [
        '-c',
        `git init -q "$0" && cd "$0" && ${git} commit -q --allow-empty -m one && git worktree add -q "$1"`,
        repository,
        worktree,
      ])
      const commit = `${git} commit -q --allow-empty -m two && git log --oneline | wc -l`
      const result = await places.run(commit, { cwd: worktree, workspace: worktree })
      assert.is(result.output, '2\n')
      writeFileSync(join(places.workspace, '.git'), `gitdir: ${repository}/.git/worktrees/tree\n`)
      const forged = await places.run(`touch "${repository}/.git/x"`)
      assert.match(forged.output ?? '', 'Read-only file system')
    }),
  )

  test(
    'a workspace reached through a symbolic link keeps its name',
    withPlaces(async (places) => {
      const link = join(places.root, 'link')
      symlinkSync(places.workspace, link)
      const result = await places.run('pwd; pwd -P; touch new', { cwd: link })
      assert.is(result.output, `${link}\n${places.workspace}\n`)
      assert.ok(existsSync(join(places.workspace, 'new')))
    }),
  )

  test('a workspace in /tmp: it is there, and nothing else of /tmp', async () => {
    const places = await openPlaces()
    const folder = realpathSync(
      execFileSync('mktemp', ['-d', '/tmp/nacre-test-XXXXXX'], { encoding: 'utf8' }).trim(),
    )
    try {
      mkdirSync(join(folder, 'sub'))
      const result = await places.run('touch here ../top; ls /tmp', {
        cwd: join(folder, 'sub'),
        workspace: folder,
      })
      assert.is(result.output, `${folder.slice(5)}\n`)
      assert.ok(existsSync(join(folder, 'top')))
      const stray = `${folder}-x`
      const inFolder = { cwd: folder, workspace: folder }
      const next = await places.run(`touch ${stray}; ls /tmp`, inFolder)
      assert.match(next.output ?? '', `${stray.slice(5)}\n`)
      assert.not(existsSync(stray))
      const readOnly = await places.run('ls; touch no', { ...inFolder, sandbox: 'read-only' })
      assert.match(readOnly.output ?? '', /sub[\s\S]*Read-only file system/)
    } finally {
      execFileSync('rm', ['-rf', folder])
      await places.remove()
    }
  })

  test('declared folders can be written, and a hidden one in a workspace stays hidden', async () => {
    const places = await openPlaces({})
    const { home, outside } = places
    try {
      const other = await openPlaces({ sandbox: { writable: [outside] } })
      const result = await other.run(`touch "${outside}/declared" && echo done`)
      await other.remove()
      assert.is(result.output, 'done\n')
      const secrets = join(places.workspace, '.config/gh')
      const hiding = await openPlaces({ sandbox: { hidden: [secrets] } })
      mkdirSync(secrets, { recursive: true })
      writeFileSync(join(secrets, 'hosts.yml'), 'SECRET')
      const inside = await hiding.run(
        'mv .config old; cat .config/gh/hosts.yml old/gh/*; touch x',
        { cwd: places.workspace, workspace: places.workspace },
      )
      await hiding.remove()
      assert.not.match(inside.output ?? '', 'SECRET')
      assert.ok(existsSync(join(places.workspace, 'x')) && existsSync(join(secrets, 'hosts.yml')))
      assert.match(readFileSync(join(home, '.ssh/id'), 'utf8'), 'SECRET')
    } finally {
      await places.remove()
    }
  })
}

test.run()
