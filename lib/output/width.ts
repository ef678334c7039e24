/** Ranges of code points that a terminal draws two columns wide (Unicode East Asian Width W and F). */
const wide: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x231a, 0x231b],
  [0x23e9, 0x23ec],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x17000, 0x18cff],
  [0x1b000, 0x1b2ff],
  [0x1f300, 0x1f320],
  [0x20000, 0x3fffd],
]

const combining = /^[\p{Mn}\p{Me}\u200b-\u200f\u2060-\u2064\ufeff]$/u
const emoji = /^\p{Emoji_Presentation}$/u

/** Columns that a printable code point takes on a terminal: 0, 1 or 2. */
export function columnsOf(code: number): 0 | 1 | 2 {
  if (code < 0x300) return 1
  // Box drawing, blocks and Braille: what progress displays are made of.
  if (code >= 0x2500 && code < 0x25fd) return 1
  if (code >= 0x2800 && code < 0x2900) return 1
  for (const [from, to] of wide) {
    if (code < from) break
    if (code <= to) return 2
  }
  const text = String.fromCodePoint(code)
  if (combining.test(text)) return 0
  return code > 0x2300 && emoji.test(text) ? 2 : 1
}
