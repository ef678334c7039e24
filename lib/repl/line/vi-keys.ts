import { isKey, typedText } from '../screen/keyboard.ts'
import {
  afterChar,
  beforeChar,
  type CharSearch,
  lineEnd,
  lineStart,
  move,
  type Place,
  searchChar,
} from './vi-motions.ts'

/** The line that vi keys work on. */
export interface EditedLine {
  place(): Place
  /** The text and the cursor; one step of undo. */
  replace(place: Place): void
  moveTo(at: number): void
  undo(): void
  /** Goes back (1) or forth (-1) in the history. */
  recall(by: 1 | -1): void
  /** Searches the whole history. */
  search(): void
  /** Opens the line in the person's editor. */
  edit(): void
}

export interface ViKeys {
  /** Whether keys are commands now, and not text. */
  readonly isCommanding: boolean
  /** Takes a key; false: it does what it always does. */
  key(data: string): boolean
  /** The next line begins as text. */
  reset(): void
}

const operators = new Set(['d', 'c', 'y'])
const searches = new Set(['f', 'F', 't', 'T'])
const turned: Record<string, string> = { f: 'F', F: 'f', t: 'T', T: 't' }
/** Keys that stand for an operator with its motion. */
const short: Record<string, string> = {
  ...{ x: 'dl', X: 'dh', D: 'd$', C: 'c$', s: 'cl', S: 'cc', Y: 'yy' },
}

/** What is typed of a command: a count, an operator with a count of its own, and what a key waits for. */
interface Pending {
  /** How often the operator was asked for. */
  times: number
  count: string
  operator: string
  /** `r`, or a search that waits for its character. */
  waits: string
}
const nothing: Pending = { times: 1, count: '', operator: '', waits: '' }

/** The keys of vi as shells have them: text at first, commands after Esc. */
export function createViKeys(line: EditedLine): ViKeys {
  let isCommanding = false
  let pending = nothing
  let register = ''
  let lastSearch: CharSearch | null = null
  /** The keys of the command under way, and of the last one that changed something. */
  let typed: string[] = []
  let change: string[] = []
  /** Where text began that a command takes, and what it took last. */
  let began: Place | null = null
  let taken = ''

  const count = () => Math.min(1000, pending.times * Number(pending.count || 1))

  function beginText(): void {
    isCommanding = false
    pending = nothing
    began = line.place()
    change = [...typed]
  }

  function beginCommands(): void {
    isCommanding = true
    pending = nothing
    const place = line.place()
    if (began) taken = findTaken(began, place)
    began = null
    if (place.at > lineStart(place)) line.moveTo(beforeChar(place))
  }

  /** Where a motion leads, gone as often as was asked. */
  function follow(step: (place: Place, again: boolean) => ReturnType<typeof move>) {
    const { text, at } = line.place()
    let target: ReturnType<typeof move> = null
    for (let times = 0; times < count(); times++) {
      const found = step({ text, at: target?.at ?? at }, times > 0)
      if (!found) break
      target = found
    }
    return target
  }

  function go(target: ReturnType<typeof move>): void {
    const { operator } = pending
    if (target && operator === '') stay(target.at)
    else if (target) {
      const { at, text } = line.place()
      const [from, to] = at <= target.at ? [at, target.at] : [target.at, at]
      if (target.lines) operateOnLines(operator, from, to)
      else
        operate(
          operator,
          from,
          Math.min(text.length, target.inclusive ? afterChar({ text, at: to }) : to),
        )
    }
    pending = nothing
  }

  /** A command leaves the cursor on a character, not behind the last. */
  function stay(at: number): void {
    const { text } = line.place()
    const last = Math.max(lineStart({ text, at }), beforeChar({ text, at: lineEnd({ text, at }) }))
    line.moveTo(Math.min(at, last))
  }

  function operate(operator: string, from: number, to: number): void {
    const { text } = line.place()
    register = text.slice(from, to)
    if (operator === 'y') return stay(from)
    line.replace({ text: text.slice(0, from) + text.slice(to), at: from })
    if (operator === 'c') beginText()
    else stay(from)
    change = [...typed]
  }

  function operateOnLines(operator: string, from: number, to: number): void {
    const { text } = line.place()
    const start = lineStart({ text, at: from })
    const end = lineEnd({ text, at: to })
    if (operator === 'd' && end < text.length) return operate(operator, start, end + 1)
    // The last line takes the end of the one before it along.
    operate(operator, operator === 'd' ? Math.max(0, start - 1) : start, end)
  }

  function put(after: boolean): void {
    const { text, at } = line.place()
    const to = Math.min(text.length, after && text !== '' ? afterChar({ text, at }) : at)
    const put = register.repeat(count())
    line.replace({ text: text.slice(0, to) + put + text.slice(to), at: to })
    stay(Math.max(to, beforeChar({ text: line.place().text, at: to + put.length })))
    change = [...typed]
  }

  function changeChars(next: (char: string) => string): void {
    const { text, at } = line.place()
    let to = at
    for (let times = 0; times < count() && to < lineEnd({ text, at }); times++) {
      to = afterChar({ text, at: to })
    }
    const changed = [...text.slice(at, to)].map(next).join('')
    line.replace({ text: text.slice(0, at) + changed + text.slice(to), at: to })
    stay(Math.max(at, to - 1))
    change = [...typed]
  }

  function insertAt(at: number): void {
    line.moveTo(at)
    beginText()
  }

  const commands: Record<string, () => void> = {
    i: () => beginText(),
    a: () => insertAt(Math.min(lineEnd(line.place()), line.place().at + 1)),
    I: () => insertAt(move('^', line.place())?.at ?? 0),
    A: () => insertAt(lineEnd(line.place())),
    p: () => put(true),
    P: () => put(false),
    u: () => {
      line.undo()
      stay(line.place().at)
    },
    '~': () =>
      changeChars((char) =>
        char === char.toUpperCase() ? char.toLowerCase() : char.toUpperCase(),
      ),
    '.': repeat,
    '/': () => line.search(),
    v: () => line.edit(),
  }

  /** The last change once more, as often as it is asked for now. */
  function repeat(): void {
    typed = pending.count === '' ? [...change] : [...pending.count, ...withoutCounts(change)]
    pending = nothing
    for (const key of typed) command(key)
    if (isCommanding) return
    const { text, at } = line.place()
    line.replace({ text: text.slice(0, at) + taken + text.slice(at), at: at + taken.length })
    began = null
    beginCommands()
  }

  /** One key of a command. */
  function command(key: string): void {
    if (pending.waits !== '') return takeChar(key)
    if (/[1-9]/.test(key) || (key === '0' && pending.count !== '')) {
      pending = { ...pending, count: pending.count + key }
    } else if (key === 'r' || searches.has(key)) pending = { ...pending, waits: key }
    else if (key === pending.operator) {
      operateOnLines(key, line.place().at, line.place().at)
      pending = nothing
    } else if (operators.has(key) && pending.operator === '') {
      pending = { ...pending, times: count(), count: '', operator: key }
    } else if (short[key] !== undefined && pending.operator === '') {
      for (const part of short[key]) command(part)
    } else moveOrAct(key)
  }

  function moveOrAct(key: string): void {
    if ((key === ';' || key === ',') && lastSearch) {
      const { kind, char } = lastSearch
      const search = { kind: key === ';' ? kind : (turned[kind] ?? kind), char }
      return go(follow((place) => searchChar(search, place, true)))
    }
    // As in every shell: `cw` leaves the blanks behind the word.
    const { text, at } = line.place()
    const motion = pending.operator === 'c' && /\S/.test(text[at] ?? '') ? (ends[key] ?? key) : key
    const target = follow((place) => move(motion, place))
    if (target || pending.operator !== '') return go(target)
    if (key === 'j' || key === 'k') line.recall(key === 'k' ? 1 : -1)
    else commands[key]?.()
    pending = nothing
  }

  function takeChar(char: string): void {
    const { waits } = pending
    pending = { ...pending, waits: '' }
    if (waits === 'r') changeChars(() => char)
    else {
      lastSearch = { kind: waits, char }
      return go(follow((place, again) => searchChar({ kind: waits, char }, place, again)))
    }
    pending = nothing
  }

  return {
    get isCommanding() {
      return isCommanding
    },
    key(data) {
      if (isKey(data, 'escape')) {
        // With nothing to edit it is what it is without vi keys.
        if (isCommanding && pending === nothing) return false
        if (!isCommanding) beginCommands()
        pending = nothing
        return true
      }
      if (!isCommanding) return false
      const key = typedText(data)
      if (key === null || [...key].length !== 1) return false
      if (pending === nothing) typed = []
      typed.push(key)
      command(key)
      return true
    },
    reset() {
      isCommanding = false
      pending = nothing
      began = null
    },
  }
}

/** What was typed since text began; nothing where the line has become another one. */
function findTaken(began: Place, { text }: Place): string {
  const [head, tail] = [began.text.slice(0, began.at), began.text.slice(began.at)]
  const isSame = text.startsWith(head) && text.slice(head.length).endsWith(tail)
  return isSame ? text.slice(head.length, text.length - tail.length) : ''
}

/** The keys of a change, to be done as often as another count says. */
function withoutCounts(keys: readonly string[]): string[] {
  const all = [...keys]
  const isDigit = () => /^\d$/.test(all[0] ?? '')
  while (isDigit()) all.shift()
  const [operator = ''] = all
  if (!operators.has(operator)) return all
  all.shift()
  while (isDigit()) all.shift()
  return [operator, ...all]
}

const ends: Record<string, string> = { w: 'e', W: 'E' }
