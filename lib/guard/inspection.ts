import type {
  Command,
  Function,
  ParsedScript,
  ProcessSubstitutionPart,
  Redirection,
  SyntaxNode,
  Word,
} from 'unbash'
import type { CommandTable } from './commands/commands.ts'
import { quote } from './commands/quote.ts'
import { forkBomb, type SeenCommand } from './rules/rule.ts'
import { isForkBomb } from './shell/fork-bomb.ts'
import type { Grammar } from './shell/grammar.ts'
import {
  isGlob,
  isKnown,
  matchesGlob,
  obscured,
  unknown,
  withUnknownEmpty,
} from './shell/marked-text.ts'
import { Nesting } from './shell/nesting.ts'
import { baseName } from './shell/path.ts'
import type { Channels, Reader, Streams } from './shell/reader.ts'
import { readRedirects } from './shell/redirect.ts'
import { Scope } from './shell/scope.ts'
import { readSimpleCommand } from './shell/simple-command.ts'
import { walk, walkAll } from './shell/walk.ts'
import { WrittenFiles } from './shell/written-files.ts'
import { expandWord } from './shell/word.ts'

/** Nested scripts deeper than this are not read: the verdict is `ask`. */
const maxDepth = 8
const maxSubstitutions = 32
/** Compound commands in one another, and wrappers in front of one another. */
const maxNesting = 60
/** In loops deeper than this the body is read once: what one round assigns, the next may miss. */
const maxLoops = 2
/** So many commands are read, and no more: the verdict is `ask`. */
const maxCommands = 5000
const maxOutputLength = 65_536

/** What an unknown command name is tried as. */
const likelyNames = ['rm', 'git', 'dd', 'bash', 'sudo']

/** Where bash starts counting down the descriptors of `<(…)`; here they count up. */
const firstFd = 63

const noChannels: Channels = { stdin: null, writes: [], redirected: false }

/** Whether a command runs, is a guess at an unknown name, or stands in a function nobody calls. */
export type Likelihood = 'runs' | 'supposed' | 'defined'

/** Whether the text is none that the grammar reads, or what it does is not to be known. */
export type Doubt = 'unparsed' | 'unknown'

export interface InspectionOptions {
  readonly grammar: Grammar
  readonly table: CommandTable
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

/** One reading of one command, from its text to every command that it would start. */
export class Inspection implements Reader {
  /** Set when the grammar at hand could not read a nested script. */
  needsGrammar = false
  private readonly options: InspectionOptions
  private readonly files = new WrittenFiles()
  private readonly consumers = new Map<string, ParsedScript>()
  private readonly delayed: { source: string; scope: Scope }[] = []
  private readonly functions = new Map<Function, { source: string; called: boolean }>()
  private readonly callStack: string[] = []
  private frame: Frame = { source: '', text: '', likelihood: 'runs', standsAlone: true }
  /** The command itself, and the scripts nested in it. */
  private readonly scripts = new Nesting(1 + maxDepth)
  private readonly substitutions = new Nesting(maxSubstitutions)
  private readonly compounds = new Nesting(maxNesting)
  private readonly loops = new Nesting(maxLoops)
  private processFiles = 0
  private commands = 0

  constructor(options: InspectionOptions) {
    this.options = options
  }

  get source(): string {
    return this.frame.source
  }

  inspect(source: string): void {
    const { directory, home, variables } = this.options
    const scope = new Scope([directory])
    scope.assign('HOME', [home])
    for (const [name, value] of Object.entries(variables)) scope.assign(name, [value])
    this.frame = { ...this.frame, text: source }
    this.runScript(source, scope, null)
    for (const { source, scope: later } of this.delayed) this.runScript(source, later, null)
    for (const [node, { source, called }] of this.functions) {
      if (called) continue
      const frame = { source, likelihood: 'defined', standsAlone: false } as const
      this.within(frame, () => walk(node.body, scope.clone(), null, this))
    }
  }

  runScript(source: string, scope: Scope, stdin: string | null): string {
    if (source === unknown || source.trim() === '') return unknown
    const script = this.parse(source)
    if (!script) {
      this.needsGrammar = true
      return unknown
    }
    return this.scripts.enter(
      () => this.within({ source }, () => this.runParsed(script, scope, stdin)),
      () => this.tooDeep('Scripts', maxDepth),
    )
  }

  runParsed(script: ParsedScript, scope: Scope, stdin: string | null): string {
    const [error] = script.errors ?? []
    // With an unknown part in it, a script that is nested here is another one when it runs.
    if (error && isKnown(this.frame.source))
      this.doubt(`The command cannot be parsed (${error.message}).`, 'unparsed')
    const source = script.source ?? this.frame.source
    const output = this.within({ source }, () => walkAll(script.commands, scope, stdin, this))
    return output.length > maxOutputLength ? obscured : output
  }

  runCommand(node: Command, scope: Scope, stdin: string | null): string {
    const text = this.frame.source.slice(node.pos, node.end)
    return this.within({ text }, () => readSimpleCommand(node, scope, stdin, this))
  }

  runWords(words: readonly string[], scope: Scope, stdin: string | null): string {
    return this.nested(() => this.start(words, scope, { ...noChannels, stdin }))
  }

  start(words: readonly string[], scope: Scope, channels: Channels): string {
    const [path] = words
    if (path === undefined) {
      this.sawWrites(channels.writes, scope)
      return channels.stdin ?? ''
    }
    if (++this.commands > maxCommands) {
      // Also where a guess has used them up: what follows is not read.
      this.options.doubted('It starts too many commands to read.', this.frame.text, 'unknown')
      return unknown
    }
    const name = baseName(path)
    if (isGlob(name)) {
      const fitting = this.options.table.names.filter((known) => matchesGlob(name, known))
      return this.startAs(fitting, words, scope, channels)
    }
    if (path === obscured && words.length === 1) {
      this.doubt('A command comes out of a constant in a way that is not followed.')
      return unknown
    }
    if (!isKnown(name)) {
      const rest = withUnknownEmpty(name)
      const likelihood = this.frame.likelihood === 'runs' ? 'supposed' : this.frame.likelihood
      return this.within({ likelihood }, () =>
        this.startAs(rest === '' ? likelyNames : [rest], words, scope, channels),
      )
    }
    const alias = scope.aliases.get(path) ?? scope.aliases.get(name)
    if (alias !== undefined) return this.startAlias(alias, words, scope, channels)
    const body = scope.functions.get(path)
    if (body)
      return this.callFunction(path, body.node, body.source, words.slice(1), scope, channels.stdin)
    const script = path.includes('/') ? this.files.read(path, scope) : null
    if (script !== null) {
      const inner = scope.clone()
      inner.parameters = words.slice(1)
      return this.runScript(script, inner, channels.stdin)
    }
    const { writes, redirected } = channels
    this.tell({ name, words, args: words.slice(1), writes, redirected }, scope)
    return this.options.table.follow({
      name,
      words,
      scope,
      stdin: channels.stdin,
      interpreter: this,
    })
  }

  /** Under each name in turn, since it may be any of them. */
  private startAs(
    names: readonly string[],
    words: readonly string[],
    scope: Scope,
    channels: Channels,
  ): string {
    for (const name of names) this.start([name, ...words.slice(1)], scope.clone(), channels)
    return unknown
  }

  private startAlias(
    alias: string,
    words: readonly string[],
    scope: Scope,
    { stdin }: Channels,
  ): string {
    const inner = scope.clone()
    const [path = '', ...args] = words
    inner.aliases.delete(path)
    inner.aliases.delete(baseName(path))
    return this.runScript([alias, ...args.map(quote)].join(' '), inner, stdin)
  }

  private callFunction(
    name: string,
    node: Function,
    source: string,
    args: readonly string[],
    scope: Scope,
    stdin: string | null,
  ): string {
    const known = this.functions.get(node)
    if (known) known.called = true
    if (this.callStack.filter((caller) => caller === name).length > 1) return unknown
    this.callStack.push(name)
    const before = scope.parameters
    scope.parameters = args
    const frame = { source, standsAlone: false }
    const output = this.within(frame, () => walk(node.body, scope, stdin, this))
    scope.parameters = before
    this.callStack.pop()
    return output
  }

  private within<T>(changes: Partial<Frame>, read: () => T): T {
    const outer = this.frame
    this.frame = { ...outer, ...changes }
    const result = read()
    this.frame = outer
    return result
  }

  nested(read: () => string): string {
    return this.compounds.enter(read, () => this.tooDeep('Commands', maxNesting))
  }

  private tooDeep(what: string, most: number): string {
    this.doubt(`${what} are nested more than ${most} deep.`)
    return unknown
  }

  aside<T>(read: () => T): T {
    return this.within({ standsAlone: false }, read)
  }

  again(read: () => string): string {
    return this.loops.enter(read, () => '')
  }

  doubt(reason: string, kind: Doubt = 'unknown'): void {
    const { text, likelihood } = this.frame
    if (likelihood === 'runs') this.options.doubted(reason, text, kind)
  }

  private tell(command: Omit<SeenCommand, 'standsAlone' | 'places'>, scope: Scope): void {
    const { directory: start, home } = this.options
    const { text, likelihood, standsAlone } = this.frame
    const places = { directories: scope.directories, start, home }
    this.options.saw({ ...command, standsAlone, places }, text, likelihood)
  }

  later(source: string, scope: Scope): void {
    this.delayed.push({ source, scope })
  }

  write(path: string, text: string, scope: Scope): void {
    const script = this.consumers.get(path)
    if (script) this.runParsed(script, scope.clone(), text)
    else this.files.write(path, text, scope)
  }

  readFile(path: string, scope: Scope): string | null {
    return this.files.read(path, scope)
  }

  onlyWhatIsCertain(read: () => void): void {
    this.within({ likelihood: 'defined', standsAlone: false }, read)
  }

  private parse(source: string): ParsedScript | null {
    return this.options.grammar.parse(source)
  }

  readWord(text: string): Word | null {
    const command = this.parse(`: ${text}`)?.commands[0]?.command
    const word = command?.type === 'Command' ? command.suffix[0] : undefined
    return word?.type === 'Word' ? word : null
  }

  expand(word: Word, scope: Scope): string[][] {
    return expandWord(word, scope, this)
  }

  substitute(script: ParsedScript | undefined, scope: Scope): string {
    if (!script) return unknown
    return this.substitutions.enter(
      () => this.aside(() => this.runParsed(script, scope.clone(), null)),
      () => this.tooDeep('Substitutions', maxSubstitutions),
    )
  }

  processFile(part: ProcessSubstitutionPart, scope: Scope): string {
    const path = `/dev/fd/${firstFd + this.processFiles++}`
    if (!part.script) return path
    if (part.operator === '<') this.files.write(path, this.substitute(part.script, scope), scope)
    else {
      this.consumers.set(path, part.script)
      this.substitute(part.script, scope)
    }
    return path
  }

  visit(node: SyntaxNode, scope: Scope): void {
    if (node.type === 'Word') expandWord(node, scope, this)
    else if ('script' in node) this.substitute(node.script, scope)
    else this.options.grammar.forEachChild(node, (child) => this.visit(child, scope))
  }

  redirect(redirects: readonly Redirection[], scope: Scope, stdin: string | null): Streams {
    return readRedirects(redirects, scope, stdin, this)
  }

  sawWrites(writes: readonly string[], scope: Scope): void {
    if (writes.length > 0)
      this.tell({ name: '', words: [], args: [], writes, redirected: true }, scope)
  }

  sawFunction(name: string, node: Function): void {
    const { source } = this.frame
    if (!this.functions.has(node)) this.functions.set(node, { source, called: false })
    if (!isForkBomb(name, node, this.options.grammar)) return
    this.within({ text: source.slice(node.pos, node.end) }, () => this.sawForkBomb())
  }

  sawForkBomb(): void {
    const seen = { name: forkBomb, words: [forkBomb], args: [], writes: [], redirected: false }
    this.tell(seen, new Scope([]))
  }
}
