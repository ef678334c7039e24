import type { Shell } from '../commands/call.ts'
import { fetchedScript, type SeenCommand } from '../rules/rule.ts'
import type { Grammar } from '../shell/grammar.ts'
import { Effort, type Scope, type ShellFunction } from '../shell/scope.ts'
import { readable, type Text, unknown } from '../shell/text.ts'
import type { WordHost } from '../shell/word.ts'
import type { AndOr, CompoundList, PipelineNode, Statement } from 'unbash'

/** How deeply things may lie in one another. What lies deeper is not read: the verdict is `ask`. */
const most = {
  /** The command itself, and eight scripts nested in it. */
  scripts: 9,
  substitutions: 32,
  /** Compound commands in one another, and wrappers in front of one another. */
  commands: 60,
} as const

/** Whether a command runs, is a guess at an unknown name, or stands in a function nobody calls. */
export type Likelihood = 'runs' | 'supposed' | 'defined'

/** Whether the text is none that the grammar reads, or what it does is not to be known. */
export type Doubt = 'unparsed' | 'unknown'

export interface InterpreterOptions {
  readonly grammar: Grammar
  readonly home: string
  readonly directory: string
  readonly variables: Readonly<Record<string, string>>
  /** Hears of every command, with the part of the text that it stands in. */
  readonly saw: (command: SeenCommand, text: string, likelihood: Likelihood) => void
  /** Hears of what cannot be known and matters. */
  readonly doubted: (reason: string, text: string, kind: Doubt) => void
}

/** What surrounds the node that is being read. */
interface Frame {
  /** The text that positions of nodes refer to. */
  readonly source: string
  /** The part of it that a verdict shows. */
  readonly text: string
  readonly likelihood: Likelihood
  readonly standsAlone: boolean
}

/** Where a command reads and writes. */
export interface Channels {
  /** What the command reads, as far as it is known; null: it does not come from this command. */
  readonly stdin: Text | null
  /** The files that are opened for writing. */
  readonly writes: readonly Text[]
  /** Whether anything is redirected or piped in. */
  readonly redirected: boolean
}

/** A node that a walk comes upon. */
export type Node = PipelineNode | AndOr | CompoundList | Statement

/** What the parts of the interpreter ask of the whole. */
export interface Reader extends Shell, WordHost {
  readonly context: Context
  /** Reads what a node would start; gives what it prints, as far as known. */
  walk(node: Node, scope: Scope, stdin: Text | null): Text
  /** Reads the body of a function; gives what it prints, as far as known. */
  call(body: ShellFunction, args: readonly Text[], scope: Scope, stdin: Text | null): Text
}

/** Knows what surrounds the node that is being read, and reports from there. */
export class Context {
  private readonly options: InterpreterOptions
  private frame: Frame = { source: '', text: '', likelihood: 'runs', standsAlone: true }
  private readonly depths = { scripts: 0, substitutions: 0, commands: 0 }
  /** What has been done so far. Where it is too much, the verdict is `ask`. */
  readonly effort = new Effort(() => {
    // Also where a guess has used it up: what follows is not read.
    this.within({ likelihood: 'runs' }, () => this.doubt('It takes too much work to read.'))
  })

  constructor(options: InterpreterOptions) {
    this.options = options
  }

  /** The text that positions of nodes refer to. */
  get source(): string {
    return this.frame.source
  }

  within<T>(changes: Partial<Frame>, read: () => T): T {
    const outer = this.frame
    const { source, text, likelihood, standsAlone } = outer
    this.frame = {
      source: changes.source ?? source,
      text: changes.text ?? text,
      likelihood: changes.likelihood ?? likelihood,
      standsAlone: changes.standsAlone ?? standsAlone,
    }
    const result = read()
    this.frame = outer
    return result
  }

  /** Reads one level deeper, unless that is too deep. */
  deeper(kind: keyof typeof most, read: () => Text, what: string): Text {
    if (this.depths[kind] >= most[kind]) {
      this.doubt(`${what} are nested too deeply.`)
      return unknown
    }
    this.depths[kind]++
    const result = read()
    this.depths[kind]--
    return result
  }

  /** Reads a part whose commands are not on their own: a pipeline, a loop. */
  aside(read: () => Text): Text {
    return this.within({ standsAlone: false }, read)
  }

  /** Reads commands that run only perhaps. */
  supposed<T>(read: () => T): T {
    const { likelihood } = this.frame
    return this.within({ likelihood: likelihood === 'runs' ? 'supposed' : likelihood }, read)
  }

  /** Reports what cannot be known, where it runs: elsewhere it does not matter. */
  doubt(reason: string, kind: Doubt = 'unknown'): void {
    const { text, likelihood } = this.frame
    if (likelihood === 'runs') this.options.doubted(reason, readable(text), kind)
  }

  /** Tells the rules of a command. */
  tell(
    name: string,
    words: readonly Text[],
    { writes, redirected }: Channels,
    { directories }: Scope,
  ): void {
    const { text, likelihood, standsAlone } = this.frame
    const { home, directory: start, saw } = this.options
    const places = { directories, start, home }
    const args = words.slice(1)
    const seen = { name, words, args, writes, redirected, standsAlone, places }
    saw(seen, readable(text), likelihood)
  }

  /** Tells the rules that a script from the network runs. */
  tellFetched(scope: Scope): void {
    this.tell(fetchedScript, [], { stdin: null, writes: [], redirected: false }, scope)
  }

  /** Tells the rules of the files that are opened where no program starts. */
  tellWrites(writes: readonly Text[], scope: Scope): void {
    if (writes.length > 0) {
      this.tell('', [], { stdin: null, writes, redirected: true }, scope)
    }
  }
}
