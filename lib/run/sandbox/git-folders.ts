import {
  closeSync,
  constants,
  type Dirent,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { ifSeen, isWithin, lookAtLink, readRegularFile } from '../../system/look.ts'
import { findGitRisks } from './git-settings.ts'

/** Files of a git directory that git on the host obeys or runs (gitrepository-layout(5), githooks(5)). */
const gitFiles = ['hooks', 'config', 'config.worktree', 'commondir']

/** By file of a git directory, there or not: what of it would have git run programs, or obey other files. */
export type GitRisks = Record<string, string[]>

export interface GitFolders {
  /** The files of the repository, its worktrees and its submodules. */
  listOwn(): GitRisks
  /** Those of other repositories below the workspace, bare ones too, as far as the look goes (`mostFolders`). */
  listNested(): GitRisks
  /** Whether that look saw every folder. */
  readonly sawAll: boolean
}

/** So many folders are looked into, those near the root first. */
const mostFolders = 500
/** Submodules lie in each other; nobody goes deeper. */
const mostLevels = 16
/** Packages and the like, in which nobody stands when git is asked. */
const passedOver: ReadonlySet<string> = new Set(['node_modules', '.git', '.venv', 'target'])
/** A folder that has just been changed may change again within the same tick of the clock of its times. */
const tickMs = 50

interface KnownFolder {
  ctimeMs: number
  below: string[]
  /** Git directories that somebody who stands in it is in. */
  gitFolders: string[]
}

/** `stores`: git directories of the repository beside its `.git` (of a linked worktree). */
export function createGitFolders(workspace: string, stores: readonly string[]): GitFolders {
  const roots = [join(workspace, '.git'), ...stores]
  const known = new Map<string, KnownFolder>()
  let sawAll = false

  function readFolder(path: string): KnownFolder | null {
    const stat = ifSeen(() => lstatSync(path, { throwIfNoEntry: false }))
    const before = known.get(path)
    if (!stat || before?.ctimeMs === stat.ctimeMs) return before ?? null
    const entries = readEntries(path)
    const names = new Set(entries.map(({ name }) => name))
    const isBare = names.has('HEAD') && (names.has('config') || names.has('commondir'))
    const folders = entries.filter((entry) => entry.isDirectory() && !passedOver.has(entry.name))
    const found = {
      ctimeMs: Date.now() - stat.ctimeMs > tickMs ? stat.ctimeMs : 0,
      below: isBare ? [] : folders.map(({ name }) => join(path, name)),
      gitFolders: [...(names.has('.git') ? findGitFolder(path) : []), ...(isBare ? [path] : [])],
    }
    known.set(path, found)
    return found
  }

  /** Breadth first. */
  function findNested(): string[] {
    const found: string[] = []
    const queue = [workspace]
    for (const path of queue) {
      const folder = readFolder(path)
      found.push(...(folder?.gitFolders ?? []))
      queue.push(...(folder?.below.slice(0, mostFolders - queue.length) ?? []))
    }
    sawAll = queue.length < mostFolders
    return found
  }

  /** What git takes for the git directory of a folder, and that of its repository, if a run could have written it. */
  function findGitFolder(folder: string): string[] {
    const link = join(folder, '.git')
    const named = /^gitdir: (.+)$/m.exec(readText(link))?.[1]
    const path = ifSeen(() => realpathSync.native(named ? resolve(folder, named) : link))
    if (path === null || !isWithin(path, workspace)) return []
    // Of a linked worktree.
    return [basename(dirname(path)) === 'worktrees' ? dirname(dirname(path)) : path]
  }

  function assess(folders: readonly string[]): GitRisks {
    const files = [...new Set(folders)].flatMap((folder) => findGitFiles(folder))
    return Object.fromEntries(files.map(({ path, above }) => [path, findRisks(path, above)]))
  }

  function findRisks(path: string, above: readonly string[]): string[] {
    const stat = ifSeen(() => lstatSync(path, { throwIfNoEntry: false }))
    if (!stat) return []
    if (stat.isSymbolicLink()) return [`it is a link to ${lookAtLink(path)}`]
    if (basename(path) === 'hooks') return findHooks(path)
    if (!stat.isFile()) return ['it is no file']
    if (basename(path) !== 'commondir') return findGitRisks(path, workspace)
    const common = resolve(dirname(path), readText(path).trim())
    return [...above, ...roots].includes(common) ? [] : [`it leads to ${common}`]
  }

  return {
    listOwn: () => assess(roots),
    listNested: () => assess(findNested()),
    get sawAll() {
      return sawAll
    },
  }
}

/** What stands in the place of a missing file of git and says nothing new; null: an empty folder. */
const placeholders: Readonly<Record<string, string | null>> = {
  hooks: null,
  'config.worktree': '',
  commondir: '.\n',
}

/** False: it is there already, it is none that git does without, or it could not be made. */
export function makeToHold(path: string): boolean {
  const text = placeholders[basename(path)]
  if (text === undefined) return false
  const make = (at: string) => {
    if (text === null) mkdirSync(at)
    else writeFileSync(at, text, { flag: 'wx' })
    return true
  }
  return ifSeen(() => within(path, make)) ?? false
}

/** What somebody has filled meanwhile stays. */
export function removeMade(path: string): void {
  const text = placeholders[basename(path)]
  if (text === null) ifSeen(() => within(path, rmdirSync))
  else if (readText(path) === text) ifSeen(() => within(path, unlinkSync))
}

/**
 * Acts on a name in a folder. A link that a run lays above it, whenever it does so, must not lead the host's own hand
 * elsewhere: null if there is one.
 */
export function within<Value>(path: string, act: (name: string) => Value): Value | null {
  const folder = dirname(path)
  const fd = openSync(folder, constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    const inside = `/proc/self/fd/${fd}`
    return readlinkSync(inside) === folder ? act(join(inside, basename(path))) : null
  } finally {
    closeSync(fd)
  }
}

function findHooks(folder: string): string[] {
  const hooks = readEntries(folder).filter(({ name }) => !name.endsWith('.sample'))
  return hooks.flatMap(({ name }) => {
    const stat = ifSeen(() => lstatSync(join(folder, name)))
    return stat ? [`${name} ${stat.ino} ${stat.size} ${stat.ctimeMs}`] : []
  })
}

/** Folders of a git directory in which others are. */
const withGit: ReadonlySet<string> = new Set(['modules', 'worktrees'])

/** The files that git obeys, of a git directory and of those in it. `above`: the git directories from there up. */
function findGitFiles(
  folder: string,
  outer: readonly string[] = [],
  levels = mostLevels,
): { path: string; above: readonly string[] }[] {
  const entries = readEntries(folder)
  const names = new Set(entries.map(({ name }) => name))
  const isGit = names.has('HEAD')
  // Of what is no repository yet, what is there already.
  const isEmpty = !isGit && outer.length === 0
  const files = gitFiles.filter((name) => isGit || (isEmpty && names.has(name)))
  const above = isGit ? [...outer, folder] : outer
  const own = files.map((name) => ({ path: join(folder, name), above }))
  if (isEmpty || levels === 0) return own
  const below = entries.filter(
    (entry) => entry.isDirectory() && (!isGit || withGit.has(entry.name)),
  )
  return [
    ...own,
    ...below.flatMap(({ name }) => findGitFiles(join(folder, name), above, levels - 1)),
  ]
}

function readEntries(path: string): Dirent[] {
  return ifSeen(() => readdirSync(path, { withFileTypes: true })) ?? []
}

function readText(path: string): string {
  return ifSeen(() => readRegularFile(path)) ?? ''
}
