import { rewriterBytes } from './rewriter.ts'

const largest = rewriterBytes
const smallest = 4 * 1024

/** How much of the bytes is tried at once: as much as will probably go one way. */
export class BlockSize {
  bytes = largest

  /** All of a block went one way. */
  grow(): void {
    this.bytes = Math.min(this.bytes * 2, largest)
  }

  /** Only so much of a block did. */
  fit(done: number): void {
    this.bytes = Math.min(Math.max(done * 2, smallest), largest)
  }
}
