/**
 * After so many invalid sequences a stream is the contents of a file: no screen is drawn for it. After as
 * many control characters that no text has, nothing in it moves a cursor either.
 */
const enoughInvalid = 100
const enoughDropped = 100
/** More than a piece can hold. */
const uncounted = 1 << 30

/** What no text has, counted over one stream. */
export class BinarySigns {
  /** Sequences that are no UTF-8. */
  invalid: number
  /** Control characters that were dropped. */
  dropped: number

  constructor(invalid = 0, dropped = 0) {
    this.invalid = invalid
    this.dropped = dropped
  }

  /** Whether no screen is drawn any more. */
  get isNoScreen(): boolean {
    return this.invalid >= enoughInvalid
  }

  /** Whether nothing that follows moves a cursor. */
  get isBinary(): boolean {
    return this.isNoScreen && this.dropped >= enoughDropped
  }

  /** An emulator has found that this is no output for a terminal. */
  takeForFile(): void {
    this.invalid = enoughInvalid
  }

  /** After how many more invalid sequences it is binary data, whatever the pieces are. */
  get invalidUntilBinary(): number {
    const isNext = this.dropped >= enoughDropped && !this.isNoScreen
    return isNext ? enoughInvalid - this.invalid : uncounted
  }
}
