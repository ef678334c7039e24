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
import { findObstacle, openPlaces } from '../../helpers/sandbox-places.ts'

const obstacle = await findObstacle()
if (obstacle !== null) console.log(`SKIP work in the sandbox: ${obstacle}`)

/** Ordinary jobs: [command, what it writes, program that it needs]. */
const jobs: [name: string, command: string, output: RegExp, program?: string][] = [
  ['write in the workspace', 'mkdir -p a/b && echo x >a/b/c && cat a/b/c && rm -r a', /^x$/m],
  ['a temporary file', 'f=$(mktemp) && echo x >$f && cat $f && rm $f', /^x$/m],
  ['a temporary folder', 'd=$(mktemp -d) && touch $d/x && ls $d', /^x$/m],
  ['edit in place', 'echo one >f && sed -i s/one/two/ f && cat f', /^two$/m],
  [
    'standard output by its name',
    'echo x >/dev/stdout; echo y | tee /dev/stderr >/dev/null',
    /x\ny/,
  ],
  ['a pipeline', 'seq 1000 | sort -rn | head -3 | tail -1', /^998$/m],
  ['process substitution', 'diff <(echo a) <(echo a) && echo same', /^same$/m],
  ['a here-document', 'cat <<E\nhello\nE', /^hello$/m],
  ['random numbers and null', 'head -c 4 /dev/urandom | wc -c; cat /dev/null', /^4$/m],
  [
    'a repository',
    'git init -q r && cd r && git config user.email a@b && git config user.name n && echo x >f && git add f && git commit -qm one && git log --oneline | wc -l',
    /^1$/m,
    'git',
  ],
  [
    'a branch, a stash and a merge',
    'git init -qb main r && cd r && git config user.email a@b && git config user.name n && echo x >f && git add f && git commit -qm one && git checkout -qb b && echo y >f && git stash -q && git stash pop -q && git commit -qam two && git checkout -q main && git merge -q b && cat f',
    /^y$/m,
    'git',
  ],
  [
    'make',
    'printf "all: out\\nout:\\n\\techo built >out\\n" >Makefile && make -s && cat out',
    /^built$/m,
    'make',
  ],
  [
    'a compiler',
    'echo "int main(void){return 42;}" >m.c && cc m.c -o m && ./m; echo $?',
    /^42$/m,
    'cc',
  ],
  [
    'node',
    "node -e \"fs.writeFileSync('f', 'x'); console.log(os.networkInterfaces() && fs.readFileSync('f', 'utf8'))\"",
    /^x$/m,
    'node',
  ],
  [
    'a server of its own',
    `node -e "const s = net.createServer(c => c.end('hello')).listen(0, '127.0.0.1', () => net.connect(s.address().port).on('data', d => { console.log(String(d)); s.close() }))"`,
    /^hello$/m,
    'node',
  ],
  [
    'a socket in the workspace',
    `node -e "const s = net.createServer(c => c.end('hello')).listen('s.sock', () => net.connect('s.sock').on('data', d => { console.log(String(d)); s.close() }))"`,
    /^hello$/m,
    'node',
  ],
  [
    'worker threads and child processes',
    `node -e "new (require('worker_threads').Worker)('console.log(require(\\"child_process\\").execSync(\\"echo deep\\")+1)', { eval: true })"`,
    /^deep/m,
    'node',
  ],
  [
    'npm',
    'npm init -y >/dev/null && npm pkg get name && npm run env 2>/dev/null | grep -c ^npm_',
    /"[\s\S]*\n\d/,
    'npm',
  ],
  [
    'npm install',
    'mkdir d && echo \'{"name":"d","version":"1.0.0"}\' >d/package.json && tar czf d.tgz d && npm init -y >/dev/null && npm install --offline ./d.tgz >/dev/null && ls node_modules',
    /^d$/m,
    'npm',
  ],
  [
    'locks',
    'exec 9>lock && flock -n 9 && ! flock -n lock true && echo locked',
    /^locked$/m,
    'flock',
  ],
  [
    'a database',
    'sqlite3 d.db "pragma journal_mode=wal; create table t(x); insert into t values (7); select * from t"',
    /^7$/m,
    'sqlite3',
  ],
  [
    'Python',
    '/usr/bin/python3 -c "import tempfile, multiprocessing; print(tempfile.gettempdir(), multiprocessing.Lock() is not None)"',
    /^\/tmp True$/m,
    '/usr/bin/python3',
  ],
  [
    'a virtual environment',
    '/usr/bin/python3 -m venv --without-pip v && v/bin/python -c "import sys; print(sys.prefix != sys.base_prefix)"',
    /^True$/m,
    '/usr/bin/python3',
  ],
  [
    'an archive',
    'mkdir a && echo x >a/f && tar czf a.tgz a && rm -r a && tar xzf a.tgz && cat a/f',
    /^x$/m,
  ],
  ['background processes', 'sleep 0.05 & (exit 3) & wait $!; echo $?', /^3$/m],
  ['signals among its own', 'sh -c \'trap "echo got" USR1; kill -USR1 $$; echo end\'', /got\nend/],
  ['shared memory', 'echo x >/dev/shm/x && cat /dev/shm/x', /^x$/m],
  [
    'xargs and find',
    'touch a b c && find . -name "[abc]" -print0 | xargs -0 -n1 -P2 echo | wc -l',
    /^3$/m,
  ],
  ['who am I', 'id -un >/dev/null; id -u', new RegExp(`^${process.getuid?.()}$`, 'm')],
  ['a time zone and a locale', 'TZ=UTC date -d @0 +%Y', /^1970$/m],
]

function has(program: string): boolean {
  try {
    execFileSync('/bin/sh', ['-c', 'command -v "$0"', program], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

if (obstacle === null) {
  for (const network of ['on', 'off'] as const) {
    for (const [name, command, output, program] of jobs) {
      if (program !== undefined && !has(program)) {
        console.log(`SKIP ${name}: there is no ${program}`)
        continue
      }
      test(`works with network ${network}: ${name}`, async () => {
        const places = await openPlaces({ changes: { network } })
        try {
          const result = await places.run(command)
          assert.match(result.output ?? '', output, JSON.stringify(result))
          assert.is(result.exitCode, 0, result.output)
          assert.equal(result.notices, [])
        } finally {
          await places.remove()
        }
      })
    }
  }

  test('what one run leaves in the private tmp the next one finds, and nobody else', async () => {
    const places = await openPlaces()
    try {
      await places.run('echo kept >/tmp/nacre-test-kept')
      assert.is((await places.run('cat /tmp/nacre-test-kept')).output, 'kept\n')
      assert.not(existsSync('/tmp/nacre-test-kept'))
    } finally {
      await places.remove()
    }
  })

  test('a linked worktree can commit, and only where its repository knows it', async () => {
    const places = await openPlaces()
    try {
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
      const result = await places.run(commit, { cwd: worktree })
      assert.is(result.output, '2\n')
      writeFileSync(join(places.workspace, '.git'), `gitdir: ${repository}/.git/worktrees/tree\n`)
      const forged = await places.run(`touch "${repository}/.git/x"`)
      assert.match(forged.output ?? '', 'Read-only file system')
    } finally {
      await places.remove()
    }
  })

  test('a workspace reached through a symbolic link keeps its name', async () => {
    const places = await openPlaces()
    try {
      const link = join(places.root, 'link')
      symlinkSync(places.workspace, link)
      const result = await places.run('pwd; pwd -P; touch new', { cwd: link })
      assert.is(result.output, `${link}\n${places.workspace}\n`)
      assert.ok(existsSync(join(places.workspace, 'new')))
    } finally {
      await places.remove()
    }
  })

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
      const next = await places.run('touch /tmp/x; ls /tmp', { cwd: folder })
      assert.match(next.output ?? '', 'x\n')
      assert.not(existsSync('/tmp/x'))
      const readOnly = await places.run('ls; touch no', { cwd: folder, sandbox: 'read-only' })
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
      const inHome = await places.run(
        'mv .config old; cat .config/gh/hosts.yml .ssh/id old/gh/*; touch x',
        { cwd: home },
      )
      assert.not.match(inHome.output ?? '', 'SECRET')
      assert.ok(existsSync(join(home, 'x')) && existsSync(join(home, '.config/gh/hosts.yml')))
      assert.match(readFileSync(join(home, '.ssh/id'), 'utf8'), 'SECRET')
    } finally {
      await places.remove()
    }
  })
}

test.run()
