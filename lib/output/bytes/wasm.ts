/**
 * A WebAssembly assembler for one function: source text in stack order, comments in brackets, made into
 * a module at run time, so that the source is what runs.
 */
export interface FunctionSource {
  /** Whether it takes one number; it answers one. */
  hasParameter: boolean
  /** Pages of 64 KiB. */
  memoryPages: number
  /** The names of the parameter and the locals, in order; those of 128 bits last. */
  locals: readonly string[]
  vectors: number
  source: string
}

type Instruction = (operand: () => string, local: (name: string) => number) => number[]

/** A block without a value, or with one number. */
const noValue = 0x40
const i32 = 0x7f
const v128 = 0x7b

/** WebAssembly 2.0, sections 5.4.1 to 5.4.8. */
const instructions: Record<string, Instruction> = {
  block: () => [0x02, noValue],
  loop: () => [0x03, noValue],
  if: () => [0x04, noValue],
  else: () => [0x05],
  end: () => [0x0b],
  br: (operand) => [0x0c, Number(operand())],
  br_if: (operand) => [0x0d, Number(operand())],
  get: (operand, local) => [0x20, local(operand())],
  set: (operand, local) => [0x21, local(operand())],
  tee: (operand, local) => [0x22, local(operand())],
  // Takes the first of two values where the third one is not zero.
  select: () => [0x1b],
  // The operand is the offset; no alignment is promised.
  'i32.load': (operand) => [0x28, 0, ...unsigned(Number(operand()))],
  'i32.load8_u': (operand) => [0x2d, 0, ...unsigned(Number(operand()))],
  'i32.store8': (operand) => [0x3a, 0, ...unsigned(Number(operand()))],
  'i32.store': (operand) => [0x36, 0, ...unsigned(Number(operand()))],
  'i32.const': (operand) => [0x41, ...signed(Number(operand()))],
  'i32.eqz': () => [0x45],
  'i32.eq': () => [0x46],
  'i32.lt_u': () => [0x49],
  'i32.gt_u': () => [0x4b],
  'i32.ge_u': () => [0x4f],
  'i32.clz': () => [0x67],
  'i32.ctz': () => [0x68],
  'i32.popcnt': () => [0x69],
  'i32.add': () => [0x6a],
  'i32.sub': () => [0x6b],
  'i32.mul': () => [0x6c],
  'i32.and': () => [0x71],
  'i32.or': () => [0x72],
  'i32.xor': () => [0x73],
  'i32.shl': () => [0x74],
  'i32.shr_u': () => [0x76],
  'v128.load': (operand) => [0xfd, 0x00, 0x00, ...unsigned(Number(operand()))],
  'v128.load32_zero': (operand) => [0xfd, 0x5c, 0x00, ...unsigned(Number(operand()))],
  'v128.load64_zero': (operand) => [0xfd, 0x5d, 0x00, ...unsigned(Number(operand()))],
  'v128.store': (operand) => [0xfd, 0x0b, 0x00, ...unsigned(Number(operand()))],
  // Of 16 equal bytes; each is made once, before the function begins.
  splat: (operand, local) => [0x20, local(splatOf(operand()))],
  // Of two vectors as one: the 16 bytes from the one on that the operand says.
  'i8x16.shuffle': (operand) => {
    const first = Number(operand())
    return [0xfd, 0x0d, ...Array.from({ length: 16 }, (_, lane) => first + lane)]
  },
  'i8x16.swizzle': () => [0xfd, 0x0e],
  'i8x16.eq': () => [0xfd, 0x23],
  'i8x16.lt_s': () => [0xfd, 0x25],
  'i8x16.le_u': () => [0xfd, 0x2a],
  'v128.and': () => [0xfd, 0x4e],
  'v128.andnot': () => [0xfd, 0x4f],
  'v128.or': () => [0xfd, 0x50],
  'v128.bitselect': () => [0xfd, 0x52],
  'v128.any_true': () => [0xfd, 0x53],
  'i8x16.bitmask': () => [0xfd, 0x64],
  'i8x16.add': () => [0xfd, 0x6e],
  'i8x16.sub': () => [0xfd, 0x71],
  'i8x16.sub_sat_u': () => [0xfd, 0x73],
  'i8x16.min_u': () => [0xfd, 0x77],
  'i8x16.max_s': () => [0xfd, 0x78],
  'i16x8.extadd_pairwise_i8x16_s': () => [0xfd, 0x7c],
  'i16x8.shr_u': () => [0xfd, 0x8d, 0x01],
  'i16x8.add': () => [0xfd, 0x8e, 0x01],
  'i16x8.sub': () => [0xfd, 0x91, 0x01],
  'i32x4.extadd_pairwise_i16x8_s': () => [0xfd, 0x7e],
  'i32x4.extadd_pairwise_i16x8_u': () => [0xfd, 0x7f],
  'i32x4.extract_lane': (operand) => [0xfd, 0x1b, Number(operand())],
}

/** The function as it runs, with its memory; null where WebAssembly does not work. */
export function instantiate(
  source: FunctionSource,
): { memory: Uint8Array; run: (parameter?: number) => number } | null {
  if (typeof WebAssembly === 'undefined') return null
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(assembleModule(source)))
    const { memory, run } = exports as Exports
    return { memory: new Uint8Array(memory.buffer), run }
  } catch {
    // No memory or no compiler: whoever asks has another way with the same answers, slower.
    return null
  }
}

interface Exports {
  memory: { buffer: ArrayBuffer }
  run: (parameter?: number) => number
}
declare const WebAssembly:
  | undefined
  | {
      Module: new (bytes: Uint8Array) => object
      Instance: new (module: object) => { exports: unknown }
    }

function assembleModule({ source, ...shape }: FunctionSource): Uint8Array {
  const words = source
    .replace(/\(.*\)/g, '')
    .trim()
    .split(/\s+/)
  const splats = [...new Set(words.filter((_, at) => words[at - 1] === 'splat'))]
  const locals = [...shape.locals, ...splats.map(splatOf)]
  const vectors = shape.vectors + splats.length
  const numbers = locals.length - vectors - (shape.hasParameter ? 1 : 0)
  const groups = [[numbers, i32], ...(vectors > 0 ? [[vectors, v128]] : [])]
  const makeSplats = splats.flatMap((byte) => {
    const local = locals.indexOf(splatOf(byte))
    return [0x41, ...signed(Number(byte)), 0xfd, 0x0f, 0x21, local]
  })
  const body = [groups.length, ...groups.flat(), ...makeSplats, ...assemble(words, locals)]
  const magic = [0x00, 0x61, 0x73, 0x6d]
  const version = [0x01, 0x00, 0x00, 0x00]
  const exported = [2, ...name('memory'), 0x02, 0, ...name('run'), 0x00, 0]
  const parameters = shape.hasParameter ? [1, i32] : [0]
  return Uint8Array.from([
    ...magic,
    ...version,
    ...section(1, [1, 0x60, ...parameters, 1, i32]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0x00, shape.memoryPages]),
    ...section(7, exported),
    ...section(10, [1, ...unsigned(body.length), ...body]),
  ])
}

/** The local that holds a vector of 16 equal bytes. */
const splatOf = (byte: string) => `16 of ${byte}`

function assemble(words: readonly string[], locals: readonly string[]): number[] {
  const bytes: number[] = []
  let next = 0
  const operand = () => words[next++]!
  const local = (name: string) => {
    const index = locals.indexOf(name)
    if (index < 0) throw new Error(`no local ${name}`)
    return index
  }
  while (next < words.length) bytes.push(...instructions[operand()]!(operand, local))
  return bytes
}

/** Signed LEB128. */
function signed(value: number): number[] {
  const bytes: number[] = []
  for (let rest = value; ;) {
    const low = rest & 0x7f
    rest >>= 7
    const isLast = (rest === 0 && low < 0x40) || (rest === -1 && low >= 0x40)
    bytes.push(isLast ? low : low | 0x80)
    if (isLast) return bytes
  }
}

/** Unsigned LEB128. */
function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)]
}

function section(id: number, content: number[]): number[] {
  return [id, ...unsigned(content.length), ...content]
}

function name(text: string): number[] {
  return [text.length, ...Buffer.from(text)]
}
