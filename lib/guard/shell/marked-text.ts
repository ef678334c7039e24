/**
 * Text as far as it is known before the run. Private-use characters stand for what only the run
 * decides; everything else is literal, so a quoted `*` is a plain `*` here.
 */

/** An active `*`, or a name that a glob or a search would have put here. */
export const anyText = '\uF8E0'
/** An active `?`. */
export const anyCharacter = '\uF8E1'
/** The value of something nobody assigned in the command. */
export const unknown = '\uF8E2'
/** What a constant has become where it is not followed: through `openssl enc -d`, over a limit. */
export const obscured = '\uF8E3'
/** An unknown value that is not empty: `${X:?}`. */
export const given = '\uF8E6'
const setOpen = '\uF8E4'
const setClose = '\uF8E5'

const marks = /[\uF8E0-\uF8E6]/g
const globMarks = /[\uF8E0\uF8E1\uF8E4]/
const unknownMarks = /[\uF8E2\uF8E3]/g
const anyUnknownMark = /[\uF8E2\uF8E3\uF8E6]/

/** Takes the marks out of foreign text. They mean nothing to a shell, and the length stays. */
export function withoutMarks(text: string): string {
  return text.replace(marks, '\uFFFD')
}

export const isGlob = (text: string): boolean => globMarks.test(text)

export const isKnown = (text: string): boolean => !anyUnknownMark.test(text)

/** The text if every unknown value that may be empty were. */
export const withUnknownEmpty = (text: string): string =>
  text.replace(unknownMarks, '').replaceAll(given, 'given')

/** Marks `[…]` as an active set. */
export const markSet = (body: string): string => setOpen + body + setClose

/** Makes `*`, `?` and `[…]` active, as bash does with the value of an unquoted expansion. */
export function activateGlobs(text: string): string {
  if (!/[*?[]/.test(text)) return text
  return text
    .replaceAll('*', anyText)
    .replaceAll('?', anyCharacter)
    .replace(/\[(!?\]?[^\]/]*)\]/g, (_, body: string) => markSet(body))
}

/** The spelling that a shell would read again: globs as typed, unknown values still marked. */
export function spelled(text: string): string {
  return text
    .replaceAll(anyText, '*')
    .replaceAll(anyCharacter, '?')
    .replaceAll(setOpen, '[')
    .replaceAll(setClose, ']')
}

/** For people and for the patterns of user rules: what is unknown reads as an ellipsis. */
export const shown = (text: string): string => spelled(text).replace(/[\uF8E2\uF8E3\uF8E6]/g, '…')

/** Whether a word with active globs can name `text`. Unknown values match anything. */
export function matchesGlob(pattern: string, text: string): boolean {
  let at = 0
  let next = 0
  let retryAt = -1
  let retryNext = 0
  while (next < text.length) {
    const mark = pattern[at]
    if (isAnyLength(mark)) {
      retryAt = at++
      retryNext = next
      continue
    }
    const width = mark === undefined ? 0 : matchOne(pattern, at, text.charAt(next))
    if (width > 0) {
      at += width
      next++
    } else if (retryAt >= 0) {
      at = retryAt + 1
      next = ++retryNext
    } else return false
  }
  while (isAnyLength(pattern[at])) at++
  return at === pattern.length
}

const isAnyLength = (mark: string | undefined): boolean =>
  mark === anyText || mark === unknown || mark === obscured || mark === given

/** How much of the pattern the character uses up; 0: no match. */
function matchOne(pattern: string, at: number, character: string): number {
  const mark = pattern.charAt(at)
  if (mark === anyCharacter) return 1
  if (mark !== setOpen) return mark === character ? 1 : 0
  const close = pattern.indexOf(setClose, at)
  if (close < 0) return 0
  const body = pattern.slice(at + 1, close)
  const negated = body.startsWith('!') || body.startsWith('^')
  return inSet(negated ? body.slice(1) : body, character) === negated ? 0 : close - at + 1
}

function inSet(body: string, character: string): boolean {
  const named = body.replace(/\[:(\w+):\]/g, (_, name: string) => characterClasses[name] ?? '')
  for (let index = 0; index < named.length; index++) {
    const first = named.charAt(index)
    if (named[index + 1] === '-' && index + 2 < named.length) {
      if (character >= first && character <= named.charAt(index + 2)) return true
      index += 2
    } else if (first === character) return true
  }
  return false
}

const characterClasses: Readonly<Record<string, string>> = {
  alpha: 'a-zA-Z',
  alnum: 'a-zA-Z0-9',
  digit: '0-9',
  lower: 'a-z',
  upper: 'A-Z',
  punct: '!-/:-@',
  print: ' -~',
  graph: '!-~',
}
