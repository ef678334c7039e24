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
import type { SeenCommand } from './rules/rule.ts'
import { assign } from './shell/assign.ts'
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
import type { Reader, Streams } from './shell/reader.ts'
import { readRedirects } from './shell/redirect.ts'
import { Scope } from './shell/scope.ts'
import { walk, walkAll } from './shell/walk.ts'
import { expandWord } from './shell/word.ts'

/** Nested scripts deeper than this are not read: the verdict is `ask`. */
const maxDepth = 8
const maxSubstitutions = 32
/** So many commands are read, and no more: the verdict is `ask`. */
const maxCommands = 10_000
const maxText = 16_384
const maxArgv = 24

/** What an unknown command name is tried as. */
const likelyNames = ['rm', 'git', 'dd', 'bash', 'sudo']

/** Whether a command runs, is a guess at an unknown name, or stands in a function nobody calls. */
export type Likelihood = 'runs' | 'supposed' | 'defined'

export interface InspectionOptions {
  readonly grammar: Grammar
  readonly table: CommandTable
  readonly home: string
  readonly directory: string
  readonly variables: Readonly<Record<string, string>>
  /** Hears of every command, with the part of the text that it stands in. */
  readonly saw: (command: SeenCommand, text: string, likelihood: Likelihood) => void
  /** Hears of what cannot be known and matters. */
  readonly doubted: (reason: string, text: string) => void
}

/** One reading of one command, from its text to every command that it would start. */
export class Inspection implements Reader {
  source = ''
  /** Set when the grammar at hand could not read a nested script. */
  needsGrammar = false
  readonly files = new Map<string, string>()
  private readonly options: InspectionOptions
  private readonly consumers = new Map<string, ParsedScript>()
  private readonly delayed: { source: string; scope: Scope }[] = []
  private readonly functions = new Map<Function, { source: string; called: boolean }>()
  private readonly callStack: string[] = []
  private text = ''
  private depth = 0
  private substitutions = 0
  private commands = 0
  private loops = 0
  private likelihood: Likelihood = 'runs'
  private standsAlone = true

  constructor(options: InspectionOptions) {
    this.options = options
  }

  inspect(source: string): void {
    const { directory, home, variables } = this.options
    const scope = new Scope([directory])
    scope.assign('HOME', [home])
    for (const [name, value] of Object.entries(variables)) scope.assign(name, [value])
    this.text = source
    this.runScript(source, scope, null)
    for (const { source, scope: later } of this.delayed) this.runScript(source, later, null)
    this.likelihood = 'defined'
    for (const [node, { source, called }] of this.functions) {
      if (called) continue
      this.within(source, () => walk(node.body, scope.clone(), null, this))
    }
  }

  runScript(source: string, scope: Scope, stdin: string | null): string {
    if (source === unknown || source.trim() === '') return unknown
    if (source.includes(obscured)) {
      this.doubt(
        'A shell is fed a constant that went through a program which the guard does not follow.',
      )
    }
    if (this.depth > maxDepth) {
      this.doubt(`Scripts are nested more than ${maxDepth} deep.`)
      return unknown
    }
    const script = this.parse(source)
    if (!script) {
      this.needsGrammar = true
      return unknown
    }
    this.depth++
    const output = this.within(source, () => this.runParsed(script, scope, stdin))
    this.depth--
    return output
  }

  runParsed(script: ParsedScript, scope: Scope, stdin: string | null): string {
    const [error] = script.errors ?? []
    if (error) this.doubt(`The command cannot be parsed (${error.message}).`)
    const read = (): string => walkAll(script.commands, scope, stdin, this)
    const output = script.source === undefined ? read() : this.within(script.source, read)
    return output.length > maxText ? unknown : output
  }

  runCommand(node: Command, scope: Scope, stdin: string | null): string {
    const outer = this.text
    this.text = this.source.slice(node.pos, node.end)
    const output = this.runNamed(node, scope, stdin)
    this.text = outer
    return output
  }

  private runNamed(node: Command, scope: Scope, stdin: string | null): string {
    const { name, prefix, suffix } = node
    const words: string[][][] = []
    if (name) words.push(this.expand(name, scope))
    for (const part of suffix) {
      if (part.type === 'Word') words.push(this.expand(part, scope))
      else if (part.type === 'Assignment') {
        const declared = scope.clone()
        assign(part, declared, this)
        const values = declared.variables.get(part.name)
        if (values?.elements) scope.variables.set(part.name, values)
        words.push((values?.values ?? []).map((value) => [`${part.name}=${value}`]))
      }
    }
    const streams = this.redirect(node.redirects, scope, stdin)
    const before = new Map<string, ReturnType<typeof scope.variables.get>>()
    for (const part of prefix) {
      if (part.type !== 'Assignment') continue
      if (name) before.set(part.name, scope.variables.get(part.name))
      assign(part, scope, this)
    }
    const argvs = combine(words)
    const alone = this.standsAlone
    if (node.redirects.length > 0 || stdin !== null) this.standsAlone = false
    if (!name) this.sawWrites(streams.writes, scope)
    let output = ''
    if (name) output = this.runEach(argvs, scope, streams)
    this.standsAlone = alone
    for (const [key, value] of before) {
      if (value) scope.variables.set(key, value)
      else scope.variables.delete(key)
    }
    return streams.finish(output)
  }

  private runEach(argvs: readonly string[][], scope: Scope, { stdin, writes }: Streams): string {
    const [first = []] = argvs
    if (argvs.length <= 1) return this.start(first, scope, stdin, writes)
    let output = ''
    const ends = argvs.map((argv) => {
      const state = scope.clone()
      output += `${this.start(argv, state, stdin, writes)}\n`
      return state
    })
    scope.become(ends[0] ?? scope)
    for (const end of ends.slice(1)) scope.merge(end)
    return output
  }

  runWords(words: readonly string[], scope: Scope, stdin: string | null): string {
    return this.start(words, scope, stdin, [])
  }

  private start(
    words: readonly string[],
    scope: Scope,
    stdin: string | null,
    writes: readonly string[],
  ): string {
    const [path = ''] = words
    if (words.length === 0) {
      this.sawWrites(writes, scope)
      return stdin ?? ''
    }
    if (++this.commands > maxCommands) {
      if (this.commands === maxCommands + 1)
        this.doubt('It starts too many commands to read them all.')
      return unknown
    }
    const name = path.slice(path.lastIndexOf('/') + 1)
    if (isGlob(name))
      return this.guess(
        words,
        this.options.table.names.filter((known) => matchesGlob(name, known)),
        scope,
        stdin,
        writes,
      )
    if (!isKnown(name)) {
      const rest = withUnknownEmpty(name)
      this.suppose(() =>
        this.guess(words, rest === '' ? likelyNames : [rest], scope, stdin, writes),
      )
      return unknown
    }
    const alias = scope.aliases.get(path) ?? scope.aliases.get(name)
    if (alias !== undefined && this.callStack.length < maxDepth) {
      this.callStack.push(name)
      const inner = scope.clone()
      inner.aliases.delete(path)
      inner.aliases.delete(name)
      const output = this.runScript([alias, ...words.slice(1).map(quote)].join(' '), inner, stdin)
      this.callStack.pop()
      return output
    }
    const body = scope.functions.get(path)
    if (body) return this.call(path, body.node, body.source, words.slice(1), scope, stdin)
    this.tell({
      name,
      words,
      args: words.slice(1),
      writes,
      standsAlone: this.standsAlone,
      places: this.places(scope),
    })
    return this.options.table.follow({ name, words, scope, stdin, interpreter: this })
  }

  private guess(
    words: readonly string[],
    names: readonly string[],
    scope: Scope,
    stdin: string | null,
    writes: readonly string[],
  ): string {
    let output = ''
    for (const name of names)
      output += this.start([name, ...words.slice(1)], scope.clone(), stdin, writes)
    return names.length === 0 ? unknown : output
  }

  private call(
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
    const output = this.within(source, () => walk(node.body, scope, stdin, this))
    scope.parameters = before
    this.callStack.pop()
    return output
  }

  private suppose(read: () => void): void {
    const outer = this.likelihood
    if (outer === 'runs') this.likelihood = 'supposed'
    read()
    this.likelihood = outer
  }

  private within<T>(source: string, read: () => T): T {
    const outer = this.source
    this.source = source
    const result = read()
    this.source = outer
    return result
  }

  private doubt(reason: string): void {
    if (this.likelihood !== 'defined') this.options.doubted(reason, this.text)
  }

  private tell(command: SeenCommand): void {
    this.options.saw(command, this.text, this.likelihood)
  }

  private places(scope: Scope): SeenCommand['places'] {
    const { directory: start, home } = this.options
    return { directories: scope.directories, start, home }
  }

  later(source: string, scope: Scope): void {
    this.delayed.push({ source, scope })
  }

  feed(path: string, text: string, scope: Scope): void {
    const script = this.consumers.get(path)
    if (script) this.runParsed(script, scope.clone(), text)
  }

  parse(source: string): ParsedScript | null {
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
    if (this.substitutions >= maxSubstitutions) {
      this.doubt(`Substitutions are nested more than ${maxSubstitutions} deep.`)
      return unknown
    }
    this.substitutions++
    const output = this.runParsed(script, scope.clone(), null)
    this.substitutions--
    return output
  }

  processFile(part: ProcessSubstitutionPart, scope: Scope): string {
    const path = `/dev/fd/${63 + this.files.size + this.consumers.size}`
    if (!part.script) return path
    if (part.operator === '<') this.files.set(path, this.substitute(part.script, scope))
    else this.consumers.set(path, part.script)
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
    if (writes.length === 0) return
    this.tell({
      name: '',
      words: [],
      args: [],
      writes,
      standsAlone: false,
      places: this.places(scope),
    })
  }

  sawFunction(name: string, node: Function): void {
    if (!this.functions.has(node)) this.functions.set(node, { source: this.source, called: false })
    if (!isForkBomb(name, node, this.options.grammar)) return
    const outer = this.text
    this.text = this.source.slice(node.pos, node.end)
    const words = [forkBombName]
    this.tell({
      name: forkBombName,
      words,
      args: [],
      writes: [],
      standsAlone: true,
      places: this.places(new Scope([])),
    })
    this.text = outer
  }

  enterLoop(): boolean {
    return ++this.loops <= 2
  }

  leaveLoop(): void {
    this.loops--
  }
}

const forkBombName = ':(){ :|:& };:'

/** Every argv that the words may turn out to be; above a limit all readings of a word in one. */
function combine(words: readonly string[][][]): string[][] {
  const total = words.reduce((product, readings) => product * readings.length, 1)
  let argvs: string[][] = [[]]
  for (const [index, readings] of words.entries()) {
    const isFlat = total > maxArgv && index > 0
    const choices = isFlat ? [readings.flat()] : readings
    argvs = argvs.flatMap((argv) => choices.map((fields) => [...argv, ...fields]))
  }
  return argvs
}
