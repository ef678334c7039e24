import { isUtf8 } from 'node:buffer'
import { incompleteTail } from '../bytes/utf8.ts'
import { instantiate } from '../bytes/wasm.ts'

/*
 * The fast way of text that is more than plain: colours, lines that are written over from their start,
 * bytes that are no text. A table says what to do with a byte in a state; WebAssembly follows it, some
 * 400 MB a second, and stops before whatever it cannot do, which takes the common way.
 */

/** What a byte does besides what is written and which state follows. */
const special = {
  none: 0,
  newline: 1,
  /** Goes back to the start of the line, where one byte is one column. */
  carriageReturn: 2,
  /** Is not one byte in one column: only at the end of a line, which cannot be written over then. */
  uneven: 3,
  stop: 4,
} as const

/** The numbers of the states; the next entries of the table are those of binary data. */
const state = {
  text: 0,
  /** Sequences, in binary data. */
  escape: 1,
  parameters: 2,
  /** Within a UTF-8 sequence: so many bytes are missing, so many are written. */
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
type State = (typeof state)[keyof typeof state]

const statesPerTable = 18
const written: Partial<Record<State, number>> = {
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
  if (byte < 0x20 || byte === 0x7f) return isBinary || isCommonControl(byte) ? entry(0, 0) : stop
  if (byte < 0x7f) return entry(state.text, 1)
  const next = stateAfterLead(byte)
  if (next !== null) return entry(next, 1, { does: uneven })
  return isBinary ? entry(state.text, 3, { replaced: true }) : stop
}

/** NUL, BEL, VT, FF and DEL stand in texts too; the others are counted on the common way. */
function isCommonControl(byte: number): boolean {
  return byte === 0 || byte === 7 || byte === 0x0b || byte === 0x0c || byte === 0x7f
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
  if (!isBinary) return stop
  if (from === state.afterC2 && byte >= 0x80 && byte < 0xa0)
    return entry(state.text, 0, { back: 1 })
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

function buildTable(): Int32Array {
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

/** Input, the registers between two calls, the table, output. */
const inputBytes = 64 * 1024
const places = {
  registers: inputBytes,
  table: inputBytes + 64,
  output: inputBytes + 64 + 36 * 1024,
}
/** A longer colour takes the common way. */
const maxColourBytes = 64
/** A line is written over up to here; longer ones are past editing. */
const maxLineBytes = 8192
const memoryPages = 6

const registers = ['at', 'stop', 'state', 'out', 'end', 'line', 'uneven', 'valid'] as const

/**
 * `out` is the cursor and `end` the end of the last line, which began at `line`. What is rolled back
 * to where it stops is the beginning of a sequence that does not end.
 */
const source = `
${registers.map((name, index) => `i32.const 0  i32.load ${places.registers + index * 4}  set ${name}`).join('\n')}
(0, or the first state of binary data)
get state  i32.const ${statesPerTable}  i32.lt_u
if
  i32.const 0  set ground
else
  i32.const ${statesPerTable}  set ground
end
get at  set safeAt  get out  set safeOut
block
loop
  get at  get stop  i32.ge_u  br_if 1
  get state  i32.eqz
  if
    (at the end of a line: text up to the next byte that is none, 16 bytes a step)
    get out  get end  i32.eq  get at  i32.const 16  i32.add  get stop  i32.lt_u  i32.and
    if
      get at  v128.load 0  tee v
      splat 32  i8x16.lt_u  get v  splat 127  i8x16.eq  v128.or
      get v  splat 0xc2  i8x16.eq  v128.or  set other
      get valid  i32.eqz
      if
        get other  get v  splat 0  i8x16.lt_s  v128.or  set other
      end
      get other  i8x16.bitmask  i32.const 65536  i32.or  i32.ctz  tee length
      i32.const 16  i32.eq  tee full
      if
        (never to the middle of a character)
        loop
          get at  get length  i32.add  i32.load8_u 0
          i32.const 0xc0  i32.and  i32.const 0x80  i32.eq
          if
            get length  i32.const 1  i32.sub  set length
            br 1
          end
        end
      end
      get out  get v  v128.store 0
      get v  i8x16.bitmask  i32.const 1  get length  i32.shl  i32.const 1  i32.sub  i32.and
      if
        i32.const 1  set uneven
      end
      get out  get length  i32.add  tee out  tee end  set safeOut
      get at  get length  i32.add  tee at  set safeAt
      get full  br_if 2
    end
    (a colour)
    get at  i32.load8_u 0  i32.const 27  i32.eq
    if
      get at  i32.load8_u 1  i32.const 0x5b  i32.eq
      if
        get at  i32.const 2  i32.add  set next
        get at  i32.const ${maxColourBytes}  i32.add  set limit
        get limit  get stop  get limit  get stop  i32.lt_u  select  set limit
        block
          loop
            get next  get limit  i32.ge_u  br_if 1
            get next  i32.load8_u 0  i32.const 0x30  i32.sub  i32.const 12  i32.ge_u  br_if 1
            get next  i32.const 1  i32.add  set next
            br 0
          end
        end
        get next  get limit  i32.lt_u
        if
          get next  i32.load8_u 0  i32.const 0x6d  i32.eq
          if
            get next  i32.const 1  i32.add  tee at  set safeAt
            br 5
          end
        end
      end
    end
  end
  get at  i32.load8_u 0  tee byte
  i32.const 2  i32.shl  get state  i32.const 10  i32.shl  i32.add  i32.load ${places.table}  tee entry
  i32.const 16  i32.shr_u  tee kind
  if
    get kind  i32.const 1  i32.eq
    if
      (a newline stands behind the line, wherever the cursor is)
      get end  set out
    end
    get kind  i32.const 2  i32.eq
    if
      (a carriage return: nothing where a newline follows, else the line must be even and short)
      get at  i32.const 1  i32.add  get stop  i32.lt_u
      if
        get at  i32.load8_u 1  i32.const 10  i32.eq
        if
          get at  i32.const 1  i32.add  tee at  set safeAt
          br 4
        end
      end
      get uneven  br_if 3
      get end  get line  i32.sub  i32.const ${maxLineBytes}  i32.gt_u  br_if 3
      get line  set out
    end
    get kind  i32.const 3  i32.eq
    if
      get out  get end  i32.lt_u  br_if 3
      i32.const 1  set uneven
    end
    get kind  i32.const 4  i32.eq  br_if 2
  end

  get entry  i32.const 10  i32.shr_u  i32.const 7  i32.and  set length
  get ground
  if
    (what is written of binary data: the byte, or U+FFFD and the byte, or U+FFFD twice)
    get out  get entry  i32.const 8  i32.shr_u  i32.const 3  i32.and  i32.sub  tee out
    i32.const 0  get entry  i32.const 13  i32.shr_u  i32.const 1  i32.and  i32.sub  tee mask
    i32.const 0xbdbfef  i32.and
    get byte  get mask  i32.const 24  i32.and  i32.shl  i32.or
    i32.store 0
    get length  i32.const 6  i32.eq
    if
      get out  i32.const 0xbdbfef  i32.store 3
    end
  else
    (where nothing is written, what stands at the cursor stays)
    get out  get byte  get out  i32.load8_u 0  get length  select  i32.store8 0
  end
  get out  get length  i32.add  set out
  get entry  i32.const 255  i32.and  set state
  get at  i32.const 1  i32.add  set at
  get out  get end  get out  get end  i32.gt_u  select  set end

  get kind  i32.const 1  i32.eq
  if
    get out  set end
    get out  set line
    i32.const 0  set uneven
  end
  get at  get safeAt  get state  get ground  i32.eq  select  set safeAt
  get out  get safeOut  get state  get ground  i32.eq  select  set safeOut
  br 0
end
end
i32.const 0  get at  i32.store ${places.registers}
i32.const 0  get state  i32.store ${places.registers + 8}
i32.const 0  get out  i32.store ${places.registers + 12}
i32.const 0  get end  i32.store ${places.registers + 16}
i32.const 0  get line  i32.store ${places.registers + 20}
i32.const 0  get uneven  i32.store ${places.registers + 24}
i32.const 0  get safeAt  i32.store ${places.registers + 32}
i32.const 0  get safeOut  i32.store ${places.registers + 36}
get safeAt
end`

/** What is known of the line in which the text goes on. */
export interface OpenLine {
  /** Null: too long to be written over, or not of one byte in one column each. */
  text: Uint8Array | null
  /** Where in it the cursor stands. */
  column: number
}

export interface Rewritten {
  /** How far the input was read: to its end, or before what takes the common way. */
  at: number
  /** The text, the open line included. Valid until the next call. */
  text: Uint8Array
  /** The cursor stands so many bytes before the end of the text. */
  back: number
}

export interface Rewriter {
  /** Makes clean text of `bytes[from, to)`, at most 64 KiB, that goes on in `line`. */
  rewrite(bytes: Uint8Array, from: number, to: number, line: OpenLine): Rewritten
  /** The same for what is no text: nothing in it moves a cursor. Goes on in the state of the last call. */
  rewriteBinary(bytes: Uint8Array, from: number, to: number): Uint8Array
  /** Whether binary data stands at the end of a character and of a sequence. */
  readonly isAtRest: boolean
  /** Whether it ended within a character, which becomes U+FFFD. */
  readonly isInCharacter: boolean
}

/** The largest piece for one call. */
export const rewriterBytes = inputBytes

/** Null where WebAssembly does not work. */
export function createRewriter(): Rewriter | null {
  const locals = [
    ...registers,
    ...[
      'byte',
      'entry',
      'kind',
      'length',
      'mask',
      'ground',
      'safeAt',
      'safeOut',
      'next',
      'limit',
      'full',
    ],
    ...['v', 'other'],
  ]
  const made = instantiate({
    hasParameter: false,
    memoryPages,
    locals,
    vectors: 2,
    source,
  })
  if (made === null) return null
  const { memory, run } = made
  const numbers = new Int32Array(memory.buffer, places.registers, 10)
  new Int32Array(memory.buffer, places.table, 2 * statesPerTable * 256).set(buildTable())
  const { output } = places
  let binaryState: number = statesPerTable
  /** Bytes of an unfinished character in binary data. */
  let unfinished = new Uint8Array(0)

  return {
    get isAtRest() {
      return binaryState === statesPerTable
    },
    get isInCharacter() {
      return unfinished.length > 0
    },
    rewrite(bytes, from, to, { text, column }) {
      const isValid = isUtf8(bytes.subarray(from, to - incompleteTail(bytes, from, to))) ? 1 : 0
      memory.set(bytes.subarray(from, to))
      if (text !== null) memory.set(text, output)
      const end = output + (text?.length ?? 0)
      const isUneven = text === null ? 1 : 0
      numbers.set([0, to - from, state.text, output + column, end, output, isUneven, isValid])
      run()
      const [, , , outAfter = 0, endAfter = 0, , , , safeAt = 0, safeOut = 0] = numbers
      // An unfinished character is read again, and stands at the end.
      const last = safeOut < outAfter ? safeOut : endAfter
      return { at: from + safeAt, text: memory.subarray(output, last), back: last - safeOut }
    },
    rewriteBinary(bytes, from, to) {
      memory.set(bytes.subarray(from, to))
      memory.set(unfinished, output)
      const start = output + unfinished.length
      numbers.set([0, to - from, binaryState, start, start, output, 0, 0])
      run()
      binaryState = numbers[2]!
      const end = numbers[3]! - (written[(binaryState - statesPerTable) as State] ?? 0)
      unfinished = memory.slice(end, numbers[3])
      return memory.subarray(output, end)
    },
  }
}
