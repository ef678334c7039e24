import type { FieldName } from './fields.ts'
import type { Shape } from '../shape/shape.ts'

/** One option of a command line, defined once: parser, help, completions and manual read it. */
export interface Flag {
  /** Long name without dashes. A name that begins with `no-` switches off what is on by default. */
  name: string
  short?: string
  /**
   * What its value may be; null: it takes none. A list may be given item by item, a record as
   * NAME=VALUE.
   */
  shape: Shape | null
  description: string
  /** It may be given once only. */
  isSingle?: boolean
  /** After its short name its value is the first word that is no option, as with a shell's `-c`. */
  takesFirstWord?: boolean
  /** It is an option of the shell: what it, or its value, is in `shellOptions` of a request. */
  toShellOption?: (value: string) => string
  /** The field of a request that it sets, and the value where it takes none. */
  field?: FieldName
  value?: unknown
}

type More = Omit<Flag, 'name' | 'shape' | 'description'>

/** An option that takes no value. */
export function toggle(name: string, description: string, more: More = {}): Flag {
  return { name, shape: null, description, ...more }
}

/** An option with a value. */
export function option(name: string, shape: Shape, description: string, more: More = {}): Flag {
  return { name, shape, description, ...more }
}

/** What the value of an option is called in help: `dir`, `kill|background`. */
export function hintOf(shape: Shape): string {
  switch (shape.kind) {
    case 'text':
      return shape.hint
    case 'choice':
      return shape.values.join('|')
    case 'record':
      return 'K=V'
    case 'list':
      return hintOf(shape.items)
    case 'number':
      return shape.unit === 'seconds' ? 'duration' : 'n'
    default:
      return 'value'
  }
}
