import {
  type Dirent,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readlinkSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { ifSeen, isWithin, lookAtLink, readRegularFile } from '../../system/look.ts'
import { findGitRisks, readGitlinks, readSubmodules } from './git-settings.ts'

/** Files of a git directory that git on the host obeys or runs (gitrepository-layout(5), githooks(5)). */
const gitFiles = ['hooks', 'config', 'config.worktree', 'commondir']

/** By file of a git directory: what of it would have git run programs, or obey other files. */
export type GitRisks = Record<string, string[]>

export interface GitFolders {
  /** The files, there or not, of the repository, its worktrees, and submodules, wherever their git directories are. */
  listOwn(): GitRisks
  /**
   * Those of other repositories below the workspace, bare ones too: of each that its index names, and as far as the look
   * goes (`mostFolders`).
   */
  listNested(): GitRisks
  /** Whether the look saw every folder. */
  readonly sawAll: boolean
}

/** So many folders are looked into, those near the root first. */
const mostFolders = 500
/** Submodules lie in each other; nobody goes deeper. */
const mostLevels = 16
/** Packages and the like, in which nobody stands when git is asked. */
const passedOver: ReadonlySet<string> = new Set(['node_modules', '.git', '.venv', 'target'])
/** A folder that has just been changed may change again within the same tick of the clock of its times. */
export const tickMs = 50

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

  function listGitlinks(): string[] {
    const parts = roots.flatMap((root) => [
      join(root, 'index'),
      // Of a split index (git-update-index(1)).
      ...readEntries(root).flatMap(({ name }) =>
        name.startsWith('sharedindex.') ? join(root, name) : [],
      ),
    ])
    const links = parts.flatMap((path) => readGitlinks(ifSeen(() => readFileSync(path)) ?? none))
    return links.map((path) => resolve(workspace, path)).filter(isInside)
  }

  const isInside = (path: string) => path !== workspace && isWithin(path, workspace)
  const isOwn = (path: string) => roots.some((root) => isWithin(path, root))

  /** What git takes for the git directory of a folder, and that of its repository, where a run could have written it. */
  function findGitFolder(folder: string): string[] {
    const link = join(folder, '.git')
    const named = readGitLink(link)
    const path = ifSeen(() => realpathSync.native(named === null ? link : resolve(folder, named)))
    if (path === null || !isWithin(path, workspace) || isOwn(path)) return []
    // Of a linked worktree.
    return [basename(dirname(path)) === 'worktrees' ? dirname(dirname(path)) : path]
  }

  function assess(folders: readonly string[]): GitRisks {
    const files = [...new Set(folders)].flatMap((folder) => findGitFiles(folder))
    return Object.fromEntries(files.map(({ path, known }) => [path, findRisks(path, known)]))
  }

  function findRisks(path: string, known: readonly string[]): string[] {
    const stat = ifSeen(() => lstatSync(path, { throwIfNoEntry: false }))
    if (!stat) return []
    if (stat.isSymbolicLink()) return [`it is a link to ${lookAtLink(path)}`]
    if (basename(path) === 'hooks') return findHooks(path)
    if (!stat.isFile()) return ['it is no file']
    if (basename(path) !== 'commondir') return findGitRisks(path, workspace)
    const common = resolve(dirname(path), readText(path).trim())
    return [...known, ...roots].includes(common) ? [] : [`it leads to ${common}`]
  }

  return {
    listOwn() {
      const submodules = readSubmodules(workspace).map((path) => resolve(workspace, path))
      return assess([...roots, ...submodules.filter(isInside).flatMap(findGitFolder)])
    },
    listNested: () => assess([...findNested(), ...listGitlinks().flatMap(findGitFolder)]),
    get sawAll() {
      return sawAll
    },
  }
}

const none = Buffer.alloc(0)

/** Whether git gets on as if it were not there: what `git init` makes, and what is made here to be mounted on. */
export function isEmptyGitFile(path: string): boolean {
  if (basename(path) === 'hooks') return readEntries(path).length === 0
  return ['', '.'].includes(readText(path).trim())
}

/**
 * Acts on a name in a folder. A link that a run lays above it must not lead the host's own hand elsewhere, whenever it
 * does so: null, if there is one.
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

/** An empty file of git that says nothing new. False: there is no need, or it could not be made. */
export function makeToHold(path: string): boolean {
  const name = basename(path)
  if (name === 'config') return false
  const made = ifSeen(() =>
    within(path, (at) => {
      if (name === 'hooks') mkdirSync(at)
      else writeFileSync(at, name === 'commondir' ? '.\n' : '', { flag: 'wx' })
      return true
    }),
  )
  return made ?? false
}

export function removeMade(path: string): void {
  if (!isEmptyGitFile(path)) return
  ifSeen(() => within(path, basename(path) === 'hooks' ? rmdirSync : unlinkSync))
}

function findHooks(folder: string): string[] {
  const hooks = readEntries(folder).filter(({ name }) => !name.endsWith('.sample'))
  return hooks.flatMap(({ name }) => {
    const stat = ifSeen(() => lstatSync(join(folder, name)))
    return stat ? [`${name} ${stat.ino} ${stat.size} ${stat.ctimeMs}`] : []
  })
}

/**
 * The files that git obeys, of a git directory and of every git directory below it. `known`: the git directories from
 * there up.
 */
function findGitFiles(
  folder: string,
  above: readonly string[] = [],
  levels = mostLevels,
): { path: string; known: readonly string[] }[] {
  const entries = readEntries(folder)
  const isGit = entries.some(({ name }) => name === 'HEAD')
  const known = isGit ? [...above, folder] : above
  // Of what is no repository yet, what is there already.
  const isRoot = basename(folder) === '.git'
  const names = gitFiles.filter(
    (file) => isGit || (isRoot && entries.some(({ name }) => name === file)),
  )
  const own = names.map((name) => ({ path: join(folder, name), known }))
  const below = entries.filter((entry) => entry.isDirectory() && !withoutGit.has(entry.name))
  return [
    ...own,
    ...below.flatMap(({ name }) =>
      levels > 0 ? findGitFiles(join(folder, name), known, levels - 1) : [],
    ),
  ]
}

/** Folders of a git directory that hold none themselves. */
const withoutGit: ReadonlySet<string> = new Set(['objects', 'refs', 'logs', 'hooks', 'info'])

function readEntries(path: string): Dirent[] {
  return ifSeen(() => readdirSync(path, { withFileTypes: true })) ?? []
}

function readText(path: string): string {
  return ifSeen(() => readRegularFile(path)) ?? ''
}

/** Null where it is a folder. */
function readGitLink(path: string): string | null {
  return /^gitdir: (.+)$/m.exec(readText(path))?.[1] ?? null
}
