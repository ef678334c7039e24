import { assembleScanModule, scanFlag } from './scan-module.ts'

/** What one look over a piece of text tells. */
export interface Scan {
  newlines: number
  /** A byte beyond ASCII. */
  high: boolean
  /** A control character other than tab and newline: C0, DEL, or an encoded U+0080 to U+009F. */
  control: boolean
}

/** Looks over `bytes[from, to)`. The answer is used again by the next call. */
export type Scanner = (bytes: Uint8Array, from: number, to: number) => Scan

interface ScanExports {
  memory: { buffer: ArrayBuffer }
  scan(end: number): number
}
declare const WebAssembly:
  | undefined
  | {
      Module: new (bytes: Uint8Array) => object
      Instance: new (module: object) => { exports: unknown }
    }

const blockBytes = 64 * 1024

/**
 * A scanner of its own. By SIMD about 20 GB/s; where WebAssembly is not to be had (`--jitless`, an
 * address space limit) four bytes a step in JavaScript, about 2 GB/s.
 */
export function createScanner(): Scanner {
  const instance = instantiate()
  return instance ? createSimdScanner(instance) : createWordScanner()
}

function instantiate(): ScanExports | null {
  if (typeof WebAssembly === 'undefined') return null
  try {
    const module = new WebAssembly.Module(assembleScanModule())
    return new WebAssembly.Instance(module).exports as ScanExports
  } catch {
    // No memory or no compiler: the other scanner gives the same answers, slower.
    return null
  }
}

function createSimdScanner(instance: ScanExports): Scanner {
  const memory = new Uint8Array(instance.memory.buffer)
  const result: Scan = { newlines: 0, high: false, control: false }
  return (bytes, from, to) => {
    let newlines = 0
    let flags = 0
    for (let start = from; start < to; start += blockBytes) {
      const stop = Math.min(start + blockBytes, to)
      const length = stop - start
      memory.set(bytes.subarray(start, stop))
      memory.fill(0x20, length, length + 17)
      // A pair that straddles two blocks is seen by carrying its second byte along.
      if (stop < to) memory[length] = bytes[stop]! < 0xa0 && bytes[stop]! >= 0x80 ? 0x80 : 0x20
      const answer = instance.scan((length + 15) & ~15)
      newlines += answer & 0xfffffff
      flags |= answer
    }
    result.newlines = newlines
    result.high = (flags & scanFlag.high) !== 0
    result.control = (flags & (scanFlag.control | scanFlag.c1)) !== 0
    return result
  }
}

/** The same in plain JavaScript: four bytes a step by arithmetic within a word. */
export function createWordScanner(): Scanner {
  const result: Scan = { newlines: 0, high: false, control: false }
  const block = new Int32Array(blockBytes / 4)
  const memory = new Uint8Array(block.buffer)
  return (bytes, from, to) => {
    let newlines = 0
    let controls = 0
    let high = 0
    for (let start = from; start < to; start += blockBytes) {
      const stop = Math.min(start + blockBytes, to)
      const words = (stop - start + 3) >> 2
      memory.set(bytes.subarray(start, stop))
      memory.fill(0x20, stop - start, words * 4)
      for (let at = 0; at < words; at++) {
        const word = block[at]!
        const newlineMarks = zeroBytes(word ^ 0x0a0a0a0a)
        const low = ~((word & 0x7f7f7f7f) + 0x60606060) & ~word & 0x80808080
        controls |=
          (low & ~newlineMarks & ~zeroBytes(word ^ 0x09090909)) | zeroBytes(word ^ 0x7f7f7f7f)
        high |= word & 0x80808080
        if (newlineMarks !== 0) newlines += Math.imul(newlineMarks >>> 7, 0x01010101) >>> 24
      }
    }
    result.newlines = newlines
    result.high = high !== 0
    result.control = controls !== 0 || (high !== 0 && hasC1(bytes, from, to))
    return result
  }
}

/** 0x80 in every byte of the word that is zero. */
function zeroBytes(word: number): number {
  return ~(((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word | 0x7f7f7f7f)
}

function hasC1(bytes: Uint8Array, from: number, to: number): boolean {
  for (
    let at = bytes.indexOf(0xc2, from);
    at >= 0 && at + 1 < to;
    at = bytes.indexOf(0xc2, at + 1)
  ) {
    if ((bytes[at + 1]! & 0xe0) === 0x80) return true
  }
  return false
}
