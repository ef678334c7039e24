import { statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { ifSeen, isWithin, readRegularFile } from '../../system/look.ts'

/** One entry of a configuration of git (git-config(1), "CONFIGURATION FILE"). */
interface GitSetting {
  /** Section and key, small, without the subsection: `remote.url`. */
  name: string
  /** As it is written, with quotes and escapes resolved. */
  value: string
}

const blank = /(?:\s+|[#;].*)+/y
const section = /\[([\w.-]+)(?:[ \t]+"(?:[^"\\\n]|\\.)*")?\]/y
const entry =
  /([a-z][a-z0-9-]*)[ \t]*(?:=((?:"(?:[^"\\\n]|\\[^])*"|\\[^]|[^"\\\n#;])*)(?:[#;].*)?)?(?:\n|$)/iy

/**
 * Reads the text as git does; null if git could not. The readers of `.ini` files that exist as packages (which those of
 * git's format are made of) know neither several entries on one line nor continued lines, quotes inside of a value, or
 * a key without a value.
 */
function parseGitSettings(text: string): GitSetting[] | null {
  const source = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
  const found: GitSetting[] = []
  let at = 0
  let inside: string | null = null
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at
    const match = pattern.exec(source)
    if (match) at = pattern.lastIndex
    return match
  }
  for (take(blank); at < source.length; take(blank)) {
    const opened = take(section)
    if (opened) {
      // `[name.sub]` is an old way to write `[name "sub"]`.
      inside = opened[1]?.split('.')[0] ?? ''
      continue
    }
    const [, key, value = ''] = (inside === null ? null : take(entry)) ?? []
    if (key === undefined) return null
    found.push({ name: `${inside}.${key}`.toLowerCase(), value: unquote(value) })
  }
  return found
}

function unquote(written: string): string {
  const joined = written.replaceAll(/\\([^])/g, (both, char) => (char === '\n' ? '' : both)).trim()
  const named: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b' }
  return joined.replaceAll(/\\(.)|"/g, (_, char?: string) => (char ? (named[char] ?? char) : ''))
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
  const settings = text === null ? null : parseGitSettings(text)
  if (settings === null) return ['it cannot be read']
  const isHarmless = ({ name, value }: GitSetting) => {
    // `ext::command` and its like name programs (gitremote-helpers(7)).
    if (addresses.has(name)) return !/^\s*[\w+.-]+::/.test(value)
    if (name === 'core.worktree') return isWithin(resolve(dirname(file), value), workspace)
    if (name === 'submodule.update') return updates.has(value)
    return harmless.has(name)
  }
  return settings
    .filter((setting) => !isHarmless(setting))
    .map(({ name, value }) => `${name}=${value}`)
}

/** Where git begins to read, and how it understands what it reads there. */
export interface GitReading {
  /** The root of the work tree, from which hooks and programs are named. */
  workspace: string
  /** What `~` is. */
  home: string
}

const mostIncludes = 10

/**
 * What a configuration leads git to: included files, whatever their condition, folders of hooks, programs that are
 * named by a path. They need not be there.
 */
export function followGitSettings(file: string, reading: GitReading, depth = 0): string[] {
  const { workspace, home } = reading
  const expand = (path: string) => (path.startsWith('~/') ? join(home, path.slice(2)) : path)
  return readSettings(file).flatMap(({ name, value }) => {
    if (name === 'include.path' || name === 'includeif.path') {
      const path = resolve(dirname(file), expand(value))
      return depth < mostIncludes ? [path, ...followGitSettings(path, reading, depth + 1)] : [path]
    }
    if (name === 'core.hookspath') return [resolve(workspace, expand(value))]
    // An alias is what somebody runs on purpose, as any script of the workspace.
    if (harmless.has(name) || addresses.has(name) || /^alias\.|^core\.worktree$/.test(name))
      return []
    const words = value.split(/[\s"';|&()]+/).filter((word) => word.includes('/'))
    return words.map((word) => resolve(workspace, expand(word))).filter(isFile)
  })
}

function readSettings(file: string): GitSetting[] {
  // Most are not there, and an exception for each would take longer than everything else.
  const text = isFile(file) ? ifSeen(() => readRegularFile(file)) : null
  return (text === null ? null : parseGitSettings(text)) ?? []
}

function isFile(path: string): boolean {
  return ifSeen(() => statSync(path, { throwIfNoEntry: false })?.isFile()) ?? false
}

/** The paths of submodules, from the root of the work tree. */
export function readSubmodules(workspace: string): string[] {
  const settings = readSettings(join(workspace, '.gitmodules'))
  return settings.filter(({ name }) => name === 'submodule.path').map(({ value }) => value)
}

/** The mode of an entry of the index that is a repository of its own (gitformat-index(5)). */
const gitlinkMode = Buffer.from([0, 0, 0xe0, 0])
/** Of an entry, up to its mode; and from there to the object's name. */
const beforeMode = 24
const modeToName = 16

/**
 * The paths of repositories that git looks into with every `git status`, from its index or a part of it that is shared.
 * Paths of the fourth format, which are written without their common beginning, are not found.
 */
export function readGitlinks(index: Buffer): string[] {
  const paths: string[] = []
  for (let at = index.indexOf(gitlinkMode); at >= 0; at = index.indexOf(gitlinkMode, at + 1)) {
    if (at < beforeMode) continue
    for (const hashBytes of [20, 32]) {
      const flags = at + modeToName + hashBytes
      if (flags + 2 > index.length) continue
      const begin = flags + ((index.readUInt8(flags) & 0x40) === 0 ? 2 : 4)
      paths.push(index.toString('utf8', begin, index.indexOf(0, begin)))
    }
  }
  return paths
}
