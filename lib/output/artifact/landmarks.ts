import type { Restart } from '../clean/filter.ts'

/** A place of a raw file from which its text can be read on, and where in the text that is. */
export interface Landmark extends Omit<Restart, 'unread'> {
  raw: number
  /** Lines and bytes of text before it, and characters before it in its line. */
  line: number
  text: number
  column: number
}

/** So many numbers tell one. */
const landmarkNumbers = 7

/**
 * Landmarks in the order of their places, the start of the file first. They are numbers in one piece of memory:
 * a large file has so many that as objects they would hold up each collection of garbage.
 */
export class Landmarks {
  /** Begins with the start of a file. */
  #numbers = new Float64Array(landmarkNumbers)
  #length = 1

  get last(): Landmark {
    return this.#at(this.#length - 1)
  }

  add({ raw, line, text, column, isInLine, invalid, dropped }: Landmark): void {
    const at = this.#length++ * landmarkNumbers
    if (at === this.#numbers.length) {
      const grown = new Float64Array(at * 2)
      grown.set(this.#numbers)
      this.#numbers = grown
    }
    this.#numbers.set([raw, line, text, column, isInLine ? 1 : 0, invalid, dropped], at)
  }

  /** The last one that is at or before a place; the start always is. */
  findLast(isBefore: (mark: Landmark) => boolean): Landmark {
    let low = 0
    let high = this.#length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (isBefore(this.#at(middle))) low = middle
      else high = middle - 1
    }
    return this.#at(low)
  }

  #at(index: number): Landmark {
    const at = index * landmarkNumbers
    const numbers = this.#numbers
    return {
      raw: numbers[at]!,
      line: numbers[at + 1]!,
      text: numbers[at + 2]!,
      column: numbers[at + 3]!,
      isInLine: numbers[at + 4] === 1,
      invalid: numbers[at + 5]!,
      dropped: numbers[at + 6]!,
    }
  }
}
