import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
} from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { messageOf } from '../../protocol/errors.ts'
import { isWithin } from './paths.ts'

/** Files of a git directory that git on the host obeys or runs (gitrepository-layout(5), githooks(5)). */
const gitFiles = ['hooks', 'config', 'config.worktree', 'commondir']

/**
 * What programs of the host run or obey later on their own, by its path in the workspace: whoever
 * could write it in a sandbox would run commands outside of it. A run does not write these files,
 * unless the person declares them (`writable_folders`).
 */
const hostRunFiles: readonly string[] = [
  ...gitFiles.map((name) => `.git/${name}`),
  '.husky',
  // direnv(1), and the settings of nacre itself.
  ...['.envrc', '.nacre'],
  // Tasks, debuggers and settings that editors load with a folder.
  ...['.vscode', '.zed', '.idea/runConfigurations', '.devcontainer', '.devcontainer.json'],
  ...['.exrc', '.vimrc', '.nvimrc', '.nvim.lua', '.dir-locals.el'],
  // Settings, hooks and servers that coding agents start with a folder.
  ...['.claude', '.codex', '.cursor', '.gemini', '.mcp.json'],
]

/** The files of the host in one workspace as a run finds them. */
export interface HostRunFiles {
  /** Canonical paths that exist inside of the workspace: to be mounted read-only. Found when it is asked for. */
  readonly present: readonly string[]
  /**
   * To be called after the run. What the run has made in a place where nothing was before (a mount
   * needs something to be mounted on) is renamed, so that no program of the host reads it. Gives a
   * notice for each.
   */
  refusePlanted(): string[]
}

/**
 * `gitStores`: further git directories that the run may write (of a linked worktree). `declared`:
 * canonical paths that the person lets the run write.
 */
export function findHostRunFiles(
  workspace: string,
  gitStores: readonly string[],
  declared: readonly string[],
): HostRunFiles {
  const lifted = declared.filter((path) => path !== workspace && isWithin(path, workspace))
  const named = [
    ...[...hostRunFiles, ...findHookFolders(workspace)].map((path) => join(workspace, path)),
    ...[join(workspace, '.git/modules'), ...gitStores].flatMap(findGitFiles),
    ...findGitLink(workspace),
  ].filter((path) => !lifted.some((open) => isWithin(path, open)))
  const before = new Map(named.map((path) => [path, describeEntry(path)]))
  let present: string[] | null = null
  return {
    get present() {
      present ??= [...before].flatMap(([path, was]) =>
        was === 'nothing' ? [] : findInside(path, [workspace, ...gitStores]),
      )
      return present
    },
    refusePlanted: () =>
      [...before].flatMap(([path, was]) => {
        const mayBeNew = was === 'nothing' || was.startsWith('link ')
        if (!mayBeNew || describeEntry(path) === was || isHarmless(path)) return []
        return refuse(path, workspace)
      }),
  }
}

/** A `.git` file names the git directory of a linked worktree or a submodule. */
function findGitLink(workspace: string): string[] {
  const link = join(workspace, '.git')
  return lstatSync(link, { throwIfNoEntry: false })?.isDirectory() ? [] : [link]
}

/** `core.hooksPath` leads git to hooks in another folder (git-config(1)). */
function findHookFolders(workspace: string): string[] {
  const text = readText(join(workspace, '.git/config'))
  const folders = [...text.matchAll(/^\s*hooksPath\s*=\s*"?([^"\n]+?)"?\s*$/gim)]
  return folders
    .map(([, path = '']) => relative(workspace, resolve(workspace, path)))
    .filter((path) => path !== '' && !path.startsWith('..'))
}

const mostFolders = 500

/** The files that git obeys, of a git directory and of every git directory below it. */
function findGitFiles(root: string): string[] {
  const found: string[] = []
  const waiting = [root]
  for (let seen = 0; waiting.length > 0 && seen < mostFolders; seen++) {
    const folder = waiting.pop() as string
    const names = listFolders(folder)
    if (existsSync(join(folder, 'HEAD'))) {
      found.push(...gitFiles.map((name) => join(folder, name)).filter((path) => existsSync(path)))
    }
    const below = names.filter((name) => !['objects', 'refs', 'logs', 'hooks'].includes(name))
    waiting.push(...below.map((name) => join(folder, name)))
  }
  return found
}

function listFolders(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  } catch {
    // There is no such folder, or nobody may read it: then the run may not either.
    return []
  }
}

function readText(path: string): string {
  try {
    return lstatSync(path).isFile() ? readFileSync(path, 'utf8') : ''
  } catch {
    return ''
  }
}

/** The canonical path of what exists in one of the folders that a run may write. */
function findInside(path: string, folders: readonly string[]): string[] {
  try {
    const real = realpathSync.native(path)
    return folders.some((folder) => real !== folder && isWithin(real, folder)) ? [real] : []
  } catch {
    return []
  }
}

/** What tells an entry from another one in its place: a mount keeps files, but not names of links. */
function describeEntry(path: string): string {
  try {
    // Most are not there, and an error for each would take longer than everything else.
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined) return 'nothing'
    return stat.isSymbolicLink() ? `link ${readlinkSync(path)}` : 'there'
  } catch {
    return 'nothing'
  }
}

/** Keys by which a configuration of git runs programs or leads to other configurations (git-config(1)). */
const runningKey =
  /\[\s*(?:alias|include|includeIf|filter|diff|merge|difftool|mergetool|credential|gpg)\b|(?:^|\])\s*(?:fsmonitor|hooksPath|sshCommand|pager|editor|askPass|gitProxy|command|program|helper|textconv|worktree)\s*=/im

/** What `git init` makes in every new repository. */
function isHarmless(path: string): boolean {
  if (path.endsWith('/.git')) return lstatSync(path).isDirectory()
  if (path.endsWith('/.git/config')) {
    return lstatSync(path).isFile() && !runningKey.test(readText(path))
  }
  if (!path.endsWith('/.git/hooks') || !lstatSync(path).isDirectory()) return false
  return readdirSync(path).every((name) => name.endsWith('.sample'))
}

/** Moves the file beside its old name, so that nothing is lost. */
function refuse(path: string, workspace: string): string[] {
  const name = relative(workspace, path)
  const folder = dirname(path)
  let fd: number | null = null
  try {
    fd = openSync(folder, constants.O_DIRECTORY | constants.O_NOFOLLOW)
    // A link that a run lays above it must not lead the host's own hand elsewhere, whenever it does so.
    if (readlinkSync(`/proc/self/fd/${fd}`) !== folder) return []
    const places = [
      `${path}.refused`,
      ...Array.from({ length: 99 }, (_, n) => `${path}.refused-${n + 2}`),
    ]
    const free = places.find((place) => describeEntry(place) === 'nothing')
    if (free === undefined) throw new Error('there are too many refused ones already')
    const inside = `/proc/self/fd/${fd}`
    renameSync(join(inside, basename(path)), join(inside, basename(free)))
    return [
      `This run has made ${name}, which programs outside of the sandbox would run or obey; it is now called ${relative(workspace, free)}. To let runs write it, name it in \`writable_folders\` of your configuration`,
    ]
  } catch (error) {
    return [
      `This run has made ${name}, which programs outside of the sandbox would run or obey, and it could not be renamed: ${messageOf(error)}`,
    ]
  } finally {
    if (fd !== null) closeSync(fd)
  }
}
