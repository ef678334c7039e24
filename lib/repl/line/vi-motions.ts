/** A text with a cursor in it, as an offset. */
export interface Place {
  text: string
  at: number
}

/** Where a motion leads: with an operator the last character counts (`inclusive`), or whole lines do. */
export interface Target {
  at: number
  inclusive?: boolean
  lines?: boolean
}

/** A search within the line: `f`, `F`, `t` or `T`, and for what. */
export interface CharSearch {
  kind: string
  char: string
}

/** Behind the character at the cursor, and before the one that it stands behind: some are two units long. */
export const afterChar = ({ text, at }: Place) =>
  at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1)
export const beforeChar = ({ text, at }: Place) =>
  at - ((text.codePointAt(at - 2) ?? 0) > 0xffff ? 2 : 1)

export const lineStart = ({ text, at }: Place) => text.lastIndexOf('\n', at - 1) + 1

export function lineEnd({ text, at }: Place): number {
  const end = text.indexOf('\n', at)
  return end < 0 ? text.length : end
}

/** Blanks, letters and digits, or whatever else; for `W`, `B` and `E` all that is not blank is one. */
function kindOf(char: string | undefined, big: boolean): 'blank' | 'word' | 'other' {
  if (char === undefined || /\s/.test(char)) return 'blank'
  return big || /[\p{L}\p{N}_]/u.test(char) ? 'word' : 'other'
}

function nextWord({ text, at }: Place, big: boolean): number {
  const kind = kindOf(text[at], big)
  let to = at
  while (to < text.length && kind !== 'blank' && kindOf(text[to], big) === kind) to++
  while (to < text.length && kindOf(text[to], big) === 'blank') to++
  return to
}

function wordEnd({ text, at }: Place, big: boolean): number {
  let to = at + 1
  while (to < text.length && kindOf(text[to], big) === 'blank') to++
  const kind = kindOf(text[to], big)
  while (to + 1 < text.length && kindOf(text[to + 1], big) === kind) to++
  return Math.min(to, Math.max(0, text.length - 1))
}

function wordBefore({ text, at }: Place, big: boolean): number {
  let to = at - 1
  while (to > 0 && kindOf(text[to], big) === 'blank') to--
  const kind = kindOf(text[to], big)
  while (to > 0 && kindOf(text[to - 1], big) === kind) to--
  return Math.max(0, to)
}

/** The same column in the line above (-1) or below (1); null: there is none. */
function otherLine(place: Place, by: 1 | -1): number | null {
  const start = lineStart(place)
  const column = place.at - start
  if (by < 0 && start === 0) return null
  const other = by < 0 ? start - 1 : lineEnd(place) + 1
  if (other > place.text.length) return null
  const first = lineStart({ text: place.text, at: other })
  return Math.min(first + column, lineEnd({ text: place.text, at: first }))
}

/** The other bracket of the first one in the line from here on (`%`); null: there is none. */
function matchingBracket(place: Place): number | null {
  const { text, at } = place
  const brackets = '()[]{}'
  let from = at
  while (from < lineEnd(place) && !brackets.includes(text[from] ?? '')) from++
  const index = from < lineEnd(place) ? brackets.indexOf(text[from] ?? '') : -1
  if (index < 0) return null
  const step = index % 2 === 0 ? 1 : -1
  const other = brackets[index + step]
  let depth = 0
  for (let to = from; to >= 0 && to < text.length; to += step) {
    if (text[to] === text[from]) depth++
    else if (text[to] === other && --depth === 0) return to
  }
  return null
}

const indentOf = ({ text }: Place, start: number) =>
  /^[^\S\n]*/.exec(text.slice(start))?.[0].length ?? 0

/** Where each motion leads; null: nowhere. */
const motions: Readonly<Record<string, (place: Place) => number | null>> = {
  h: (place) => Math.max(lineStart(place), beforeChar(place)),
  l: (place) => Math.min(lineEnd(place), afterChar(place)),
  ' ': (place) => Math.min(lineEnd(place), afterChar(place)),
  '0': lineStart,
  '^': (place) => lineStart(place) + indentOf(place, lineStart(place)),
  $: lineEnd,
  w: (place) => nextWord(place, false),
  W: (place) => nextWord(place, true),
  e: (place) => wordEnd(place, false),
  E: (place) => wordEnd(place, true),
  b: (place) => wordBefore(place, false),
  B: (place) => wordBefore(place, true),
  '%': matchingBracket,
  j: (place) => otherLine(place, 1),
  k: (place) => otherLine(place, -1),
}

/** Null where a key is no motion, or it leads nowhere. */
export function move(key: string, place: Place): Target | null {
  const at = Object.hasOwn(motions, key) ? (motions[key]?.(place) ?? null) : null
  return at === null ? null : { at, inclusive: /[eE%]/.test(key), lines: /[jk]/.test(key) }
}

/** `again`: by `;`, which does not stay where a `t` stopped. */
export function searchChar(
  { kind, char }: CharSearch,
  place: Place,
  again: boolean,
): Target | null {
  const isForward = kind === 'f' || kind === 't'
  const beside = kind === 't' ? -1 : kind === 'T' ? 1 : 0
  const step = isForward ? 1 : -1
  const from = place.at + step + (again && beside !== 0 ? step : 0)
  const found = isForward ? place.text.indexOf(char, from) : place.text.lastIndexOf(char, from)
  if (found < 0 || from < 0) return null
  if (found < lineStart(place) || found >= lineEnd(place)) return null
  return { at: found + beside, inclusive: isForward }
}
