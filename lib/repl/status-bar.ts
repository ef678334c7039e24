import { formatDuration } from '../render/messages.ts'
import { nowMs } from '../system/clock.ts'
import { readGitBranch } from '../system/look.ts'
import { fit, shortenHome, type Style } from './screen/text.ts'
import type { ReplState } from './state.ts'

export interface StatusBarParts {
  state: ReplState
  style: Style
  home: string | undefined
  /** Those that go on, by number, with nowMs() of their start. */
  jobs: () => readonly { number: number; startedMs: number }[]
}

/** So many jobs are named; of more only their count is told. */
const namedJobs = 3
/** How long the branch that is shown may be an older one. */
const branchMs = 500

/** One line: mode, directory, branch, model, sandbox and jobs. */
export function createStatusBar({ state, style, home, jobs }: StatusBarParts) {
  let seen = { cwd: '', atMs: -Infinity, branch: null as string | null }

  /** Asked of the files now and then, not at every key. */
  function findBranch(): string | null {
    const { cwd } = state
    if (seen.cwd !== cwd || nowMs() - seen.atMs > branchMs) {
      seen = { cwd, atMs: nowMs(), branch: readGitBranch(cwd) }
    }
    return seen.branch
  }

  return (columns: number): string => {
    const branch = findBranch()
    const mode = state.bash ? `${style.mint('[BASH]')} ` : ''
    const place = branch === null ? '' : ` (${branch})`
    const sandbox = state.sandbox ?? state.configuredSandbox
    const parts = [
      `${mode}${style.bold(shortenHome(state.cwd, home))}${place}`,
      state.model ?? '',
      sandbox === 'off' ? '' : `sandbox ${sandbox}`,
      nameJobs(jobs()),
    ]
    // It is kept short: a terminal that gets narrower wraps a long one, and some lose the cursor above it.
    return fit(parts.filter((part) => part !== '').join(' · '), columns - 1)
  }
}

function nameJobs(running: readonly { number: number; startedMs: number }[]): string {
  if (running.length > namedJobs) return `${running.length} jobs`
  return running
    .map(({ number, startedMs }) => {
      const seconds = Math.floor((nowMs() - startedMs) / 1000)
      return `%${number} ${formatDuration(Math.max(1, seconds) * 1000)}`
    })
    .join(' ')
}
