import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { messageOf } from '../../protocol/errors.ts'
import { makePrivateFolder, replaceFile } from '../../system/private-files.ts'
import { ifThere } from '../../system/look.ts'

/** An answer that is remembered: it holds for exactly this command, in this directory, by this rule. */
export interface Approval {
  command: string
  cwd: string
  rule: string
}

export interface Approvals {
  has(approval: Approval): boolean
  /** `always` is kept on disk; else until nacre ends. Throws what the file system says. */
  add(approval: Approval, lasting: boolean): void
  /** Lists all of them; those that are kept on disk come last. */
  list(): { approval: Approval; lasting: boolean }[]
  /** Removes the one at this place of the list, counted from 0. */
  remove(index: number): boolean
}

export function openApprovals(file: string): Approvals {
  const session: Approval[] = []

  function list() {
    return [
      ...session.map((approval) => ({ approval, lasting: false })),
      ...readApprovals(file).map((approval) => ({ approval, lasting: true })),
    ]
  }

  return {
    list,
    has: (wanted) => list().some(({ approval }) => isSame(approval, wanted)),
    add(approval, lasting) {
      if (lasting) writeApprovals(file, [...readApprovals(file), approval])
      else session.push(approval)
    },
    remove(index) {
      const entry = list()[index]
      if (!entry) return false
      if (entry.lasting) {
        const others = readApprovals(file).filter((known) => !isSame(known, entry.approval))
        writeApprovals(file, others)
      } else session.splice(index, 1)
      return true
    },
  }
}

function isSame(a: Approval, b: Approval): boolean {
  return a.command === b.command && a.cwd === b.cwd && a.rule === b.rule
}

function readApprovals(file: string): Approval[] {
  const text = ifThere(() => readFileSync(file, 'utf8'))
  if (text === null) return []
  // What cannot be read grants nothing.
  const entries = parse(text, file)
  return Array.isArray(entries) ? entries.filter(isApproval) : []
}

function parse(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`${file}: ${messageOf(error)}`, { cause: error })
  }
}

function isApproval(entry: unknown): entry is Approval {
  if (typeof entry !== 'object' || entry === null) return false
  const { command, cwd, rule } = entry as Record<string, unknown>
  return [command, cwd, rule].every((part) => typeof part === 'string')
}

function writeApprovals(file: string, approvals: readonly Approval[]): void {
  makePrivateFolder(dirname(file))
  replaceFile(file, `${JSON.stringify(approvals, null, 2)}\n`)
}
