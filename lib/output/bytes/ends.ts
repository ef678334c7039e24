/** Shared, since each run has many streams that stay empty, and it is slow to make a buffer for each. */
export const noBytes: Buffer = Buffer.alloc(0)

/** The first bytes of a stream, up to a capacity. Memory grows with what is kept. */
export class FirstBytes {
  readonly #capacity: number
  #buffer = noBytes
  #length = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  write(bytes: Uint8Array): void {
    const take = Math.min(bytes.length, this.#capacity - this.#length)
    if (take <= 0) return
    this.#buffer = withRoom(this.#buffer, this.#length, this.#length + take, this.#capacity)
    this.#buffer.set(bytes.subarray(0, take), this.#length)
    this.#length += take
  }

  get length(): number {
    return this.#length
  }

  /** What is kept. Valid until the next write. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  clear(): void {
    this.#length = 0
  }

  clone(): FirstBytes {
    const copy = new FirstBytes(this.#capacity)
    copy.write(this.bytes)
    return copy
  }
}

/** The last bytes of a stream, up to a capacity, in a ring. Memory grows with what is kept. */
export class LastBytes {
  readonly #capacity: number
  #ring = noBytes
  #length = 0
  /** Where the next byte goes, once the ring is full: where the oldest is. */
  #at = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  write(bytes: Uint8Array): void {
    let from = Math.max(bytes.length - this.#capacity, 0)
    if (this.#length < this.#capacity) {
      const take = Math.min(bytes.length - from, this.#capacity - this.#length)
      this.#ring = withRoom(this.#ring, this.#length, this.#length + take, this.#capacity)
      this.#ring.set(bytes.subarray(from, from + take), this.#length)
      this.#length += take
      from += take
    }
    while (from < bytes.length) {
      const take = Math.min(bytes.length - from, this.#capacity - this.#at)
      this.#ring.set(bytes.subarray(from, from + take), this.#at)
      this.#at = (this.#at + take) % this.#capacity
      from += take
    }
  }

  /** What is kept, in order. A copy where the ring has turned. */
  get bytes(): Buffer {
    if (this.#at === 0) return this.#ring.subarray(0, this.#length)
    return Buffer.concat([
      this.#ring.subarray(this.#at, this.#length),
      this.#ring.subarray(0, this.#at),
    ])
  }

  clear(): void {
    this.#length = 0
    this.#at = 0
  }

  clone(): LastBytes {
    const copy = new LastBytes(this.#capacity)
    copy.write(this.bytes)
    return copy
  }
}

function withRoom(buffer: Buffer, used: number, needed: number, capacity: number): Buffer {
  if (needed <= buffer.length) return buffer
  const grown = Buffer.allocUnsafeSlow(
    Math.min(Math.max(needed, buffer.length * 2, 4096), capacity),
  )
  buffer.copy(grown, 0, 0, used)
  return grown
}
