import type { Entry } from './entry.ts'
import { keys } from './keys.ts'
import { isBelow } from '../system/look.ts'

/** Whether a folder is one of those trusted, or below one. Links lead to what they name. */
export function isTrusted(folder: string, trusted: readonly string[]): boolean {
  return trusted.some((path) => isBelow(folder, path))
}

/** What a workspace's file may say, and a notice for each thing that it may not. */
export function restrict(
  own: readonly Entry[],
  user: readonly Entry[],
  { trusted, userFile, workspace }: { trusted: boolean; userFile: string; workspace: string },
): { entries: Entry[]; notices: string[] } {
  const notices: string[] = []
  const entries = own.flatMap((entry): Entry[] => {
    const right = keys.get(entry.name)?.workspace ?? 'user'
    if (entry.name === 'guard.rules' && !trusted) return [untrustedRules(entry)]
    if (trusted && right !== 'user') return [entry]
    if (typeof right === 'function') {
      const current = user.findLast(({ name }) => name === entry.name)?.value
      if (right(entry.value, current, workspace) !== undefined) return [entry]
    }
    notices.push(`${entry.place}: \`${entry.name}\` is ignored: ${reasonOf(right, userFile)}`)
    return []
  })
  return { entries, notices }
}

/** The rules of a workspace may tighten what holds, and lift nothing: each is marked as such. */
function untrustedRules(entry: Entry): Entry {
  const rules = entry.value as readonly object[]
  return { ...entry, value: rules.map((rule) => ({ ...rule, untrusted: true })) }
}

function reasonOf(right: unknown, userFile: string): string {
  if (right === 'user') return `it is read from ${userFile} only`
  const what =
    right === 'trusted' ? 'a workspace may not set it' : 'a workspace may only tighten it'
  return `${what}, unless its folder is in \`trusted_folders\` of ${userFile}`
}
