import { lstatSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { readRegularFile } from './look.ts'

/** The git root above a directory, else the directory itself. */
export function findWorkspace(cwd: string): string {
  return findGitRoot(cwd) ?? cwd
}

/** The directory, or the one above it, that holds `.git`; null outside of every repository. */
function findGitRoot(directory: string): string | null {
  for (let folder = directory; ; folder = dirname(folder)) {
    if (isThere(join(folder, '.git'))) return folder
    if (dirname(folder) === folder) return null
  }
}

/** Below a file, or in a folder that may not be entered, nothing is. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}

/** The branch that a directory is on, or the beginning of its commit; null outside of git. */
export function readGitBranch(directory: string): string | null {
  const root = findGitRoot(directory)
  if (root === null) return null
  const path = join(root, '.git')
  try {
    // A worktree and a submodule have a file that names the folder (gitrepository-layout(5)).
    const folder = statSync(path).isDirectory() ? path : followLink(path)
    const head = readRegularFile(join(folder, 'HEAD')).trim()
    return /^ref: refs\/heads\/(.+)$/.exec(head)?.[1] ?? head.slice(0, 8)
  } catch {
    // It is no repository, or one that may not be read.
    return null
  }
}

function followLink(path: string): string {
  const text = readRegularFile(path)
  return resolve(dirname(path), text.replace(/^gitdir:\s*/, '').trim())
}
