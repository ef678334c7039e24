import type { Function } from 'unbash'
import { obscured, unknown } from './marked-text.ts'

/** Above so many possible values a variable counts as unknown. */
const maxValues = 256

const maxElements = 1000
/** A longer value counts as unknown. */
const maxLength = 8192

export interface Variable {
  /** Every value that it may have here. */
  readonly values: readonly string[]
  /** The elements, of an array. */
  readonly elements?: readonly string[]
}

export interface ShellFunction {
  readonly node: Function
  /** What the positions of the node refer to. */
  readonly source: string
}

/** What is known of a shell's state at one point of the command. */
export class Scope {
  variables: Map<string, Variable>
  functions: Map<string, ShellFunction>
  aliases: Map<string, string>
  /** Absolute; several where it depends on a branch. */
  directories: readonly string[]
  directoryStack: readonly (readonly string[])[] = []
  /** `$1`, `$2`, …; null: given from outside. */
  parameters: readonly string[] | null = null

  constructor(directories: readonly string[]) {
    this.variables = new Map()
    this.functions = new Map()
    this.aliases = new Map()
    this.directories = directories
  }

  clone(): Scope {
    const copy = new Scope(this.directories)
    copy.variables = new Map(this.variables)
    copy.functions = new Map(this.functions)
    copy.aliases = new Map(this.aliases)
    copy.directoryStack = this.directoryStack
    copy.parameters = this.parameters
    return copy
  }

  assign(name: string, values: readonly string[]): void {
    this.variables.set(name, { values: bounded(values) })
  }

  assignElements(name: string, elements: readonly string[]): void {
    const kept =
      elements.length > maxElements ? [...elements.slice(0, maxElements), obscured] : elements
    this.variables.set(name, { values: [kept[0] ?? ''], elements: kept })
  }

  /** Changes the directory, relative to where the shell may stand. */
  enter(targets: readonly string[]): void {
    const before = this.directories
    this.directories = bounded(
      targets.flatMap((target) => {
        if (target === '-') return this.variables.get('OLDPWD')?.values ?? [unknown]
        if (target.startsWith('/')) return [target]
        return before.map((directory) => (target === '' ? directory : `${directory}/${target}`))
      }),
    )
    this.assign('OLDPWD', before)
  }

  become(other: Scope): void {
    this.variables = other.variables
    this.functions = other.functions
    this.aliases = other.aliases
    this.directories = other.directories
    this.directoryStack = other.directoryStack
    this.parameters = other.parameters
  }

  /** Adds what may be true instead: the state of another branch. */
  merge(other: Scope): void {
    this.mergeVariables(other)
    if (other.directories !== this.directories) {
      this.directories = bounded([...this.directories, ...other.directories])
    }
  }

  /** The same, apart from the directory. */
  mergeVariables(other: Scope): void {
    for (const [name, variable] of other.variables) {
      const own = this.variables.get(name)
      if (own === variable) continue
      this.variables.set(name, own ? union(own, variable) : variable)
    }
    for (const [name, body] of other.functions) {
      if (!this.functions.has(name)) this.functions.set(name, body)
    }
    for (const [name, text] of other.aliases) this.aliases.set(name, text)
    if (other.parameters !== this.parameters) {
      this.parameters =
        this.parameters && other.parameters ? [...this.parameters, ...other.parameters] : null
    }
  }
}

function union(a: Variable, b: Variable): Variable {
  const values = bounded([...a.values, ...b.values])
  if (!a.elements && !b.elements) return { values }
  return {
    values,
    elements: [...new Set([...(a.elements ?? a.values), ...(b.elements ?? b.values)])],
  }
}

function bounded(values: readonly string[]): readonly string[] {
  const [only] = values
  if (values.length === 1 && only !== undefined)
    return only.length > maxLength ? [obscured] : values
  const distinct = [
    ...new Set(values.map((value) => (value.length > maxLength ? obscured : value))),
  ]
  return distinct.length > maxValues ? [...distinct.slice(0, maxValues), obscured] : distinct
}
