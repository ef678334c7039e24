import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { findObstacle, type Places, withPlaces } from '../../helpers/sandbox-places.ts'
import { until } from '../../helpers/until.ts'

const obstacle = await findObstacle()
if (obstacle !== null) console.log(`SKIP what the host runs after a sandboxed run: ${obstacle}`)

/** Commands find the program `$EVIL`, which leaves a trace. */
interface Way {
  prepare?: (at: (path: string) => string, places: Places) => void
  command: string
  /** What a person does afterwards, outside, in the workspace. */
  host: string
  /** Where the run works and what it may write: below the root of the places. */
  workspace?: string
}

const commit = 'git -c user.name=n -c user.email=a@b commit -q --allow-empty -m x'
const init = (at: (path: string) => string) => git(['init', '-q', at('.')])

function git(words: readonly string[]): void {
  execFileSync('git', words, { stdio: 'pipe' })
}

function write(path: string, text: string, mode = 0o755): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text, { mode })
}

/** The workspace is a linked worktree of `main`. */
function linkWorktree({ root }: Places): void {
  git(['init', '-q', join(root, 'main')])
  execFileSync('sh', ['-c', commit], { cwd: join(root, 'main') })
  git(['-C', join(root, 'main'), 'worktree', 'add', '-q', join(root, 'wt')])
}

const ways: Readonly<Record<string, Way>> = {
  'the settings of a new repository below the workspace': {
    command: 'git init -q sub && git -C sub config core.fsmonitor "$EVIL"',
    host: 'git -C sub status',
  },
  'a hook of a new repository below the workspace': {
    command: 'git init -q sub && cp "$EVIL" sub/.git/hooks/post-commit',
    host: `cd sub && ${commit}`,
  },
  'the settings of a repository that was there, below the workspace': {
    prepare: (at) => git(['init', '-q', at('a/b')]),
    command: 'git -C a/b config core.fsmonitor "$EVIL"',
    host: 'git -C a/b status',
  },
  'the settings of a submodule with a git folder of its own': {
    prepare(at) {
      init(at)
      git(['init', '-q', at('sub')])
      write(at('.gitmodules'), '[submodule "s"]\n\tpath = sub\n\turl = ../s\n')
    },
    command:
      'git -C sub config core.fsmonitor "$EVIL"; echo "[core] fsmonitor = $EVIL" >>sub/.git/config',
    host: 'git -C sub status',
  },
  'a setting on the line of its section': {
    command: 'git init -q sub && echo "[core] fsmonitor = $EVIL" >>sub/.git/config',
    host: 'git -C sub status',
  },
  'a bare repository': {
    command:
      'git init -q --bare tools && cd tools && git config core.bare false && git config core.worktree .. && git config core.fsmonitor "$EVIL"',
    host: 'git -C tools status',
  },
  'a git directory behind the file .git': {
    command:
      'git init -q --separate-git-dir elsewhere sub && git -C sub config core.fsmonitor "$EVIL"',
    host: 'git -C sub status',
  },
  'another common directory of a new repository': {
    command:
      'git init -q sub && git init -q --bare evil && mv evil/config evil/c && sed "/bare/d" evil/c >evil/config && rm evil/HEAD && git config -f evil/config core.fsmonitor "$EVIL" && echo ../../evil >sub/.git/commondir',
    host: 'git -C sub status',
  },
  'a file that the settings include': {
    prepare(at) {
      init(at)
      git(['-C', at('.'), 'config', 'include.path', '../shared/config'])
      write(at('shared/config'), '[user]\n\tname = me\n')
    },
    command: 'git config -f shared/config core.fsmonitor "$EVIL"',
    host: 'git status',
  },
  'a file that the settings would include if it were there': {
    prepare(at) {
      init(at)
      git(['-C', at('.'), 'config', 'includeIf.gitdir:/.path', '../later'])
    },
    command: 'git config -f later core.fsmonitor "$EVIL"',
    host: 'git status',
  },
  'a hook in the folder that the person’s own settings name': {
    prepare(at, { home }) {
      init(at)
      write(join(home, '.gitconfig'), '[core]\n\thooksPath = .githooks\n')
    },
    command: 'mkdir .githooks && cp "$EVIL" .githooks/post-commit',
    host: commit,
  },
  'settings of one worktree': {
    prepare(at) {
      init(at)
      git(['-C', at('.'), 'config', 'extensions.worktreeConfig', 'true'])
    },
    command: 'git config -f .git/config.worktree core.fsmonitor "$EVIL"',
    host: 'git status',
  },
  'settings of a linked worktree': {
    prepare(_, places) {
      linkWorktree(places)
      git(['-C', join(places.root, 'main'), 'config', 'extensions.worktreeConfig', 'true'])
    },
    workspace: 'wt',
    command: 'git config -f ../main/.git/worktrees/wt/config.worktree core.fsmonitor "$EVIL"',
    host: 'git status',
  },
  'a hook of a repository without the folder of hooks, from its worktree': {
    prepare(_, places) {
      linkWorktree(places)
      rmSync(join(places.root, 'main/.git/hooks'), { recursive: true })
    },
    workspace: 'wt',
    command: 'mkdir -p ../main/.git/hooks && cp "$EVIL" ../main/.git/hooks/post-commit',
    host: commit,
  },
  'a submodule of the repository of a worktree': {
    prepare: (_, places) => linkWorktree(places),
    workspace: 'wt',
    command:
      'git init -q --bare ../main/.git/modules/s && git -C ../main/.git/modules/s config core.bare false && git -C ../main/.git/modules/s config core.fsmonitor "$EVIL"',
    host: 'git --git-dir ../main/.git/modules/s --work-tree . status',
  },
  'a link in the place of a folder of settings': {
    command:
      'mkdir x; ln -s x .idea; mkdir x/runConfigurations; cp "$EVIL" x/runConfigurations/run',
    host: '.idea/runConfigurations/run',
  },
  'the target of a link that led nowhere': {
    prepare: (at) => symlinkSync('dl/later', at('.envrc')),
    command: 'mkdir dl; cp "$EVIL" dl/later',
    host: '. ./.envrc',
  },
  'the folder of a link that led nowhere': {
    prepare: (at) => symlinkSync('sub/tasks', at('.vscode')),
    command: 'mkdir -p sub/tasks; cp "$EVIL" sub/tasks/task',
    host: '.vscode/task',
  },
  'a link on the way of a link': {
    prepare(at) {
      write(at('real'), 'true\n')
      symlinkSync('real', at('between'))
      symlinkSync('between', at('.envrc'))
    },
    command: 'cp "$EVIL" other; ln -sfn other between',
    host: '. ./.envrc',
  },
  'a link above a file of settings': {
    command: 'mkdir x; ln -s x .hg; cp "$EVIL" x/hgrc',
    host: '.hg/hgrc',
  },
  'a file of any name': {
    command: 'cp "$EVIL" my.code-workspace',
    host: './my.code-workspace',
  },
  'a file beside one that was refused': {
    command: 'touch .envrc.refused; cp "$EVIL" .envrc',
    host: '. ./.envrc',
  },
}

/** Whether a person who works there afterwards runs what the command has left. */
async function runsEvil(places: Places, way: Way, sandbox: 'workspace' | 'off'): Promise<boolean> {
  const { root, home } = places
  const [evil, trace] = [join(root, 'evil'), join(root, 'trace')]
  write(evil, `#!/bin/sh\ntouch ${trace}\ncat 2>/dev/null </dev/null\n`)
  way.prepare?.((path) => join(places.workspace, path), places)
  const workspace = way.workspace ? join(root, way.workspace) : places.workspace
  const env = { EVIL: evil, GIT_CONFIG_NOSYSTEM: '1' }
  await places.run(way.command, { cwd: workspace, workspace, sandbox, env })
  rmSync(trace, { force: true })
  try {
    const own = { ...process.env, HOME: home, GIT_CONFIG_NOSYSTEM: '1' }
    execFileSync('bash', ['-c', way.host], { cwd: workspace, stdio: 'pipe', env: own })
  } catch {
    // It is gone, or git finds no repository.
  }
  return existsSync(trace)
}

if (obstacle === null) {
  for (const [name, way] of Object.entries(ways)) {
    test(
      `the host ran what a run had left: ${name}`,
      withPlaces(async (places) => {
        assert.not(await runsEvil(places, way, 'workspace'))
      }),
    )
    test(
      `known to be seen: ${name}`,
      withPlaces(async (places) => {
        assert.ok(await runsEvil(places, way, 'off'), 'does nothing without a sandbox either')
      }),
    )
  }

  test(
    'git obeyed what a run had added to the repository before its end',
    withPlaces(async (places) => {
      const { run, workspace } = places
      git(['init', '-q', workspace])
      rmSync(join(workspace, '.git/hooks'), { recursive: true })
      const { output } = await run(
        'cd .git; for tries in {1..100}; do echo .. >commondir; mv commondir x; echo x >config.worktree; echo x >hooks/post-commit; done 2>/dev/null; cat commondir config.worktree; ls hooks',
      )
      assert.is(output, '.\n')
      await places.close()
      const left = readdirSync(join(workspace, '.git'))
      assert.not(left.some((name) => /^(?:commondir|config\.worktree|hooks)$/.test(name)))
    }),
  )

  test(
    'what a session left in the background planted after its run stayed',
    withPlaces(async ({ run, workspace }) => {
      const command = '(until [ -e go ]; do :; done; echo evil >.envrc; touch done) &'
      await run(command, { session: 's' })
      writeFileSync(join(workspace, 'go'), '')
      await until(() => existsSync(join(workspace, '.envrc.refused')))
      assert.not(existsSync(join(workspace, '.envrc')))
      const { notices } = await run('true', { session: 's' })
      assert.match(notices.join(), 'This run has made .envrc')
    }),
  )

  test(
    'what a person made while the shell of a session waited was taken for its own',
    withPlaces(async ({ run, workspace }) => {
      await run('true', { session: 's' })
      mkdirSync(join(workspace, '.vscode'))
      writeFileSync(join(workspace, '.vscode/settings.json'), '{}')
      await run('echo evil >.envrc', { session: 's' })
      await until(() => existsSync(join(workspace, '.envrc.refused')))
      await run('true', { session: 's' })
      assert.ok(existsSync(join(workspace, '.vscode/settings.json')))
      await run('exit', { session: 's' })
      assert.ok(existsSync(join(workspace, '.vscode/settings.json')))
    }),
  )

  test(
    'what the last command of a run made in a session was taken for a person’s',
    withPlaces(async ({ run, workspace }) => {
      for (let round = 0; round < 20; round++) {
        await run('echo evil >.envrc', { session: 's' })
        assert.not(existsSync(join(workspace, '.envrc')))
      }
    }),
  )

  test(
    'what the shell of a session left at its end stayed',
    withPlaces(async ({ run, workspace }) => {
      await run('trap "git init -q sub; git -C sub config core.fsmonitor evil" EXIT', {
        session: 's',
      })
      const last = await run('exit 3', { session: 's' })
      const next = await run('true', { session: 's' })
      assert.not(existsSync(join(workspace, 'sub/.git/config')))
      assert.match([...last.notices, ...next.notices].join(), 'This run has made sub/.git/config')
    }),
  )

  test(
    'what everyday work made was refused, or something was left beside it',
    withPlaces(async (places) => {
      const { run, workspace } = places
      git(['init', '-q', workspace])
      rmSync(join(workspace, '.git/hooks'), { recursive: true })
      const who = 'git config user.email a@b && git config user.name n'
      for (const command of [
        'git add -A && git -c user.name=n -c user.email=a@b commit -qm one && git status --short',
        'git worktree add -q wt && git -C wt status && git worktree list && git worktree remove wt',
        'git gc -q && git stash list && git rev-parse --git-common-dir',
        `git clone -q . clone && cd clone && ${who} && git commit -q --allow-empty -m two && git remote add o ../x`,
        `git init -qb main new && cd new && ${who} && git -c protocol.file.allow=always submodule add -q ../clone sub && git commit -qm three && git worktree add -q ../new-tree && git config branch.main.remote sub`,
        `cd new/sub && ${who} && git commit -q --allow-empty -m four && cd ../.. && git -C new-tree status`,
        'mkdir p && cd p && npm init -y >/dev/null',
      ]) {
        const result = await run(command)
        assert.is(result.exitCode, 0, `${command}\n${result.output}`)
        assert.equal(result.notices, [], command)
      }
      await places.close()
      const made = readdirSync(join(workspace, '.git'))
      assert.not(made.some((name) => /^(?:commondir|config\.worktree|hooks)$/.test(name)))
      const listed = execFileSync('git', ['-C', workspace, 'ls-files'], { encoding: 'utf8' })
      assert.is(listed, 'mine\n')
      assert.equal(
        readdirSync(workspace).filter((name) => name.includes('refused')),
        [],
      )
    }),
  )

  test(
    'a repository with programs in its settings, below the workspace, was taken for the run’s own',
    withPlaces(async ({ run, workspace }) => {
      const sub = join(workspace, 'sub')
      git(['init', '-q', sub])
      git(['-C', sub, 'config', 'filter.lfs.clean', 'git-lfs clean'])
      // What is as young as the run counts as made by it.
      await run('true')
      const result = await run(
        'sleep 0.2; cd sub && git config user.name n && git checkout -qb other',
      )
      assert.equal(result.notices, [])
      assert.match(readFileSync(join(sub, '.git/config'), 'utf8'), /git-lfs[^]*name = n/)
    }),
  )

  test(
    'nobody was told of what a run had changed for other programs',
    withPlaces(async ({ run, workspace }) => {
      git(['init', '-q', workspace])
      write(join(workspace, 'AGENTS.md'), 'be good\n')
      write(join(workspace, '.github/workflows/a.yml'), 'on: push\n')
      const quiet = await run('cat AGENTS.md; touch other')
      assert.equal(quiet.notices, [])
      const loud = await run(
        'echo evil >>AGENTS.md; echo evil >.github/workflows/b.yml; echo "* filter=x" >.git/info/attributes; echo x >.npmrc',
      )
      assert.equal(loud.notices.length, 1)
      assert.match(
        loud.notices.join(),
        'Changed during this run: .npmrc, .github/workflows, AGENTS.md, .git/info/attributes.',
      )
      assert.equal((await run('true')).notices, [])
    }),
  )

  test(
    'a refused setting of git did not say how to do without',
    withPlaces(async ({ run, workspace }) => {
      git(['init', '-q', workspace])
      const { notices } = await run('git remote add origin ../x')
      assert.match(notices.join(), 'git -c key=value')
      assert.match(notices.join(), 'ask the user')
    }),
  )
}

test.run()
