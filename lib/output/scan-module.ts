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
  get v  splat 32  i8x16.lt_u  get newline  v128.andnot
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

/** The parameter, two locals of 32 bits, five of 128. */
const locals = ['end', 'at', 'newlines', 'v', 'newline', 'controls', 'all', 'c1']
const localGroups = [2, 2, 0x7f, 5, 0x7b]

type Instruction = (operand: () => string) => number[]

/** WebAssembly 2.0, sections 5.4.1 to 5.4.8. */
const instructions: Record<string, Instruction> = {
  loop: () => [0x03, 0x40],
  end: () => [0x0b],
  br_if: (operand) => [0x0d, Number(operand())],
  get: (operand) => [0x20, locals.indexOf(operand())],
  set: (operand) => [0x21, locals.indexOf(operand())],
  tee: (operand) => [0x22, locals.indexOf(operand())],
  'i32.const': (operand) => [0x41, ...signed(Number(operand()))],
  'i32.eqz': () => [0x45],
  'i32.lt_u': () => [0x49],
  'i32.popcnt': () => [0x69],
  'i32.add': () => [0x6a],
  'i32.or': () => [0x72],
  'i32.shl': () => [0x74],
  // The operand is the offset; no alignment is promised.
  'v128.load': (operand) => [0xfd, 0x00, 0x00, Number(operand())],
  splat: (operand) => [0x41, ...signed(Number(operand())), 0xfd, 0x0f],
  'i8x16.eq': () => [0xfd, 0x23],
  'i8x16.lt_u': () => [0xfd, 0x26],
  'v128.and': () => [0xfd, 0x4e],
  'v128.andnot': () => [0xfd, 0x4f],
  'v128.or': () => [0xfd, 0x50],
  'v128.any_true': () => [0xfd, 0x53],
  'i8x16.bitmask': () => [0xfd, 0x64],
}

/** The module's bytes. */
export function assembleScanModule(): Uint8Array {
  const body = [...localGroups, ...assemble(source)]
  const magic = [0x00, 0x61, 0x73, 0x6d]
  const version = [0x01, 0x00, 0x00, 0x00]
  const exported = [2, ...name('memory'), 0x02, 0, ...name('scan'), 0x00, 0]
  return Uint8Array.from([
    ...magic,
    ...version,
    ...section(1, [1, 0x60, 1, 0x7f, 1, 0x7f]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0x00, 2]),
    ...section(7, exported),
    ...section(10, [1, ...unsigned(body.length), ...body]),
  ])
}

function assemble(text: string): number[] {
  const words = text
    .replace(/\(.*\)/g, '')
    .trim()
    .split(/\s+/)
  const bytes: number[] = []
  while (words.length > 0) bytes.push(...instructions[words.shift()!]!(() => words.shift()!))
  return bytes
}

/** Signed LEB128 of a number from 0 to 8191. */
function signed(value: number): number[] {
  return value < 64 ? [value] : [(value & 0x7f) | 0x80, value >> 7]
}

/** Unsigned LEB128 of a number from 0 to 16,383. */
function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 0x7f) | 0x80, value >> 7]
}

function section(id: number, content: number[]): number[] {
  return [id, ...unsigned(content.length), ...content]
}

function name(text: string): number[] {
  return [text.length, ...Buffer.from(text)]
}
