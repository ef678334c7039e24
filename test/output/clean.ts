import { Filter, type FilterOptions } from '../../lib/output/clean/filter.ts'

/** The clean text of a stream that comes in pieces of the given sizes, over and over. */
export async function clean(
  raw: string | Uint8Array,
  sizes: number[] = [Infinity],
  options: Omit<FilterOptions, 'emit'> = {},
): Promise<string> {
  const pieces: Buffer[] = []
  const filter = new Filter({
    ...options,
    emit: (emitted) => void pieces.push(Buffer.from(emitted)),
  })
  const bytes = Buffer.from(raw as string)
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!
    // A copy that is spoiled afterwards: the filter must not look at it again.
    const piece = Buffer.from(bytes.subarray(at, at + size))
    await filter.write(piece)
    piece.fill(0x3f)
    at += size
  }
  filter.end()
  return Buffer.concat(pieces).toString()
}

/** Arbitrary sizes of pieces. */
export const manySizes = [[1], [2], [3], [7], [1, 64], [5, 1, 1, 4000]]
