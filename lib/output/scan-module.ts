/**
 * The WebAssembly module behind `scan.ts`, written out instruction by instruction: this list is both
 * the source and the bytes. 128-bit SIMD, 16 bytes of text a step.
 *
 *   (memory (export "memory") 2)
 *   (func (export "scan") (param $end i32) (result i32)
 *
 * reads memory[0, end) and answers the number of newlines, with three flags above them (`scanFlag`).
 * `end` is rounded up to 16 by the caller, who fills the gap, and one byte more, with spaces.
 */
export const scanFlag = {
  /** A byte beyond ASCII. */
  high: 1 << 28,
  /** U+0080 to U+009F, encoded: 0xC2 and then 0x80 to 0x9F. */
  c1: 1 << 29,
  /** A control character other than tab and newline. */
  control: 1 << 30,
} as const

/** Locals: 0 $end, 1 $at, 2 $newlines, 3 $v, 4 $isNewline, 5 $controls, 6 $all, 7 $c1 */
const end = 0
const at = 1
const newlines = 2
const v = 3
const isNewline = 4
const controls = 5
const all = 6
const c1 = 7

const get = (local: number) => [0x20, local]
const set = (local: number) => [0x21, local]
const tee = (local: number) => [0x22, local]
/** A signed LEB128 number of 32 bits. */
function i32(value: number): number[] {
  const bytes = [0x41]
  for (let rest = value; ; rest >>= 7) {
    const low = rest & 0x7f
    const last = rest >> 7 === (low & 0x40 ? -1 : 0)
    bytes.push(last ? low : low | 0x80)
    if (last) return bytes
  }
}
const i32Add = [0x6a]
const i32Or = [0x72]
const i32LessUnsigned = [0x49]
const i32Popcount = [0x69]
const i32Shl = [0x74]
const i32NotZero = [0x45, 0x45]
/** v128.load offset=… align=1 */
const load = (offset: number) => [0xfd, 0x00, 0x00, offset]
const splat = (byte: number) => [...i32(byte), 0xfd, 0x0f]
const equal = [0xfd, 0x23]
const lessUnsigned = [0xfd, 0x26]
const and = [0xfd, 0x4e]
const andNot = [0xfd, 0x4f]
const or = [0xfd, 0x50]
const anyTrue = [0xfd, 0x53]
const bitmask = [0xfd, 0x64]
const loop = [0x03, 0x40]
const branchIf = (depth: number) => [0x0d, depth]
const close = [0x0b]

const body = [
  // Five groups of locals: 2 × i32 ($at, $newlines), 5 × v128.
  ...[2, 2, 0x7f, 5, 0x7b],
  ...loop,
  ...get(at),
  ...load(0),
  ...tee(v),
  ...splat(10),
  ...equal,
  ...set(isNewline),
  // $newlines += popcount(bitmask($isNewline))
  ...get(newlines),
  ...get(isNewline),
  ...bitmask,
  ...i32Popcount,
  ...i32Add,
  ...set(newlines),
  // $controls |= ($v < 32 and not newline and not tab) or $v = 127
  ...get(v),
  ...splat(32),
  ...lessUnsigned,
  ...get(isNewline),
  ...andNot,
  ...get(v),
  ...splat(9),
  ...equal,
  ...andNot,
  ...get(v),
  ...splat(127),
  ...equal,
  ...or,
  ...get(controls),
  ...or,
  ...set(controls),
  // $c1 |= $v = 0xC2 and (the byte after it and 0xE0) = 0x80
  ...get(v),
  ...splat(0xc2),
  ...equal,
  ...get(at),
  ...load(1),
  ...splat(0xe0),
  ...and,
  ...splat(0x80),
  ...equal,
  ...and,
  ...get(c1),
  ...or,
  ...set(c1),
  ...get(all),
  ...get(v),
  ...or,
  ...set(all),
  ...get(at),
  ...i32(16),
  ...i32Add,
  ...tee(at),
  ...get(end),
  ...i32LessUnsigned,
  ...branchIf(0),
  ...close,
  ...get(newlines),
  ...get(all),
  ...bitmask,
  ...i32NotZero,
  ...i32(28),
  ...i32Shl,
  ...i32Or,
  ...get(c1),
  ...anyTrue,
  ...i32(29),
  ...i32Shl,
  ...i32Or,
  ...get(controls),
  ...anyTrue,
  ...i32(30),
  ...i32Shl,
  ...i32Or,
  ...close,
]

/** An unsigned LEB128 number below 16,384. */
const size = (value: number) => (value < 128 ? [value] : [(value & 0x7f) | 0x80, value >> 7])
const section = (id: number, content: number[]) => [id, ...size(content.length), ...content]
const name = (text: string) => [text.length, ...Buffer.from(text)]

/** The module's bytes. */
export function assembleScanModule(): Uint8Array {
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, [1, 0x60, 1, 0x7f, 1, 0x7f]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0x00, 2]),
    ...section(7, [2, ...name('memory'), 0x02, 0, ...name('scan'), 0x00, 0]),
    ...section(10, [1, ...size(body.length), ...body]),
  ])
}
