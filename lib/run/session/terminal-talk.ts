import { countBegun } from '../pipe/pipe-reader.ts'

/* What a shell on a terminal tells: by marks in what it writes there. */

/** A piece of what a shell writes to its terminal. */
export type Piece =
  | { kind: 'bytes'; bytes: Uint8Array }
  /**
   * `I` ends the start files, `C` begins a command's output and tells the command's length, `D` ends it, `B` is the
   * prompt, `R` an answer.
   */
  | { kind: 'mark'; name: string; fields: string[] }

interface MarkReader {
  /** The pieces that are certain now, in order. Their memory is that of the chunk. */
  read(chunk: Uint8Array): Piece[]
  /** What was held back since it might have been the beginning of a mark. */
  rest(): Uint8Array
}

const bell = 0x07
/** Longer ones are no marks of ours: what began like one is given on as it is. */
const longestMark = 4 * 1024 * 1024

/** Finds the marks `ESC ] <nonce> ; name ; fields BEL` in a stream that may be cut anywhere. */
export function createMarkReader(nonce: string): MarkReader {
  const start = Buffer.from(`\u001B]${nonce};`)
  let held = Buffer.alloc(0)

  return {
    read(chunk) {
      let bytes = held.length > 0 ? Buffer.concat([held, chunk]) : Buffer.from(chunk)
      held = Buffer.alloc(0)
      const pieces: Piece[] = []
      const give = (part: Buffer) => {
        if (part.length > 0) pieces.push({ kind: 'bytes', bytes: part })
      }
      for (;;) {
        const at = bytes.indexOf(start)
        if (at < 0) {
          const end = bytes.length - countBegun(bytes, start)
          give(bytes.subarray(0, end))
          held = Buffer.from(bytes.subarray(end))
          return pieces
        }
        give(bytes.subarray(0, at))
        const end = bytes.indexOf(bell, at)
        if (end < 0) {
          if (bytes.length - at > longestMark) give(bytes.subarray(at))
          else held = Buffer.from(bytes.subarray(at))
          return pieces
        }
        const [name = '', ...fields] = bytes.toString('utf8', at + start.length, end).split(';')
        pieces.push({ kind: 'mark', name, fields })
        bytes = bytes.subarray(end + 1)
      }
    },
    rest() {
      const rest = held
      held = Buffer.alloc(0)
      return rest
    },
  }
}
