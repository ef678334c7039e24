import type { FunctionSource } from './wasm.ts'

/**
 * The WebAssembly module behind `scan.ts`: assembled at run time from the text below, so that the source
 * is what runs. It has 128 KiB of memory, exported, and one exported function:
 *
 *   (func (export "scan") (param $end i32) (result i32)
 *     (local $at i32) (local $newlines i32) (local $v v128) … (local $c1 v128)
 *
 * which reads memory[0, $end) 16 bytes a step and answers the number of newlines, with three flags above
 * it (`scanFlag`). $end is a multiple of 16; the caller fills up with spaces, and one byte beyond.
 */
export const scanFlag = {
  /** A byte beyond ASCII. */
  high: 1 << 28,
  /** U+0080 to U+009F, encoded: 0xC2 and then 0x80 to 0x9F. */
  c1: 1 << 29,
  /** A control character other than tab and newline. */
  control: 1 << 30,
} as const

/** WebAssembly text, in stack order; comments are in brackets. */
const source = `
loop
  (the next 16 bytes)
  get at  v128.load 0  tee v
  splat 10  i8x16.eq  set newline

  (newlines += those among them)
  get newlines  get newline  i8x16.bitmask  i32.popcnt  i32.add  set newlines

  (controls |= v < 32, neither newline nor tab; or v = 127)
  get v  splat 31  i8x16.le_u  get newline  v128.andnot
  get v  splat 9  i8x16.eq  v128.andnot
  get v  splat 127  i8x16.eq  v128.or
  get controls  v128.or  set controls

  (c1 |= v = 0xC2 and the byte after it is 0x80 to 0x9F)
  get v  splat 0xc2  i8x16.eq
  get at  v128.load 1  splat 0xe0  v128.and  splat 0x80  i8x16.eq  v128.and
  get c1  v128.or  set c1

  get all  get v  v128.or  set all
  get at  i32.const 16  i32.add  tee at  get end  i32.lt_u  br_if 0
end
get newlines
get all  i8x16.bitmask  i32.eqz  i32.eqz  i32.const 28  i32.shl  i32.or
get c1  v128.any_true  i32.const 29  i32.shl  i32.or
get controls  v128.any_true  i32.const 30  i32.shl  i32.or
end`

/** The module's one function. */
export const scanFunction: FunctionSource = {
  hasParameter: true,
  memoryPages: 2,
  locals: ['end', 'at', 'newlines', 'v', 'newline', 'controls', 'all', 'c1'],
  vectors: 5,
  source,
}
