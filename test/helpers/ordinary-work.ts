import { execFileSync } from 'node:child_process'

/** Work that no sandbox is to be in the way of: [name, command, what it writes, program that it needs]. */
export const ordinaryWork: [name: string, command: string, output: RegExp, program?: string][] = [
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
  ['background processes', 'sleep 0.05 & (exit 3) & wait $!; echo $?; wait', /^3$/m],
  ['signals among its own', 'sh -c \'trap "echo got" USR1; kill -USR1 $$; echo end\'', /got\nend/],
  ['shared memory', 'echo x >/dev/shm/x && cat /dev/shm/x', /^x$/m],
  [
    'xargs and find',
    'touch a b c && find . -name "[abc]" -print0 | xargs -0 -n1 -P2 echo | wc -l',
    /^3$/m,
  ],
  ['who am I', 'id -un >/dev/null; id -u', new RegExp(`^${process.getuid?.()}$`, 'm')],
  ['a time zone and a locale', 'TZ=UTC date -d @0 +%Y', /^1970$/m],
  [
    'a rebase and a tag',
    'git init -qb main r && cd r && git config user.email a@b && git config user.name n && echo x >f && git add f && git commit -qm one && git checkout -qb b && echo y >g && git add g && git commit -qm two && git checkout -q main && echo z >h && git add h && git commit -qm three && git rebase -q main b && git tag v1 && git log --oneline v1 | wc -l',
    /^3$/m,
    'git',
  ],
  [
    'a clone and a push',
    'git init -q --bare o.git && git clone -q o.git c 2>/dev/null && cd c && git config user.email a@b && git config user.name n && echo x >f && git add f && git commit -qm one && git push -q origin HEAD && git ls-remote | wc -l',
    /^[12]$/m,
    'git',
  ],
  [
    'make with many jobs',
    'printf "all: a b c d\\na b c d:\\n\\t@echo \\$@ >\\$@\\n" >Makefile && make -s -j4 && cat a b c d | wc -l',
    /^4$/m,
    'make',
  ],
  [
    'Java',
    `printf 'class M { public static void main(String[] a) { System.out.println("java"); } }' >M.java && java M.java`,
    /^java$/m,
    'java',
  ],
  [
    'tests of Python',
    'printf "def test_it():\\n    assert 1 + 1 == 2\\n" >test_it.py && pytest -q test_it.py',
    /^1 passed/m,
    'pytest',
  ],
  [
    'a package of Python in its environment',
    '/usr/bin/python3 -m venv v && mkdir p && printf "[project]\\nname = \\"p\\"\\nversion = \\"1\\"\\n" >p/pyproject.toml && v/bin/python -c "import pip; print(pip.__name__)"',
    /^pip$/m,
    '/usr/bin/python3',
  ],
  [
    'a script of npm',
    `echo '{"name":"d","version":"1.0.0","scripts":{"test":"node -e \\"console.log(6*7)\\""}}' >package.json && npm test --silent`,
    /^42$/m,
    'npm',
  ],
  [
    'a patch',
    'echo one >f && printf -- "--- f\\n+++ f\\n@@ -1 +1 @@\\n-one\\n+two\\n" | patch -s && cat f',
    /^two$/m,
    'patch',
  ],
  ['Perl in place', 'echo one >f && perl -pi -e s/one/two/ f && cat f', /^two$/m, 'perl'],
  ['JSON', `echo '{"a":[1,2]}' | jq '.a | add'`, /^3$/m, 'jq'],
  ['a zip', 'echo x >f && zip -q z.zip f && rm f && unzip -q z.zip && cat f', /^x$/m, 'zip'],
  ['a file by its address', 'echo x >f && curl -s "file://${PWD// /%20}/f"', /^x$/m, 'curl'],
  [
    'an agent of ssh that is refused with a word',
    'SSH_AUTH_SOCK=/run/none ssh-add -l 2>&1; echo $?',
    /(?:agent|connect).*\n2$/im,
    'ssh-add',
  ],
]

/** Whether a shell finds it. */
export function hasProgram(program: string): boolean {
  try {
    execFileSync('/bin/sh', ['-c', 'command -v "$0"', program], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
