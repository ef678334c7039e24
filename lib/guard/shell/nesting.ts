/** Counts how deeply one kind of thing lies inside itself. */
export class Nesting {
  private depth = 0
  private readonly most: number

  constructor(most: number) {
    this.most = most
  }

  /** Reads one level deeper, unless that is too deep. */
  enter<T>(read: () => T, tooDeep: () => T): T {
    if (this.depth >= this.most) return tooDeep()
    this.depth++
    const result = read()
    this.depth--
    return result
  }
}
