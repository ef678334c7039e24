import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../protocol/errors.ts'
import type { UserRule, Verdict } from '../protocol/rules.ts'
import { isObject } from '../protocol/shape/shape.ts'
import { ifThere } from '../system/look.ts'
import { makePrivateFolder, replaceFile } from '../system/private-files.ts'

/** A person's lasting approval, a rule as it could stand under `guard.rules`. */
type Approval = Pick<UserRule, 'match' | 'decision'>

/** Those that are kept on disk. */
export type Approvals = ReturnType<typeof openApprovals>

/** `warn` is called if they cannot be read or written: the question is then asked, and its answer holds once. */
export function openApprovals(stateDir: string, warn: (message: string) => void) {
  const file = join(stateDir, 'approvals.json')

  function attempt<Value>(act: () => Value, otherwise: Value, problem: string): Value {
    try {
      return act()
    } catch (error) {
      warn(`${problem}: ${messageOf(error)}`)
      return otherwise
    }
  }

  /** Throws what the file system says. */
  function list(): Approval[] {
    const text = ifThere(() => readFileSync(file, 'utf8'))
    if (text === null) return []
    try {
      const entries: unknown = JSON.parse(text)
      // What cannot be read grants nothing.
      return Array.isArray(entries) ? entries.filter(isApproval) : []
    } catch (error) {
      throw new Error(`${file}: ${messageOf(error)}`, { cause: error })
    }
  }

  function write(approvals: readonly Approval[]): void {
    makePrivateFolder(stateDir)
    replaceFile(file, `${JSON.stringify(approvals, null, 2)}\n`)
  }

  return {
    list,
    /** Whether everything that the guard asks about has been allowed. */
    covers({ prefixes = [] }: Verdict): boolean {
      const read = () => list().map(({ match }) => match)
      const known = new Set(attempt(read, [], 'Remembered approvals cannot be read'))
      return prefixes.length > 0 && prefixes.every((prefix) => known.has(prefix))
    },
    add(prefixes: readonly string[]): void {
      const added = prefixes.map((match): Approval => ({ match, decision: 'allow' }))
      const keep = () =>
        write([...list().filter(({ match }) => !prefixes.includes(match)), ...added])
      attempt(keep, undefined, 'This answer is not remembered')
    },
    /** Removes the one at this place of the list, counted from 0. Throws what the file system says. */
    remove(index: number): boolean {
      const approvals = list()
      const [entry] = approvals.splice(index, 1)
      if (entry) write(approvals)
      return entry !== undefined
    },
  }
}

function isApproval(entry: unknown): entry is Approval {
  return isObject(entry) && typeof entry['match'] === 'string' && entry['decision'] === 'allow'
}
