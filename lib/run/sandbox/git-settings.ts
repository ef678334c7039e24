import { statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { ifSeen, isWithin, readRegularFile } from '../../system/look.ts'

/** A line of a configuration of git (git-config(1), "CONFIGURATION FILE"). */
interface GitSetting {
  /** Section and key, small, without the subsection: `remote.url`. Empty: the line is none that git writes. */
  name: string
  value: string
}

const section = /^\s*(?:\[([\w.-]+)(?:[ \t]+"(?:[^"\\]|\\.)*")?\])?\s*([^]*?)\s*$/
const entry = /^([a-z][a-z0-9-]*)\s*(?:=\s*([^"\\#;]*|"[^"\\]*"))?$/i

/**
 * Reads the text line by line. A value that goes on in the next line, or has escapes or a comment in it, is not
 * understood, so that its line counts as a risk.
 */
function parseGitSettings(text: string): GitSetting[] {
  let inside = ''
  return text.split('\n').flatMap((line) => {
    const [, opened, rest = line] = section.exec(line) ?? []
    // `[name.sub]` is an old way to write `[name "sub"]`.
    if (opened !== undefined) inside = opened.split('.')[0] ?? ''
    if (rest === '' || /^[#;]/.test(rest)) return []
    const [, key, value = ''] = entry.exec(rest) ?? []
    if (key === undefined) return [{ name: '', value: rest }]
    return [{ name: `${inside}.${key}`.toLowerCase(), value: value.replaceAll('"', '') }]
  })
}

/** What configures a repository and starts nothing. */
const harmless: ReadonlySet<string> = new Set([
  ...['repositoryformatversion', 'filemode', 'bare', 'logallrefupdates', 'ignorecase', 'symlinks']
    .concat('precomposeunicode', 'autocrlf', 'eol', 'sparsecheckout', 'sparsecheckoutcone')
    .map((key) => `core.${key}`),
  ...['user.name', 'user.email', 'init.defaultbranch', 'index.sparse'],
  ...['remote.fetch', 'remote.tagopt', 'remote.promisor', 'remote.partialclonefilter'],
  ...[
    'branch.merge',
    'branch.rebase',
    'push.default',
    'push.autosetupremote',
    'pull.rebase',
    'pull.ff',
  ],
  ...['objectformat', 'refstorage', 'partialclone', 'worktreeconfig'].map(
    (key) => `extensions.${key}`,
  ),
  'submodule.active',
])
const addresses: ReadonlySet<string> = new Set([
  ...['remote.url', 'remote.pushurl', 'branch.remote', 'branch.pushremote', 'submodule.url'],
])
const updates: ReadonlySet<string> = new Set(['', 'checkout', 'rebase', 'merge', 'none'])

/**
 * The settings of a file by which git on the host may run a program, obey another file, or work elsewhere: all that
 * are not known to be harmless.
 */
export function findGitRisks(file: string, workspace: string): string[] {
  const text = ifSeen(() => readRegularFile(file))
  if (text === null) return ['it cannot be read']
  const isHarmless = ({ name, value }: GitSetting) => {
    // `ext::command` and its like name programs (gitremote-helpers(7)).
    if (addresses.has(name)) return !/^\s*[\w+.-]+::/.test(value)
    if (name === 'core.worktree') return isWithin(resolve(dirname(file), value), workspace)
    if (name === 'submodule.update') return updates.has(value)
    return harmless.has(name)
  }
  return parseGitSettings(text)
    .filter((setting) => !isHarmless(setting))
    .map(({ name, value }) => `${name}=${value}`)
}

/** Where git begins to read, and how it understands what it reads there. */
export interface GitReading {
  /** The root of the work tree, from which hooks are named. */
  workspace: string
  /** What `~` is. */
  home: string
}

const mostIncludes = 10

/** What a configuration leads git to: included files, whatever their condition, and folders of hooks, there or not. */
export function followGitSettings(file: string, reading: GitReading, depth = 0): string[] {
  const { workspace, home } = reading
  const expand = (path: string) => (path.startsWith('~/') ? join(home, path.slice(2)) : path)
  return readSettings(file).flatMap(({ name, value }) => {
    if (name === 'core.hookspath') return [resolve(workspace, expand(value))]
    if (name !== 'include.path' && name !== 'includeif.path') return []
    const path = resolve(dirname(file), expand(value))
    return depth < mostIncludes ? [path, ...followGitSettings(path, reading, depth + 1)] : [path]
  })
}

function readSettings(file: string): GitSetting[] {
  // Most are not there, and an exception for each would take longer than everything else.
  const isThere = ifSeen(() => statSync(file, { throwIfNoEntry: false }))
  return parseGitSettings((isThere && ifSeen(() => readRegularFile(file))) ?? '')
}
