import { eastAsianWidth } from 'get-east-asian-width'

const zeroWidthJoiner = 0x200d
/** Variation selector 16: what stands before it is shown as an emoji. */
const emojiPresentation = 0xfe0f

/** Columns that a printable code point takes on a terminal where it stands alone. */
export function columnsOf(code: number): 1 | 2 {
  if (code < 0x1100 || isNarrowSymbol(code)) return 1
  return eastAsianWidth(code)
}

/** Box drawing, blocks and Braille: what progress displays are made of. */
function isNarrowSymbol(code: number): boolean {
  return (code >= 0x2500 && code < 0x25fd) || (code >= 0x2800 && code < 0x2900)
}

/** Grapheme_Extend, ZWJ, skin tones, SpacingMark (UAX 29), and what is not shown at all. */
const extending =
  /^[\p{Grapheme_Extend}\p{Emoji_Modifier}\p{Mc}\u0e33\u0eb3\u200b-\u200f\u2060-\u2064\ufeff]$/u
const pictographic = /^\p{Extended_Pictographic}$/u

/**
 * Whether a terminal shows `code` in the cell of the grapheme cluster before it, which begins with
 * `first` and ends with `last` (UAX 29, GB6 to GB13).
 */
export function joinsCluster(first: number, last: number, code: number): boolean {
  if (code < 0x300 || isNarrowSymbol(code)) return false
  if (code >= 0x3400 && code <= 0x9fff) return false
  if (isRegional(code)) return isRegional(last) && first === last
  const hangul = hangulKind(code)
  if (hangul !== null) return joinsSyllable(hangulKind(last), hangul)
  const text = String.fromCodePoint(code)
  if (extending.test(text)) return true
  return (
    last === zeroWidthJoiner &&
    pictographic.test(text) &&
    pictographic.test(String.fromCodePoint(first))
  )
}

/** Columns of a cluster of so many columns once `code` has joined it. */
export function widenedBy(columns: number, code: number): number {
  if (code === emojiPresentation || isRegional(code)) return 2
  // Marks stand above or below what is there already, and add nothing.
  return extending.test(String.fromCodePoint(code)) ? columns : Math.max(columns, columnsOf(code))
}

function isRegional(code: number): boolean {
  return code >= 0x1f1e6 && code <= 0x1f1ff
}

/** Parts of a Korean syllable: leading consonant, vowel, trailing consonant, or two or three of them. */
type Hangul = 'L' | 'V' | 'T' | 'LV' | 'LVT'

function hangulKind(code: number): Hangul | null {
  if (code >= 0xac00 && code <= 0xd7a3) return (code - 0xac00) % 28 === 0 ? 'LV' : 'LVT'
  if ((code >= 0x1100 && code <= 0x115f) || (code >= 0xa960 && code <= 0xa97c)) return 'L'
  if ((code >= 0x1160 && code <= 0x11a7) || (code >= 0xd7b0 && code <= 0xd7c6)) return 'V'
  if ((code >= 0x11a8 && code <= 0x11ff) || (code >= 0xd7cb && code <= 0xd7fb)) return 'T'
  return null
}

function joinsSyllable(last: Hangul | null, next: Hangul): boolean {
  if (last === 'L') return next !== 'T'
  if (last === 'LV' || last === 'V') return next === 'V' || next === 'T'
  return last !== null && next === 'T'
}
