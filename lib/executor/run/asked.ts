import type { Result } from '../../protocol/result/result.ts'

/** What answers the questions of `Asked`. */
export interface Answers {
  pid(): number | null
  startedAt(): string
  group(): string | null
  result(): Promise<Result>
  /** Null: the run is no job. */
  declared(): Promise<void> | null
  isHidden(): boolean
}

/** What of a run is asked anew at each look. It is a class for the reason that `run/running.ts` gives. */
export class Asked {
  readonly #ask: Answers

  constructor(ask: Answers) {
    this.#ask = ask
  }

  get pid(): number | null {
    return this.#ask.pid()
  }

  get startedAt(): string {
    return this.#ask.startedAt()
  }

  get group(): string | null {
    return this.#ask.group()
  }

  get result(): Promise<Result> {
    return this.#ask.result()
  }

  get isJob(): boolean {
    return this.#ask.declared() !== null
  }

  get declared(): Promise<void> {
    return this.#ask.declared() ?? Promise.resolve()
  }

  get isHidden(): boolean {
    return this.#ask.isHidden()
  }
}
