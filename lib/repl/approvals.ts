import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Approve } from '../executor/executor.ts'
import { messageOf } from '../protocol/errors.ts'
import { isObject } from '../protocol/shape/shape.ts'
import { ifThere } from '../system/look.ts'
import { makePrivateFolder, replaceFile } from '../system/private-files.ts'
import { askQuestion } from './line/list.ts'
import type { Display } from './screen/display.ts'
import type { Style } from './screen/text.ts'

/** An answer that is remembered: it holds for exactly this command, in this directory, by this rule. */
export interface Approval {
  command: string
  cwd: string
  rule: string
}

/** Those that are kept on disk. Each throws what the file system says. */
export interface Approvals {
  has(approval: Approval): boolean
  add(approval: Approval): void
  list(): Approval[]
  /** Removes the one at this place of the list, counted from 0. */
  remove(index: number): boolean
}

export function openApprovals(file: string): Approvals {
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
    makePrivateFolder(dirname(file))
    replaceFile(file, `${JSON.stringify(approvals, null, 2)}\n`)
  }

  return {
    list,
    has: (wanted) => list().some((approval) => isSame(approval, wanted)),
    add: (approval) => write([...list(), approval]),
    remove(index) {
      const entry = list()[index]
      if (entry) write(list().filter((known) => !isSame(known, entry)))
      return entry !== undefined
    },
  }
}

function isSame(a: Approval, b: Approval): boolean {
  return a.command === b.command && a.cwd === b.cwd && a.rule === b.rule
}

function isApproval(entry: unknown): entry is Approval {
  const parts = isObject(entry) ? [entry['command'], entry['cwd'], entry['rule']] : [null]
  return parts.every((part) => typeof part === 'string')
}

export interface ApproveParts {
  display: Display
  approvals: Approvals
  style: Style
  home: string | undefined
}

/** Answers the guard: from what is remembered, else by asking. */
export function createApprove({ display, approvals, style, home }: ApproveParts): Approve {
  /** What fails is reported, and the question is asked, or the answer holds once. */
  function attempt<Value>(act: () => Value, otherwise: Value, problem: string): Value {
    try {
      return act()
    } catch (error) {
      display.print([style.yellow(`${problem}: ${messageOf(error)}`)])
      return otherwise
    }
  }

  return async ({ command, cwd }, { rule, reason, matched }) => {
    const approval = { command: command.trimStart(), cwd, rule: rule ?? '' }
    const isKnown = () => approvals.has(approval)
    if (attempt(isKnown, false, 'Remembered approvals cannot be read')) return true
    const answer = await askQuestion(display, {
      text: [style.yellow(reason ?? `${rule} asks`), `Run ${style.bold(command)} ?`],
      answers: {
        yes: '(this once)',
        ...(mayLast(`${matched ?? ''} ${command}`, rule, home) ? { always: '' } : {}),
        no: '',
      },
      style,
    })
    if (answer === 'always')
      attempt(() => approvals.add(approval), undefined, 'This answer is not remembered')
    return answer !== 'no'
  }
}

/** A yes for ever is not for what takes the whole system, a home or a disk along. */
function mayLast(command: string, rule: string | null, home: string | undefined): boolean {
  if (rule === 'disk-destroy') return false
  const words = command.split(/[\s;&|()]+/).map((word) => word.replaceAll(/["'\\]/g, ''))
  return !words.some(
    (word) =>
      /^(?:\/+\*?|~\w*\/?\*?|\$\{?HOME\}?\/?\*?|\/dev\/.+|\/(?:home|Users|root)(?:\/[^/]*)?\/?\*?|--no-preserve-root)$/.test(
        word,
      ) ||
      (home !== undefined && word.replace(/\/\*?$/, '') === home),
  )
}
