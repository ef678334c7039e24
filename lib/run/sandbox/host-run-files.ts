import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  type Stats,
} from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { messageOf } from '../../protocol/errors.ts'
import { ifSeen, isWithin, lookAtLink, lookIntoFile, lookIntoFolder } from '../../system/look.ts'

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
  /** Gives the canonical paths that exist inside of the workspace: to be mounted read-only. */
  listPresent(): string[]
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
  const link = join(workspace, '.git')
  const named = [
    ...[...hostRunFiles, ...findHookFolders(workspace)].map((path) => join(workspace, path)),
    ...[join(link, 'modules'), ...gitStores].flatMap((root) => findGitFiles(root)),
    // A `.git` file names the git directory of a linked worktree or a submodule.
    ...(look(link)?.isDirectory() ? [] : [link]),
  ].filter((path) => !lifted.some((open) => isWithin(path, open)))
  // A mount keeps a file, but not the name of a link.
  const before = new Map(
    named.map((path) => {
      const is = look(path)
      return [path, { is, leadsTo: is?.isSymbolicLink() ? lookAtLink(path) : null }]
    }),
  )
  return {
    listPresent: () =>
      [...before].flatMap(([path, { is }]) =>
        is ? findInside(path, [workspace, ...gitStores]) : [],
      ),
    refusePlanted: () =>
      [...before].flatMap(([path, { is, leadsTo }]) => {
        const isNew = is === null || (leadsTo !== null && lookAtLink(path) !== leadsTo)
        const found = isNew ? look(path) : null
        return found && !isHarmless(path, found) ? refuse(path, workspace) : []
      }),
  }
}

/** What lies there, itself and not what it leads to. */
function look(path: string): Stats | null {
  // Most are not there, and an exception for each would take longer than everything else.
  return ifSeen(() => lstatSync(path, { throwIfNoEntry: false })) ?? null
}

/** `core.hooksPath` leads git to hooks in another folder (git-config(1)). */
function findHookFolders(workspace: string): string[] {
  const text = readText(join(workspace, '.git/config'))
  const folders = [...text.matchAll(/^\s*hooksPath\s*=\s*"?([^"\n]+?)"?\s*$/gim)]
  return folders
    .map(([, path = '']) => relative(workspace, resolve(workspace, path)))
    .filter((path) => path !== '' && !path.startsWith('..'))
}

/** Submodules lie in each other; nobody goes deeper. */
const mostLevels = 16

/** The files that git obeys, of a git directory and of every git directory below it. */
function findGitFiles(folder: string, levels = mostLevels): string[] {
  const names = lookIntoFolder(folder)
  const own = names.includes('HEAD') ? gitFiles : []
  const below = names.filter((name) => !['objects', 'refs', 'logs', 'hooks'].includes(name))
  return [
    ...own.map((name) => join(folder, name)).filter((path) => existsSync(path)),
    ...below.flatMap((name) => {
      const path = join(folder, name)
      return levels > 0 && look(path)?.isDirectory() ? findGitFiles(path, levels - 1) : []
    }),
  ]
}

/** Through no link, and no pipe, which would never end. */
function readText(path: string): string {
  return look(path)?.isFile() ? (lookIntoFile(path) ?? '') : ''
}

/** The canonical path of what exists in one of the folders that a run may write. */
function findInside(path: string, folders: readonly string[]): string[] {
  const real = ifSeen(() => realpathSync.native(path))
  if (real === null) return []
  return folders.some((folder) => real !== folder && isWithin(real, folder)) ? [real] : []
}

/** Sections and keys by which a configuration of git runs programs or leads to other configurations (git-config(1)). */
const runningSettings: readonly string[] = [
  String.raw`\[\s*(?:alias|include|includeIf|filter|diff|merge|difftool|mergetool|credential|gpg|pager)\b`,
  String.raw`\[\s*(?:browser|man|guitool|trailer|sendemail|imap|instaweb|protocol)\b`,
  String.raw`(?:^|\])\s*(?:fsmonitor|hooksPath|templateDir|sshCommand|pager|editor|askPass|gitProxy|worktree)\s*=`,
  String.raw`(?:^|\])\s*(?:command|program|helper|textconv|diffFilter|alternateRefsCommand)\s*=`,
  String.raw`(?:^|\])\s*(?:uploadpack|receivepack|vcs|recentObjectsHook|packObjectsHook|authorsProg)\s*=`,
  // Of a submodule: `!` and a command.
  String.raw`(?:^|\])\s*update\s*=[\s"\\]*!`,
]
const runningSetting = new RegExp(runningSettings.join('|'), 'im')

/** What `git init` makes in every new repository. */
function isHarmless(path: string, found: Stats): boolean {
  if (path.endsWith('/.git')) return found.isDirectory()
  if (path.endsWith('/.git/config')) return found.isFile() && !runningSetting.test(readText(path))
  if (!path.endsWith('/.git/hooks') || !found.isDirectory()) return false
  return readdirSync(path).every((name) => name.endsWith('.sample'))
}

const mostRefused = 100

/** Moves the file beside its old name, so that nothing is lost. */
function refuse(path: string, workspace: string): string[] {
  const made = `This run has made ${relative(workspace, path)}, which programs outside of the sandbox would run or obey`
  const folder = dirname(path)
  let fd: number | null = null
  try {
    fd = openSync(folder, constants.O_DIRECTORY | constants.O_NOFOLLOW)
    const inside = `/proc/self/fd/${fd}`
    // A link that a run lays above it must not lead the host's own hand elsewhere, whenever it does so.
    if (readlinkSync(inside) !== folder) return []
    let free = `${basename(path)}.refused`
    for (let n = 2; look(join(inside, free)) !== null; n++) {
      if (n > mostRefused) throw new Error('there are too many refused ones already')
      free = `${basename(path)}.refused-${n}`
    }
    renameSync(join(inside, basename(path)), join(inside, free))
    const name = relative(workspace, join(folder, free))
    return [
      `${made}; it is now called ${name}. To let runs write it, name it in \`writable_folders\` of your configuration`,
    ]
  } catch (error) {
    return [`${made}, and it could not be renamed: ${messageOf(error)}`]
  } finally {
    if (fd !== null) closeSync(fd)
  }
}
