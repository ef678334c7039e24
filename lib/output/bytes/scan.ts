import { scanFlag, scanFunction, scanStepBytes } from './scan-module.ts'
import { instantiate } from './wasm.ts'

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

const blockBytes = 64 * 1024
/** A module costs about a quarter of a millisecond and address space: short output does without. */
const worthwhileBytes = 256 * 1024

/**
 * A scanner of its own: by SIMD about 10 GB/s once there is much to read; before that, and where
 * WebAssembly is not to be had (`--jitless`, an address space limit), byte by byte about 1 GB/s.
 */
export function createScanner(): Scanner {
  let scanned = 0
  let scanner = createByteScanner()
  return (bytes, from, to) => {
    if (scanned < worthwhileBytes) {
      scanned += to - from
      if (scanned >= worthwhileBytes) scanner = createSimdScanner() ?? scanner
    }
    return scanner(bytes, from, to)
  }
}

/** Null where WebAssembly does not work. */
export function createSimdScanner(): Scanner | null {
  const instance = instantiate(scanFunction)
  if (instance === null) return null
  const { memory, run } = instance
  const result: Scan = { newlines: 0, high: false, control: false }
  return (bytes, from, to) => {
    let newlines = 0
    let flags = 0
    for (let start = from; start < to; start += blockBytes) {
      const stop = Math.min(start + blockBytes, to)
      const length = stop - start
      memory.set(bytes.subarray(start, stop))
      const stepsEnd = Math.ceil(length / scanStepBytes) * scanStepBytes
      memory.fill(0x20, length, stepsEnd + 1)
      // A pair that straddles two blocks is seen by carrying its second byte along.
      if (stop < to) memory[length] = bytes[stop]! < 0xa0 && bytes[stop]! >= 0x80 ? 0x80 : 0x20
      const answer = run(stepsEnd)
      newlines += answer & 0xfffffff
      flags |= answer
    }
    result.newlines = newlines
    result.high = (flags & scanFlag.high) !== 0
    result.control = (flags & (scanFlag.control | scanFlag.c1)) !== 0
    return result
  }
}

/** A scanner that looks at one byte after the other. */
export function createByteScanner(): Scanner {
  const result: Scan = { newlines: 0, high: false, control: false }
  return (bytes, from, to) => {
    let newlines = 0
    let high = false
    let control = false
    for (let at = from; at < to; at++) {
      const byte = bytes[at]!
      if (byte === 0x0a) newlines++
      else if (byte < 0x20 ? byte !== 0x09 : byte === 0x7f) control = true
      else if (byte >= 0x80) {
        high = true
        if (byte === 0xc2 && at + 1 < to && (bytes[at + 1]! & 0xe0) === 0x80) control = true
      }
    }
    result.newlines = newlines
    result.high = high
    result.control = control
    return result
  }
}

const zeros = new Uint8Array(16 * 1024)

/** Where a run of NUL bytes ends that begins at `from`. */
export function endOfZeros(bytes: Uint8Array, from: number): number {
  let at = from
  for (let size = zeros.length; size >= 64; size /= 2) {
    const some = size === zeros.length ? zeros : zeros.subarray(0, size)
    while (bytes.length - at >= size && Buffer.compare(bytes.subarray(at, at + size), some) === 0) {
      at += size
    }
  }
  while (bytes[at] === 0) at++
  return at
}
