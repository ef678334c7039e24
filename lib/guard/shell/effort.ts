import type { Text } from './text.ts'

/** What the reading of one command may cost: about a second of work. */
const most = 64_000_000

/** What one piece of work costs beside its texts, measured against a character of them. */
const costs = { command: 3200, text: 16, entry: 32 } as const

/**
 * Counts the work of reading one command: a short one can ask for any amount of it, by values that grow
 * and by branches in one another, and nothing else happens while it is read. It counts what is done, not
 * time, so that the same command has the same verdict on every machine.
 */
export class Effort {
  private left = most
  private readonly onSpent: () => void

  /** `onSpent` is called once, when no more is to be read. */
  constructor(onSpent: () => void) {
    this.onSpent = onSpent
  }

  get isSpent(): boolean {
    return this.left < 0
  }

  /** Counts texts that were made. */
  spendOnTexts(texts: readonly Text[]): void {
    let units = 0
    for (const text of texts) units += costs.text + text.length
    this.spend(units)
  }

  /** Counts so many commands that start, or entries of a scope that are copied or compared. */
  spendOn(kind: 'command' | 'entry', count: number): void {
    this.spend(count * costs[kind])
  }

  private spend(units: number): void {
    if (this.isSpent) return
    this.left -= units
    if (this.isSpent) this.onSpent()
  }
}
