import { readGitBranch } from '../../system/git.ts'
import { countOf, fit, spread } from './columns.ts'
import type { Style } from './style.ts'
import type { ReplState } from './state.ts'

export interface StatusBarParts {
  state: ReplState
  style: Style
  home: string | undefined
  countJobs: () => number
}

/** One line: mode, directory, branch on the left; model, sandbox and jobs on the right. */
export function createStatusBar({ state, style, home, countJobs }: StatusBarParts) {
  return (columns: number): string => {
    const branch = readGitBranch(state.cwd)
    const mode = state.bash ? `${style.mint('[BASH]')} ` : ''
    const place = branch === null ? '' : ` (${branch})`
    const left = `${mode}${style.bold(shortenHome(state.cwd, home))}${place}`
    const sandbox = state.sandbox ?? state.configuredSandbox
    const jobs = countJobs()
    const right = [
      state.model ?? 'no model',
      sandbox === 'off' ? '' : `sandbox ${sandbox}`,
      jobs === 0 ? '' : countOf(jobs, 'job'),
    ]
    const told = right.filter((part) => part !== '').join(' · ')
    const bar = spread(left, told, columns - 1)
    return bar.includes(told) ? bar : fit(`${left} ${told}`, columns - 1)
  }
}

function shortenHome(path: string, home: string | undefined): string {
  if (!home || home === '/') return path
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
