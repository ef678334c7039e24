import type { RequestInput } from '../../protocol/request/request.ts'
import type { Result } from '../../protocol/result/result.ts'
import { describeTrouble } from '../../render/messages.ts'

/** What was found out about one thing that nacre uses. */
export interface Check {
  name: string
  /** `missing`: something does not work that nacre can do without. `broken`: it cannot. */
  status: 'ok' | 'missing' | 'broken'
  /** What there is, or why there is nothing. */
  detail: string
  /** What to do about it; null where nothing is to be done. */
  advice: string | null
}

/**
 * What to do about a failure of the system that has its own cause, whatever was tried; `otherwise` where
 * it has none.
 */
export function adviseOn(failure: string, otherwise: string): string {
  const known = Object.keys(causes).find((code) => failure.includes(code))
  return (known === undefined ? undefined : causes[known]) ?? otherwise
}

const causes: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full (or out of inodes): free some of it, or name a folder on another disk.',
  EDQUOT: 'Your quota on that disk is used up: free some of it, or name a folder on another disk.',
  EROFS: 'That file system is read-only: name a folder on one that can be written.',
  EMFILE: 'Too many files are open: raise `ulimit -n`.',
  ENFILE: 'Too many files are open on this machine.',
  EAGAIN: 'No more processes can be started: look at `ulimit -u` and what runs here.',
}

export function works(name: string, detail: string): Check {
  return { name, status: 'ok', detail, advice: null }
}

/** Runs a command and tells what it wrote, and why it failed if it did. */
export type Attempt = (
  command: string,
  changes?: Partial<RequestInput>,
) => Promise<{ result: Result; text: string; failure: string | null }>

/** `place`: what is the same for every command, such as the host. */
export function createAttempt(
  run: (input: RequestInput) => Promise<Result>,
  place: Partial<RequestInput>,
): Attempt {
  return async (command, changes) => {
    const result = await run({
      origin: 'print',
      command,
      streams: 'merged',
      pty: false,
      sandbox: 'off',
      guard: false,
      artifact: 'never',
      ...place,
      ...changes,
    })
    return { result, text: (result.output ?? '').trim(), failure: describeFailure(result) }
  }
}

function describeFailure(result: Result): string | null {
  const { command, status, exitCode, signal } = result
  if (exitCode === 0) return null
  return (
    describeTrouble(result)[0] ?? `\`${command}\` ended with ${status} ${exitCode ?? signal ?? ''}`
  )
}
