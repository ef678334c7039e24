import { isCommonControl } from './escape.ts'

/*
 * What is done with a byte in a state, by text that is more than plain: with colours, with lines that are
 * written over from their start, with bytes that are no text. `rewriter-source.ts` follows the table.
 */

/** What a byte does besides what is written and which state follows. */
export const special = {
  none: 0,
  newline: 1,
  /** Goes back to the start of the line, where one byte is one column. */
  carriageReturn: 2,
  /** Is not one byte in one column: only at the end of a line, which cannot be written over then. */
  uneven: 3,
  stop: 4,
  /** Is no UTF-8, and becomes U+FFFD. */
  invalid: 5,
  /** Does not go on with the character before it, which becomes U+FFFD; then it is read anew. */
  broken: 6,
} as const

/** The numbers of the states; the next entries of the table are those of binary data. */
export const state = {
  text: 0,
  /** Sequences, in binary data. */
  escape: 1,
  parameters: 2,
  /** How many bytes of a UTF-8 sequence are missing, and how many are written. */
  one1: 3,
  one2: 4,
  one3: 5,
  two1: 6,
  two2: 7,
  three1: 8,
  afterE0: 9,
  afterEd: 10,
  afterF0: 11,
  afterF4: 12,
  intermediate: 13,
  string: 14,
  stringEscape: 15,
  sequenceEnd: 16,
  afterC2: 17,
} as const
export type State = (typeof state)[keyof typeof state]

export const statesPerTable = 18
/** How many bytes of an unfinished character are written. */
export const written: Partial<Record<State, number>> = {
  [state.one1]: 1,
  [state.one2]: 2,
  [state.one3]: 3,
  [state.two1]: 1,
  [state.two2]: 2,
  [state.three1]: 1,
  [state.afterE0]: 1,
  [state.afterEd]: 1,
  [state.afterF0]: 1,
  [state.afterF4]: 1,
  [state.afterC2]: 1,
}

/**
 * An entry: bits 0–7 the next state, 8–9 written bytes to take back, 10–12 bytes to write, 13 whether
 * U+FFFD stands before the byte (with 6 bytes, twice), 16–18 what is special.
 */
function entry(
  next: number,
  length: number,
  { back = 0, replaced = false, does = 0 } = {},
): number {
  return next | (back << 8) | (length << 10) | (replaced ? 1 << 13 : 0) | (does << 16)
}

const stop = entry(0, 0, { does: special.stop })

/** A byte of text, in the middle of nothing. */
function startOf(byte: number, isBinary: boolean): number {
  const uneven = isBinary ? special.none : special.uneven
  if (byte === 0x0a) return entry(state.text, 1, { does: isBinary ? 0 : special.newline })
  if (byte === 0x09) return entry(state.text, 1, { does: uneven })
  if (byte === 0x0d) {
    return isBinary ? entry(state.text, 0) : entry(state.text, 0, { does: special.carriageReturn })
  }
  if (byte === 0x08 && !isBinary) return stop
  if (byte === 0x1b) return isBinary ? entry(state.escape, 0) : stop
  // The other control characters are counted on the common way.
  if (byte < 0x20 || byte === 0x7f) return isBinary || isCommonControl(byte) ? entry(0, 0) : stop
  if (byte < 0x7f) return entry(state.text, 1)
  const next = stateAfterLead(byte)
  if (next !== null) return entry(next, 1, { does: uneven })
  if (isBinary) return entry(state.text, 3, { replaced: true })
  return isIntroducer(byte) ? stop : entry(state.text, 0, { does: special.invalid })
}

/** Begins a sequence or a string in 8 bits: CSI, DCS, SOS, OSC, PM, APC. */
function isIntroducer(byte: number): boolean {
  return [0x90, 0x98, 0x9b, 0x9d, 0x9e, 0x9f].includes(byte)
}

function stateAfterLead(byte: number): State | null {
  if (byte < 0xc2 || byte > 0xf4) return null
  if (byte === 0xc2) return state.afterC2
  if (byte < 0xe0) return state.one1
  if (byte === 0xe0) return state.afterE0
  if (byte === 0xed) return state.afterEd
  if (byte < 0xf0) return state.two1
  if (byte === 0xf0) return state.afterF0
  return byte === 0xf4 ? state.afterF4 : state.three1
}

/** Within a character: which second or further bytes go on, and where. */
const continued: Partial<Record<State, [low: number, high: number, next: State]>> = {
  [state.one1]: [0x80, 0xbf, state.text],
  [state.one2]: [0x80, 0xbf, state.text],
  [state.one3]: [0x80, 0xbf, state.text],
  [state.two1]: [0x80, 0xbf, state.one2],
  [state.two2]: [0x80, 0xbf, state.one3],
  [state.three1]: [0x80, 0xbf, state.two2],
  [state.afterE0]: [0xa0, 0xbf, state.one2],
  [state.afterEd]: [0x80, 0x9f, state.one2],
  [state.afterF0]: [0x90, 0xbf, state.two2],
  [state.afterF4]: [0x80, 0x8f, state.two2],
  // U+0080 to U+009F are control characters.
  [state.afterC2]: [0xa0, 0xbf, state.text],
}

function continueCharacter(from: State, byte: number, isBinary: boolean): number {
  const [low, high, next] = continued[from]!
  if (byte >= low && byte <= high) return entry(next, 1)
  const isControl = from === state.afterC2 && byte >= 0x80 && byte < 0xa0
  if (!isBinary) {
    return isControl ? stop : entry(state.text, 0, { back: written[from]!, does: special.broken })
  }
  if (isControl) return entry(state.text, 0, { back: 1 })
  // What was written of it becomes one U+FFFD, and the byte begins anew.
  const start = startOf(byte, true)
  const back = written[from]!
  const length = (start >> 10) & 7
  return entry(start & 0xff, 3 + length, { back, replaced: true })
}

function afterEscape(byte: number): number {
  if (byte === 0x5b) return entry(state.parameters, 0)
  if (byte >= 0x20 && byte <= 0x2f) return entry(state.intermediate, 0)
  if ([0x50, 0x58, 0x5d, 0x5e, 0x5f].includes(byte)) return entry(state.string, 0)
  if (byte >= 0x30 && byte < 0x7f) return entry(state.text, 0)
  return startOf(byte, true)
}

function entryOf(from: State, byte: number, isBinary: boolean): number {
  if (from === state.text) return startOf(byte, isBinary)
  if (continued[from] !== undefined) return continueCharacter(from, byte, isBinary)
  const isParameter = byte >= 0x30 && byte <= 0x3f
  // Colours of text need no table, and other sequences take the common way.
  if (!isBinary) return stop
  switch (from) {
    case state.escape:
      return afterEscape(byte)
    case state.parameters:
      if (isParameter) return entry(state.parameters, 0)
      if (byte >= 0x20 && byte <= 0x2f) return entry(state.sequenceEnd, 0)
      return byte >= 0x40 && byte < 0x7f ? entry(state.text, 0) : startOf(byte, true)
    case state.sequenceEnd:
    case state.intermediate:
      if (byte >= 0x20 && byte <= 0x2f) return entry(from, 0)
      return byte >= 0x30 && byte < 0x7f ? entry(state.text, 0) : startOf(byte, true)
    case state.string:
      if (byte === 0x07 || byte === 0x18 || byte === 0x1a) return entry(state.text, 0)
      return entry(byte === 0x1b ? state.stringEscape : state.string, 0)
    default:
      return byte === 0x5c ? entry(state.text, 0) : afterEscape(byte)
  }
}

/** The entry of each byte in each state, 256 a state: those of text, then those of binary data. */
export function buildTable(): Int32Array {
  const table = new Int32Array(2 * statesPerTable * 256)
  for (const isBinary of [false, true]) {
    const first = isBinary ? statesPerTable : 0
    for (const from of Object.values(state)) {
      for (let byte = 0; byte < 256; byte++) {
        const found = entryOf(from, byte, isBinary)
        const next = (found & 0xff) + first
        table[((first + from) << 8) + byte] = (found & ~0xff) | next
      }
    }
  }
  return table
}
