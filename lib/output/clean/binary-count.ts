import { limits } from '../../protocol/limits.ts'
import { incompleteTail } from '../bytes/utf8.ts'
import { instantiate } from '../bytes/wasm.ts'
import { buildTable, state, statesPerTable } from './rewriter-table.ts'

/*
 * How much text binary data is, where nobody needs the text: WebAssembly, 16 bytes a step, without the
 * shuffles that write it.
 */

/** What is known of a text that was only counted. */
export interface CountedText {
  bytes: number
  newlines: number
  /**
   * The lines that begin in it have at least so many bytes, each as long as a line is ever shown. A lower
   * bound, told from pieces of 12 KiB: about one line for two of them in a row that hold a newline.
   */
  shownBytes: number
}

/**
 * Counts the text of `bytes[0, end)`, a part at most, which begins in the state `begin` of binary data and ends between two
 * characters; the answer tells the state after it too.
 */
export type BinaryCounter = (
  bytes: Uint8Array,
  end: number,
  begin: number,
) => CountedText & { state: number }

/** So many raw bytes are counted at once. */
export const partBytes = 1024 * 1024
/** What is to follow a part is told by so many others. */
export const mostFollowing = 2
/** The sums of two bytes stay below 32,768, however often a step ends early. */
const pieceBytes = 12 * 1024
/** The most that `shownBytes` ever tells of what follows a part. */
export const mostShownBytes =
  mostFollowing * Math.floor((Math.ceil(partBytes / pieceBytes) - 1) / 2) * limits.maxLineChars
/** The bytes before the first one are no beginning of a character. */
const input = 16
/** 16 bytes that count, and 16 that do not. */
const masks = input + pieceBytes + 16
const classes = masks + 32
const numbers = classes + 16 * 16
const sequences = numbers + 16
/** In the table of sequences: the byte ends the sequence and is read again as text. */
const again = 0x80

/**
 * Which second bytes go on behind which first ones, a bit for each kind of first byte: C2 to CF, D0 to DF,
 * most of E, E0, ED, F1 to F3, F0, F4. Tables by the upper and the lower half of the first byte, and the
 * upper half of the second.
 */
const byUpperHalf = [...Array<number>(12).fill(0), 1, 2, 4 + 8 + 16, 32 + 64 + 128]
const byLowerHalf = Array.from(
  { length: 16 },
  (_, low) =>
    (low >= 2 ? 1 : 0) +
    2 +
    (low === 0 ? 8 : low === 13 ? 16 : 4) +
    (low === 0 ? 64 : low === 4 ? 128 : low < 4 ? 32 : 0),
)
const bySecond = Array.from({ length: 16 }, (_, high) => {
  if (high < 8 || high > 11) return 0
  return 1 + 2 + 4 + 32 + (high < 10 ? 16 : 8) + (high === 8 ? 128 : 64)
})
/** What a byte counts by itself, by its upper half; the controls are told one by one. */
const weights = [0, 0, 1, 1, 1, 1, 1, 1, ...Array<number>(8).fill(3)]
/** Vectors of equal bytes are read from memory too: V8 makes a constant anew at each use, by three instructions. */
const equal = [192, 15, 252, 224, 10, 9, 127, 1, 3, 194, 160, 27]
const constants = ['upper', 'lower', 'second', 'weights', ...equal.map((byte) => `all${byte}`)]

/**
 * A byte that is no ASCII and does not go on in a character counts as U+FFFD, three bytes. So do those that
 * begin a character: the second byte of two takes one back, the last one of four brings one.
 */
const step = `
get at  v128.load ${input}  set v
get at  v128.load ${input - 1}  set before
get v  get all192  i8x16.lt_s  set going
get v  i32.const 4  i16x8.shr_u  get all15  v128.and  set half
get upper  get before  i32.const 4  i16x8.shr_u  get all15  v128.and  i8x16.swizzle
get lower  get before  get all15  v128.and  i8x16.swizzle  v128.and
get second  get half  i8x16.swizzle  v128.and  set two
get twoBefore  get two  i8x16.shuffle 15  get all252  v128.and  get going  v128.and  set three
get threeBefore  get three  i8x16.shuffle 15  get all224  v128.and  get going  v128.and  set four
get weights  get half  i8x16.swizzle
get two  get three  v128.or  get four  v128.or  splat 0  i8x16.eq  v128.and
get v  get all10  i8x16.eq  tee newline  i8x16.sub
get v  get all9  i8x16.eq  i8x16.sub
get v  get all127  i8x16.eq  i8x16.add
get four  get all1  i8x16.min_u  i8x16.add
get two  get all3  v128.and  get all1  i8x16.min_u  i8x16.sub
(U+0080 to U+009F are dropped)
get before  get all194  i8x16.eq  get v  get all160  i8x16.lt_s  v128.and  tee going  i8x16.add
get going  i8x16.add  set counts
get newline  i8x16.bitmask  set lines
get v  get all27  i8x16.eq  i8x16.bitmask  tee length
if
  get length  i32.ctz  set length
  i32.const ${masks + 16}  get length  i32.sub  v128.load 0  get counts  v128.and  set counts
  i32.const 1  get length  i32.shl  i32.const 1  i32.sub  get lines  i32.and  set lines
  get length  i32.const 1  i32.add  set length
  i32.const ${state.escape}  set state
  splat 0  set two
  splat 0  set three
else
  i32.const 16  set length
end
get two  set twoBefore
get three  set threeBefore
get at  get length  i32.add  set at
get lines  i32.popcnt  get newlines  i32.add  set newlines
get sums  get counts  i16x8.extadd_pairwise_i8x16_s  i16x8.add  set sums`

const source = `
i32.const 0  i32.load ${numbers}  set state
${constants
  .map((name, index) => `i32.const 0  v128.load ${classes + index * 16}  set ${name}`)
  .join('\n')}
block
loop
  get at  get end  i32.ge_u  br_if 1
  get state
  if
    get at  i32.load8_u ${input}  get state  i32.const 8  i32.shl  i32.add  i32.load8_u ${sequences}  tee length
    i32.const ${again - 1}  i32.and  set state
    get at  i32.const 1  i32.add  get length  i32.const 7  i32.shr_u  i32.sub  set at
    br 1
  end
  ${step}
  br 0
end
end
i32.const 0  get state  i32.store ${numbers}
i32.const 0  get newlines  i32.store ${numbers + 4}
get sums  i32x4.extadd_pairwise_i16x8_s  tee sums  i32x4.extract_lane 0
${[1, 2, 3].map((lane) => `get sums  i32x4.extract_lane ${lane}  i32.add`).join('  ')}
end`

const vectors = [
  ...['v', 'before', 'going', 'two', 'three', 'four', 'twoBefore', 'threeBefore'],
  ...['newline', 'counts', 'sums', 'half'],
  ...constants,
]

/** Null where WebAssembly does not work. */
export function createBinaryCounter(): BinaryCounter | null {
  const made = instantiate({
    hasParameter: true,
    memoryPages: 1,
    locals: ['end', 'at', 'state', 'newlines', 'lines', 'length', ...vectors],
    vectors: vectors.length,
    source,
  })
  if (made === null) return null
  const { memory, run } = made
  memory.fill(0xff, masks, masks + 16)
  const tables = [...byUpperHalf, ...byLowerHalf, ...bySecond, ...weights]
  memory.set([...tables, ...equal.flatMap((byte) => Array<number>(16).fill(byte))], classes)
  memory.set(buildSequences(), sequences)
  const registers = new Int32Array(memory.buffer, numbers, 2)
  return (bytes, end, begin) => {
    const counted = { bytes: 0, newlines: 0, shownBytes: 0, state: begin }
    let lively = 0
    for (let at = 0, length = 0; at < end; at += length) {
      length = Math.min(end - at, pieceBytes)
      if (at + length < end) length -= incompleteTail(bytes, at, at + length)
      memory.set(bytes.subarray(at, at + length), input)
      memory.fill(0, input + length, input + length + 16)
      registers[0] = counted.state - statesPerTable
      const written = run(length)
      const [after = 0, newlines = 0] = registers
      counted.state = after + statesPerTable
      counted.bytes += written
      counted.newlines += newlines
      // All of the lines that end in two such pieces, with one before them, begin there.
      lively = newlines > 0 && written >= limits.maxLineChars ? lively + 1 : 0
      if (lively >= 3 && lively % 2 === 1) counted.shownBytes += limits.maxLineChars
    }
    return counted
  }
}

/** The next state of each byte within a sequence, 256 a state. */
function buildSequences(): Uint8Array {
  const binary = buildTable().subarray(statesPerTable * 256)
  const sequences = [
    state.escape,
    state.parameters,
    state.sequenceEnd,
    state.intermediate,
    state.string,
    state.stringEscape,
  ]
  const table = new Uint8Array(statesPerTable * 256)
  for (const from of sequences) {
    for (let byte = 0; byte < 256; byte++) {
      const found = binary[from * 256 + byte]!
      const next = (found & 0xff) - statesPerTable
      const goesOn =
        next === state.text ? ((found >> 10) & 7) === 0 : sequences.some((known) => known === next)
      table[from * 256 + byte] = goesOn ? next : again
    }
  }
  return table
}
