import { distinct, obscured, Text, unknown } from './text.ts'
import type { Function } from 'unbash'

/** What the reading of one command may cost, in characters of its texts: about a second of work. */
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
    for (const text of texts) this.spend(costs.text + text.length)
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

/** Above so many possible values a variable counts as unknown. */
const maxValues = 256

/** A longer value counts as unknown. */
const maxLength = 8192

export interface ShellFunction {
  readonly node: Function
  /** What the positions of the node refer to. */
  readonly source: string
}

/** What is known of a shell's state at one point of the command. */
export class Scope {
  /** Every value that a variable may have here, or the elements of an array, each once. */
  variables = new Map<string, readonly Text[]>()
  functions = new Map<string, ShellFunction>()
  aliases = new Map<string, Text>()
  /** Absolute; several where it depends on a branch. */
  directories: readonly Text[]
  /** `$1`, `$2`, …; null: given from outside. */
  parameters: readonly Text[] | null = null
  /** Counts what every copy does, with all of them. */
  readonly effort: Effort

  constructor(directories: readonly Text[], effort: Effort) {
    this.directories = directories
    this.effort = effort
  }

  clone(): Scope {
    const copy = new Scope(this.directories, this.effort)
    this.effort.spendOn('entry', this.variables.size + this.functions.size + this.aliases.size)
    copy.variables = new Map(this.variables)
    copy.functions = new Map(this.functions)
    copy.aliases = new Map(this.aliases)
    copy.parameters = this.parameters
    return copy
  }

  assign(name: string, values: readonly Text[]): void {
    this.variables.set(name, this.bound(values))
  }

  /** Changes the directory, relative to where the shell may stand. */
  enter(targets: readonly Text[]): void {
    const before = this.directories
    this.directories = this.bound(
      targets.flatMap((target) => {
        if (target.is('-')) return this.variables.get('OLDPWD') ?? [unknown]
        if (target.startsWith('/')) return [target]
        if (target.length === 0) return before
        return before.map((directory) => Text.join([directory, '/', target]))
      }),
    )
    this.assign('OLDPWD', before)
  }

  become(other: Scope): void {
    Object.assign(this, other)
  }

  /** Adds what may be true instead: the state of another branch. */
  merge(other: Scope): void {
    if (other.directories !== this.directories) {
      this.directories = this.bound([...this.directories, ...other.directories])
    }
    this.effort.spendOn('entry', other.variables.size)
    for (const [name, values] of other.variables) {
      const own = this.variables.get(name)
      if (own !== values) this.variables.set(name, own ? this.bound([...own, ...values]) : values)
    }
    if (other.parameters !== this.parameters) {
      this.parameters =
        this.parameters && other.parameters ? [...this.parameters, ...other.parameters] : null
      this.effort.spendOnTexts(this.parameters ?? [])
    }
  }

  private bound(values: readonly Text[]): readonly Text[] {
    this.effort.spendOnTexts(values)
    const short = values.map((value) => (value.length > maxLength ? obscured : value))
    const known = short.length > 1 ? distinct(short) : short
    return known.length > maxValues ? [...known.slice(0, maxValues), obscured] : known
  }
}
