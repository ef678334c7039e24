import { lstatSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { hasProgram } from '../../helpers/ordinary-work.ts'
import { findObstacle, withPlaces } from '../../helpers/sandbox-places.ts'

const obstacle = await findObstacle()
if (obstacle !== null) console.log(`SKIP set-user-ID files of a sandbox: ${obstacle}`)

/** A call of the C library with a mode, which tells how it ended. */
function callC(call: string): string {
  const program = `import ctypes, os
c = ctypes.CDLL(None, use_errno=True)
r = ${call}
print(r, os.strerror(ctypes.get_errno()))`
  return `python3 -c '${program}' 2>&1`
}

/** The numbers of system calls that the C library has no name for, the same everywhere. */
const [fchmodat2, openat2] = [452, 437]

/** Ways to leave a program that gives its user's rights to whoever starts it on the host. */
const ways: [name: string, command: string, program?: string][] = [
  ['chmod by number', 'cp /bin/sh s; chmod 4755 s'],
  ['chmod by letter', 'cp /bin/sh s; chmod u+s s'],
  ['both bits', 'cp /bin/sh s; chmod 6755 s'],
  ['chmod of a folder', 'mkdir d; chmod u+s d'],
  ['a copy with its mode', 'cp -p "$OUT/../setuid" s'],
  ['a copy of everything', 'cp -a "$OUT/../setuid" s'],
  ['install', 'install -m 4755 /bin/sh s'],
  ['an archive', 'tar xpf "$OUT/../setuid.tar"', 'tar'],
  ['fchmod', 'touch s; perl -e \'open F, "<", "s"; chmod 04755, *F or print "$!\\n"\'', 'perl'],
  ['open', callC('c.open(b"s", os.O_CREAT | os.O_WRONLY, 0o4755)'), 'python3'],
  ['open for the group', callC('c.open(b"s", os.O_CREAT | os.O_WRONLY, 0o2755)'), 'python3'],
  ['openat', callC('c.openat(-100, b"s", os.O_CREAT | os.O_WRONLY, 0o6755)'), 'python3'],
  ['creat', callC('c.creat(b"s", 0o4755)'), 'python3'],
  ['mknod', callC('c.mknod(b"s", 0o104755, 0)'), 'python3'],
  ['mknod for the group', callC('c.mknod(b"s", 0o102755, 0)'), 'python3'],
  ['a nameless file', callC('os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o4755)'), 'python3'],
  ['fchmodat2', `touch s; ${callC(`c.syscall(${fchmodat2}, -100, b"s", 0o4755, 0)`)}`, 'python3'],
  [
    'openat2',
    callC(
      `c.syscall(${openat2}, -100, b"s", (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, 0o4755, 0), 24)`,
    ),
    'python3',
  ],
]

const marked = (folder: string, bits: number) =>
  readdirSync(folder).filter((name) => (lstatSync(join(folder, name)).mode & bits) !== 0)

if (obstacle === null) {
  for (const [name, command, program] of ways) {
    if (program !== undefined && !hasProgram(program)) continue
    test(
      `a sandboxed run left a set-user-ID file: ${name}`,
      withPlaces(async (places) => {
        const given =
          'umask 0; cp /bin/sh ../setuid && chmod 4755 ../setuid && tar cf ../setuid.tar -C .. setuid'
        assert.is((await places.run(given, { sandbox: 'off' })).exitCode, 0)
        const { output } = await places.run(`umask 0; ${command}`)
        assert.equal(marked(places.workspace, 0o6000), [], output ?? '')
        assert.match(output ?? '', /not permitted|not implemented/i)
        const free = await places.run(`rm -rf s; umask 0; ${command}`, { sandbox: 'off' })
        if (name === 'a nameless file') assert.not.match(free.output ?? '', 'not permitted')
        else assert.is(marked(places.workspace, 0o6000).length, 1, `makes none: ${free.output}`)
      }),
    )
  }

  test(
    'a folder whose files belong to its group could not be made',
    withPlaces(async (places) => {
      const commands = ['mkdir -m 2775 shared', 'mkdir also && chmod g+s also']
      if (hasProgram('git')) commands.push('git init -q --shared=group r && ls -d r/.git')
      const { exitCode, output } = await places.run(commands.join(' && '))
      assert.is(exitCode, 0, output ?? '')
      assert.equal(marked(places.workspace, 0o2000), ['also', 'shared'])
    }),
  )

  test(
    'a file without such a mode could not be copied with its own',
    withPlaces(async (places) => {
      mkdirSync(join(places.workspace, 'from'), { mode: 0o1777 })
      const command = 'cp -a /bin/true from/ && cp -a from to && tar cf t.tar from && tar xpf t.tar'
      const { exitCode, output } = await places.run(command)
      assert.is(exitCode, 0, output ?? '')
    }),
  )
}

test.run()
