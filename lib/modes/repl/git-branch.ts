import { readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** The branch that a directory is on, or the beginning of its commit; null outside of git. */
export function readGitBranch(cwd: string): string | null {
  for (let directory = cwd; ; directory = dirname(directory)) {
    const found = readHead(join(directory, '.git'))
    if (found !== null) return found
    if (directory === dirname(directory)) return null
  }
}

function readHead(path: string): string | null {
  try {
    // A worktree and a submodule have a file that names the folder (gitrepository-layout(5)).
    const folder = statSync(path).isDirectory()
      ? path
      : resolve(
          dirname(path),
          readFileSync(path, 'utf8')
            .replace(/^gitdir:\s*/, '')
            .trim(),
        )
    const head = readFileSync(join(folder, 'HEAD'), 'utf8').trim()
    const branch = /^ref: refs\/heads\/(.+)$/.exec(head)?.[1]
    return branch ?? head.slice(0, 8)
  } catch {
    return null
  }
}
