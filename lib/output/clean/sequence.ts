import { incomplete, sequenceAt } from '../bytes/utf8.ts'

/** A control sequence, told apart: `ESC [ <prefix> parameters intermediates final` (ECMA-48, 5.4). */
export interface ControlSequence {
  /** `?`, `<`, `=`, `>` or empty. */
  prefix: string
  /** A missing parameter is -1. */
  parameters: number[]
  intermediates: string
  final: string
}

/** Longer control sequences are not sequences: their introducer is dropped. */
const maxSequenceBytes = 256
/** An 8-bit string introducer counts only when its string ends within so many bytes and its line. */
const maxShortString = 4096

/** Longer ones take the common way. */
const maxColourBytes = 64

const BEL = 0x07
const CAN = 0x18
const SUB = 0x1a
const ESC = 0x1b
export const CSI = 0x9b
const ST = 0x9c
/** The final byte of `ESC [ … m`. */
export const SGR = 0x6d
/** The final bytes of `ESC [ n K` and `ESC [ n G`. */
const eraseLine = 0x4b
export const CHA = 0x47
/** `ESC \` is ST in 7 bits. */
const backslash = 0x5c

/** What may be found in place of the end of a piece. */
export const notYet = 0
export const none = -1

/** Whether it is DCS, SOS, OSC, PM or APC in 8 bits; in 7 bits each is ESC and the byte 0x40 below. */
export function isStringIntroducer(byte: number): boolean {
  return byte === 0x90 || byte === 0x98 || (byte >= 0x9d && byte <= 0x9f)
}

/** Whether a control character of 8 bits begins a sequence or a string. */
export function isIntroducer(byte: number): boolean {
  return byte === CSI || isStringIntroducer(byte)
}

/** The end of `ESC [ … m` at `at`; -1: something else stands there, or more must come. */
export function endOfColour(bytes: Uint8Array, at: number): number {
  if (bytes[at + 1] !== CSI - 0x40) return -1
  let end = at + 2
  while (bytes[end]! >= 0x30 && bytes[end]! <= 0x3b) end++
  return bytes[end] !== SGR || end - at > maxColourBytes ? -1 : end + 1
}

/**
 * The end of what erases the line, whole or to its right, or goes to its first column: `ESC [ K`, `ESC [ 2 K`,
 * `ESC [ G` and the like; -1: something else stands at `at`, or more must come.
 */
export function endOfLineEdit(bytes: Uint8Array, at: number): number {
  if (bytes[at + 1] !== CSI - 0x40) return -1
  const parameter = bytes[at + 2]!
  const end = parameter >= 0x30 && parameter <= 0x32 ? at + 4 : at + 3
  if (bytes[end - 1] === eraseLine) return parameter === 0x31 ? -1 : end
  return bytes[end - 1] === CHA && parameter !== 0x32 ? end : -1
}

/** The end of the control sequence whose parameters begin at `from`, or `notYet`, or `none`. */
export function endOfSequence(bytes: Uint8Array, from: number, to: number): number {
  let at = from
  while (at < to && bytes[at]! >= 0x30 && bytes[at]! <= 0x3f) at++
  while (at < to && bytes[at]! >= 0x20 && bytes[at]! <= 0x2f) at++
  if (at - from > maxSequenceBytes) return none
  if (at >= to) return notYet
  return bytes[at]! >= 0x40 && bytes[at]! <= 0x7e ? at + 1 : none
}

/** Reads the control sequence in `bytes[from, end)`, introducer excluded. */
export function decodeSequence(bytes: Uint8Array, from: number, end: number): ControlSequence {
  let at = from
  let prefix = ''
  if (bytes[at]! >= 0x3c && bytes[at]! <= 0x3f) prefix = String.fromCharCode(bytes[at++]!)
  const parameters: number[] = []
  let value = -1
  for (; bytes[at]! >= 0x30 && bytes[at]! <= 0x3f; at++) {
    const byte = bytes[at]!
    if (byte <= 0x39) value = Math.min(Math.max(value, 0) * 10 + byte - 0x30, 0xffff)
    else {
      parameters.push(value)
      value = -1
    }
  }
  parameters.push(value)
  let intermediates = ''
  while (at < end - 1) intermediates += String.fromCharCode(bytes[at++]!)
  return { prefix, parameters, intermediates, final: String.fromCharCode(bytes[end - 1]!) }
}

/**
 * Where a string (OSC, DCS, APC, PM, SOS) that goes on at `from` ends: after its ST or BEL, after CAN or
 * SUB, or before another escape, which breaks it off. Without an end `found` is false, and `at` is how far
 * the bytes need not be looked at again.
 */
export function endOfString(
  bytes: Uint8Array,
  from: number,
  to: number,
): { found: boolean; at: number } {
  let at = from
  while (at < to) {
    const byte = bytes[at]!
    if (byte === BEL || byte === CAN || byte === SUB) return { found: true, at: at + 1 }
    if (byte === ESC) {
      if (at + 1 >= to) break
      return { found: true, at: bytes[at + 1] === backslash ? at + 2 : at }
    }
    if (byte < 0x80) at++
    else if (byte === ST) return { found: true, at: at + 1 }
    else {
      // 0x9C within a character is not ST.
      const length = sequenceAt(bytes, at, to)
      if (length === incomplete) break
      if (byte === 0xc2 && bytes[at + 1] === ST) return { found: true, at: at + 2 }
      at += Math.abs(length)
    }
  }
  return { found: false, at }
}

/**
 * The end of a string after an 8-bit introducer, or `notYet`, or `none`. The bytes and code points of these
 * introducers also stand in texts that were decoded wrongly, so that only a string that is short, on one
 * line and properly ended is taken for one.
 */
export function endOfShortString(bytes: Uint8Array, from: number, to: number): number {
  const limit = Math.min(to, from + maxShortString)
  for (let at = from; at < limit; at++) {
    const byte = bytes[at]!
    if (byte === BEL || byte === ST) return at + 1
    if (byte === ESC) {
      if (at + 1 >= to) return notYet
      return bytes[at + 1] === backslash ? at + 2 : none
    }
    if (byte < 0x20) return none
    if (byte < 0x80) continue
    const length = sequenceAt(bytes, at, to)
    if (length === incomplete) return notYet
    if (byte === 0xc2 && bytes[at + 1] === ST) return at + 2
    if (length < 0 || (byte === 0xc2 && bytes[at + 1]! < 0xa0)) return none
    at += length - 1
  }
  return to - from >= maxShortString ? none : notYet
}
