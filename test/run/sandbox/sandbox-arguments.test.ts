import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { composeMounts } from '../../../lib/run/sandbox/sandbox-arguments.ts'
import { separateLoaderVariables } from '../../../lib/run/sandbox/sandbox-arguments.ts'
import type { SandboxPlaces } from '../../../lib/run/sandbox/sandbox-places.ts'

function mount(
  changes: Partial<Omit<SandboxPlaces, 'fixed'>>,
  share: string | null = null,
): string[] {
  const places = {
    workspace: '/w',
    writable: ['/w'],
    hidden: [],
    hostRun: {
      listPresent: () => [],
      enter: () => undefined,
      leave: () => undefined,
      close: () => undefined,
      takeNotices: () => [],
      run: () => () => undefined,
    },
    tmp: '/tmp',
    cwd: '/w',
    ...changes,
  }
  const roots = places.writable.length > 0 ? places.writable : [places.workspace]
  const fixed = roots.map((path) => ({ name: path, path, identity: '' }))
  const given = {
    places: { ...places, fixed },
    privateTmp: () => '/private',
    artifacts: null,
    share,
    runFiles: [],
  }
  return composeMounts({ ...given, firstFd: 5 }).words
}

/** Where in the words a mount on a path comes. */
function position(words: string[], path: string): number {
  return words.findIndex(
    (word, index) =>
      word === path &&
      !words[index - 1]?.startsWith('--perms') &&
      (words[index - 1] === '--tmpfs' || words[index - 2]?.includes('bind') === true),
  )
}

test('what contains another place is mounted before it', () => {
  const inside = mount({ workspace: '/tmp/a/w', writable: ['/tmp/a/w'] })
  assert.match(inside.join(' '), /--bind \/private \/tmp .*--ro-bind \/private\/a \/tmp\/a /)
  assert.ok(position(inside, '/tmp') < position(inside, '/tmp/a/w'))
  const around = mount({ workspace: '/w', writable: ['/w'], tmp: '/w/tmp' })
  assert.ok(around.join(' ').includes('--bind /private /w/tmp'))
  assert.ok(position(around, '/w') < position(around, '/w/tmp'))
})

test('a run that may not write has no writable mount but its temporary folder', () => {
  const words = mount({ writable: [] })
  const bound = words.flatMap((word, index) =>
    word.startsWith('--bind') ? [words[index + 2]] : [],
  )
  assert.equal(bound, ['/tmp'])
})

test('the folders above a hidden place in a workspace cannot be renamed', () => {
  const text = mount({
    workspace: '/h',
    writable: ['/h'],
    hidden: [
      { path: '/h/.config/a/b', folder: true, shown: [] },
      { path: '/h/.netrc', folder: false, shown: [] },
    ],
  }).join(' ')
  assert.match(text, '--bind-fd 5 /h')
  assert.match(
    text,
    /--bind-fd \d \/h\/\.config .*--bind-fd \d \/h\/\.config\/a .*--perms 0111 --tmpfs \/h\/\.config\/a\/b/,
  )
  assert.match(text, '--ro-bind /dev/null /h/.netrc')
})

test('what the host has in places that are not there inside need not be hidden', () => {
  const hidden = [
    { path: '/tmp/socket', folder: false, shown: [] },
    { path: '/run/docker.sock', folder: false, shown: [] },
  ]
  assert.not.match(mount({ hidden }).join(' '), 'sock')
})

test('variables of the loader stay inside', () => {
  const env = {
    PATH: '/bin',
    LD_PRELOAD: 'x',
    LD_LIBRARY_PATH: 'y',
    BASH_ENV: 'z',
    'BASH_FUNC_sh%%': '() { :; }',
    OLD_LD: 'a',
  }
  const { outside, inside } = separateLoaderVariables(env)
  assert.equal(outside, { PATH: '/bin', OLD_LD: 'a' })
  assert.equal(Object.keys(inside), ['LD_PRELOAD', 'LD_LIBRARY_PATH', 'BASH_ENV', 'BASH_FUNC_sh%%'])
})

test.run()
