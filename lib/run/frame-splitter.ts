/** A piece of a stream in which somebody reports beside the bytes of a command. */
export type Piece =
  | { kind: 'bytes'; bytes: Buffer }
  /** What stands between the head of a frame and its end. */
  | { kind: 'frame'; text: string }

interface FrameSplitter {
  /** The pieces that are certain now, in order. Their memory is their own. */
  read(chunk: Uint8Array): Piece[]
  /** What is held back since it might be the beginning of a frame. */
  readonly held: Buffer
}

interface Frames {
  /** How each begins, with what only the two sides know. */
  head: string
  /** The byte that ends one. */
  end: number
  /** Longer ones are no frames of ours: what began like one is given on as it is. */
  longest: number
}

/** Finds frames in a stream that may be cut anywhere. */
export function createFrameSplitter({ head, end: last, longest }: Frames): FrameSplitter {
  const start = Buffer.from(head)
  let held = Buffer.alloc(0)

  return {
    read(chunk) {
      let bytes = Buffer.concat([held, chunk])
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
        const end = bytes.indexOf(last, at)
        if (end < 0) {
          if (bytes.length - at > longest) give(bytes.subarray(at))
          else held = Buffer.from(bytes.subarray(at))
          return pieces
        }
        pieces.push({ kind: 'frame', text: bytes.toString('utf8', at + start.length, end) })
        bytes = bytes.subarray(end + 1)
      }
    },
    get held() {
      return held
    },
  }
}

/** The length of the longest end of `bytes` that a head may begin with. */
function countBegun(bytes: Buffer, head: Uint8Array): number {
  const longest = head.length - 1
  for (
    let at = bytes.indexOf(head[0] ?? 0, -longest);
    at >= 0;
    at = bytes.indexOf(head[0] ?? 0, at + 1)
  ) {
    if (bytes.subarray(at).equals(head.subarray(0, bytes.length - at))) return bytes.length - at
  }
  return 0
}
