import { isUtf8 } from 'node:buffer'
import { incompleteTail } from '../bytes/utf8.ts'
import { instantiate } from '../bytes/wasm.ts'
import { type BinaryCounter, createBinaryCounter } from './binary-count.ts'
import { buildShuffles } from './rewriter-block.ts'
import {
  inputBytes,
  locals,
  memoryPages,
  places,
  registers,
  source,
  vectors,
} from './rewriter-source.ts'
import { buildTable, type State, state, statesPerTable, written } from './rewriter-table.ts'

/*
 * The fast way of text that is more than plain: colours, lines that are written over from their start,
 * bytes that are no text. WebAssembly follows a table, and stops before whatever it cannot do, which takes
 * the common way.
 */

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
  /** The text, the open line included. Valid until the next call of any rewriter. */
  text: Uint8Array
  newlines: number
  /** The cursor stands so many bytes before the end of the text. */
  back: number
  /** How many invalid sequences were replaced. */
  invalid: number
}

export interface Rewriter {
  /**
   * Makes clean text of `bytes[from, to)`, at most 64 KiB, that goes on in `line`. It stops behind
   * `maxInvalid` sequences that are no UTF-8.
   */
  rewrite(
    bytes: Uint8Array,
    from: number,
    to: number,
    line: OpenLine,
    maxInvalid: number,
  ): Rewritten
  /** The same for what is no text: nothing in it moves a cursor. Goes on in the state of the last call. */
  rewriteBinary(bytes: Uint8Array, from: number, to: number): Uint8Array
  /** Where binary data stands; whoever leaves some of it out says where it stands then. */
  binaryState: number
  /** Counts what `rewriteBinary` would write; null where that does not work. */
  readonly counter: BinaryCounter | null
  /** Whether binary data stands at the end of a character and of a sequence. */
  readonly isAtRest: boolean
  /** Nothing goes on with the last character. Whether it is unfinished, and becomes U+FFFD. */
  endCharacter(): boolean
}

/** The largest piece for one call. */
export const rewriterBytes = inputBytes

/** Gives a rewriter of its own to each stream; null where WebAssembly does not work. */
export type OpenRewriter = () => Rewriter | null

/**
 * All of them share one module, made with the first, and one counter, made when it is asked for: their memory
 * holds nothing between two calls.
 */
export function createRewriters(): OpenRewriter {
  let made: ReturnType<typeof makeModule> | undefined
  let counter: BinaryCounter | null | undefined
  const openCounter = () => {
    if (counter === undefined) counter = createBinaryCounter()
    return counter
  }
  return () => {
    if (made === undefined) made = makeModule()
    return made && createRewriter(made, openCounter)
  }
}

function makeModule() {
  const made = instantiate({ hasParameter: false, memoryPages, locals, vectors, source })
  if (made === null) return null
  const { memory, run } = made
  memory.fill(0xff, places.masks, places.masks + 16)
  new Int32Array(memory.buffer, places.table, 2 * statesPerTable * 256).set(buildTable())
  memory.set(buildShuffles(), places.shuffles)
  return {
    memory,
    run,
    numbers: new Int32Array(memory.buffer, places.registers, registers.length + 1),
  }
}

function createRewriter(
  { memory, run, numbers }: NonNullable<ReturnType<typeof makeModule>>,
  openCounter: () => BinaryCounter | null,
): Rewriter {
  const { output } = places
  /** The last piece was no UTF-8, as the next one will probably be: it is not looked at as a whole. */
  let wasInvalid = false
  /** Bytes of an unfinished character in binary data. */
  let unfinished = new Uint8Array(0)

  return {
    binaryState: statesPerTable,
    get counter() {
      return openCounter()
    },
    get isAtRest() {
      return this.binaryState === statesPerTable
    },
    endCharacter() {
      if (unfinished.length === 0) return false
      unfinished = new Uint8Array(0)
      this.binaryState = statesPerTable
      return true
    },
    rewrite(bytes, from, to, { text, column }, maxInvalid) {
      const end = to - incompleteTail(bytes, from, to)
      const isValid = !wasInvalid && isUtf8(bytes.subarray(from, end)) ? 1 : 0
      memory.set(bytes.subarray(from, to))
      if (text !== null) memory.set(text, output)
      const lineEnd = output + (text?.length ?? 0)
      const isUneven = text === null ? 1 : 0
      numbers.set([0, to - from, state.text, output + column, lineEnd, output, isUneven, isValid])
      numbers.set([0, 0, maxInvalid, 0], 8)
      run()
      const [, , , outAfter = 0, endAfter = 0] = numbers
      const [safeAt = 0, safeOut = 0, left = 0, newlines = 0] = numbers.subarray(8)
      // An unfinished character is read again, and stands at the end.
      const last = safeOut < outAfter ? safeOut : endAfter
      const invalid = maxInvalid - left
      wasInvalid = invalid > 0
      return {
        at: from + safeAt,
        text: memory.subarray(output, last),
        newlines,
        back: last - safeOut,
        invalid,
      }
    },
    rewriteBinary(bytes, from, to) {
      memory.set(bytes.subarray(from, to))
      memory.set(unfinished, output)
      const start = output + unfinished.length
      numbers.set([0, to - from, this.binaryState, start, start, output, 0, 0])
      run()
      this.binaryState = numbers[2]!
      const end = numbers[3]! - (written[(this.binaryState - statesPerTable) as State] ?? 0)
      unfinished = memory.slice(end, numbers[3])
      return memory.subarray(output, end)
    },
  }
}
