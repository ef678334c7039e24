import type { FunctionSource } from './wasm.ts'

/**
 * The WebAssembly module behind `scan.ts`: assembled at run time from the text below, so that the source
 * is what runs. It has 128 KiB of memory, exported, and one exported function:
 *
 *   (func (export "run") (param $end i32) (result i32)
 *     (local $at i32) (local $sums v128) … (local $c1 v128)
 *
 * which reads memory[0, $end) and answers the number of newlines, with three flags above it (`scanFlag`).
 * $end is a multiple of `scanStepBytes`; the caller fills up with spaces, and one byte beyond.
 */
export const scanStepBytes = 64

export const scanFlag = {
  /** A byte beyond ASCII. */
  high: 1 << 28,
  /** U+0080 to U+009F, encoded: 0xC2 and then 0x80 to 0x9F. */
  c1: 1 << 29,
  /** A control character other than tab and newline. */
  control: 1 << 30,
} as const

const steps = [0, 16, 32, 48]

/** WebAssembly text, in stack order; comments are in brackets. */
const source = `
loop
  ${steps
    .map(
      (offset, index) => `
  (-1 for each newline, for all of the step)
  get at  v128.load ${offset}  tee v
  splat 10  i8x16.eq  ${index === 0 ? '' : 'get newlines  i8x16.add'}  set newlines
  (not zero where v < 32, but for tab and newline)
  splat 32  get v  get v  splat 9  i8x16.sub  splat 1  i8x16.le_u  v128.or  i8x16.sub_sat_u
  get controls  v128.or  set controls
  (127 is the highest of signed bytes)
  get highest  get v  i8x16.max_s  set highest
  get all  get v  v128.or  set all`,
    )
    .join('')}
  get sums  get newlines  i16x8.extadd_pairwise_i8x16_s  i16x8.sub  set sums
  get at  i32.const ${scanStepBytes}  i32.add  tee at  get end  i32.lt_u  br_if 0
end
get all  i8x16.bitmask
if
  (0xC2 and the byte after it is 0x80 to 0x9F)
  i32.const 0  set at
  loop
    get at  v128.load 0  splat 0xc2  i8x16.eq
    get at  v128.load 1  splat 0xe0  v128.and  splat 0x80  i8x16.eq  v128.and
    get c1  v128.or  set c1
    get at  i32.const 16  i32.add  tee at  get end  i32.lt_u  br_if 0
  end
end
get sums  i32x4.extadd_pairwise_i16x8_u  tee sums  i32x4.extract_lane 0
${[1, 2, 3].map((lane) => `get sums  i32x4.extract_lane ${lane}  i32.add`).join('  ')}
get all  i8x16.bitmask  i32.eqz  i32.eqz  i32.const 28  i32.shl  i32.or
get c1  v128.any_true  i32.const 29  i32.shl  i32.or
get controls  get highest  splat 127  i8x16.eq  v128.or  v128.any_true  i32.const 30  i32.shl  i32.or
end`

/** The module's one function. */
export const scanFunction: FunctionSource = {
  hasParameter: true,
  memoryPages: 2,
  locals: ['end', 'at', 'v', 'newlines', 'sums', 'controls', 'highest', 'all', 'c1'],
  vectors: 7,
  source,
}
