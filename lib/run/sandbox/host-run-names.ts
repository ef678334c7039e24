import { join } from 'node:path'
import { lookIntoFolder } from '../../system/look.ts'

/**
 * What programs of the host run or obey later on their own, by its path in the workspace: whoever could write it in a
 * sandbox would run commands outside of it. What is there is held: mounted read-only, unless the person declares it
 * (`writable_folders`). What is not there is refused: renamed when a run makes it, since a mount would need something
 * to be mounted on, which `git add -A` and the like would find there. What is missing of a git directory is held as well,
 * by an empty file (`git-folders.ts`).
 */
export const refused: readonly string[] = [
  // Repositories, and what they run.
  ...['.git', '.hg/hgrc', '.jj', '.svn', '.husky'],
  // direnv(1) and its like, debuggers and terminals, and the settings of nacre itself.
  ...['.envrc', '.autoenv', '.mise.toml', '.gdbinit', '.lldbinit', '.tmux.conf', '.nacre'],
  // Tasks, debuggers and settings that editors load with a folder.
  ...['.vscode', '*.code-workspace', '.zed', '.idea', '.fleet'],
  ...['.devcontainer', '.devcontainer.json'],
  ...['.exrc', '.vimrc', '.nvimrc', '.nvim.lua', '.lvimrc', '.dir-locals.el'],
  // Settings, hooks and servers that coding agents start with a folder.
  ...['.claude', '.codex', '.cursor', '.gemini', '.mcp.json', '.opencode', 'opencode.json'],
  ...['.aider*', '.continue', '.windsurf', '.kiro', '.roo', '.clinerules', '.copilot'],
]

/** What programs read that somebody starts on purpose, and what everyday work writes: a notice names what a run changed. */
export const told: readonly string[] = [
  ...['.npmrc', '.yarnrc.yml', '.pnp.cjs', '.pnpmfile.cjs', '.cargo/config.toml'],
  ...['.bazelrc', '.buckconfig', '.tool-versions', '.python-version', '.ruby-version'],
  ...['.github/workflows', '.gitlab-ci.yml', '.circleci', '.pre-commit-config.yaml'],
  'lefthook.yml',
  ...['AGENTS.md', 'CLAUDE.md', 'GEMINI.md', '.cursorrules'],
  ...['.gitmodules', '.gitattributes', '.git/info/attributes', '.git/objects/info/alternates'],
  // What is left of a rebase may hold commands for its next step.
  ...['.git/rebase-merge', '.git/rebase-apply', '.git/sequencer'],
]

/** Whether a name at the root of a workspace is refused. */
export const isRefusedName = (name: string): boolean => refused.some((entry) => fits(entry, name))

export const isPattern = (entry: string) => entry.includes('*')

function fits(entry: string, name: string): boolean {
  const [start = '', end] = entry.split('*')
  if (end === undefined) return entry === name
  return name.startsWith(start) && name.endsWith(end) && !/\.refused(-|$)/.test(name)
}

/** Gives the paths of a table in a workspace; of a pattern, those that are there. */
export function listTable(table: readonly string[], workspace: string): string[] {
  const names = lookIntoFolder(workspace)
  return table.flatMap((entry) => {
    const found = entry.includes('*') ? names.filter((name) => fits(entry, name)) : [entry]
    return found.map((name) => join(workspace, name))
  })
}
