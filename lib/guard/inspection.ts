import type {
  Command,
  Function,
  ParsedScript,
  ProcessSubstitutionPart,
  Redirection,
  SyntaxNode,
  Word,
} from 'unbash'
import { Calls } from './calls.ts'
import type { CommandTable } from './commands/commands.ts'
import { type Doubt, Frames, type Listener } from './frames.ts'
import { forkBomb } from './rules/rule.ts'
import { isForkBomb } from './shell/fork-bomb.ts'
import type { Grammar } from './shell/grammar.ts'
import { isKnown, obscured, unknown } from './shell/marked-text.ts'
import { Nesting } from './shell/nesting.ts'
import type { Channels, Reader, Streams } from './shell/reader.ts'
import { readRedirects } from './shell/redirect.ts'
import { Scope } from './shell/scope.ts'
import { readSimpleCommand } from './shell/simple-command.ts'
import { walkAll } from './shell/walk.ts'
import { WrittenFiles } from './shell/written-files.ts'
import { expandWord } from './shell/word.ts'

/** Nested scripts deeper than this are not read: the verdict is `ask`. */
const maxDepth = 8
const maxSubstitutions = 32
/** Compound commands in one another, and wrappers in front of one another. */
const maxNesting = 60
/** In loops deeper than this the body is read once: what one round assigns, the next may miss. */
const maxLoops = 2
const maxOutputLength = 65_536

/** Where bash starts counting down the descriptors of `<(…)`; here they count up. */
const firstFd = 63

const noChannels: Channels = { stdin: null, writes: [], redirected: false }

export interface InspectionOptions extends Listener {
  readonly grammar: Grammar
  readonly table: CommandTable
  readonly home: string
  readonly directory: string
  readonly variables: Readonly<Record<string, string>>
}

/** One reading of one command, from its text to every command that it would start. */
export class Inspection implements Reader {
  /** Set when the grammar at hand could not read a nested script. */
  needsGrammar = false
  private readonly options: InspectionOptions
  private readonly files = new WrittenFiles()
  private readonly consumers = new Map<string, ParsedScript>()
  private readonly delayed: { source: string; scope: Scope }[] = []
  private readonly frames: Frames
  private readonly calls: Calls
  /** The command itself, and the scripts nested in it. */
  private readonly scripts = new Nesting(1 + maxDepth)
  private readonly substitutions = new Nesting(maxSubstitutions)
  private readonly compounds = new Nesting(maxNesting)
  private readonly loops = new Nesting(maxLoops)
  private processFiles = 0

  constructor(options: InspectionOptions) {
    this.options = options
    const { table, directory, home } = options
    this.frames = new Frames(options, { start: directory, home })
    this.calls = new Calls({ table, files: this.files, frames: this.frames, reader: this })
  }

  get source(): string {
    return this.frames.current.source
  }

  inspect(source: string): void {
    const { directory, home, variables } = this.options
    const scope = new Scope([directory])
    scope.assign('HOME', [home])
    for (const [name, value] of Object.entries(variables)) scope.assign(name, [value])
    this.frames.within({ text: source }, () => {
      this.runScript(source, scope, null)
      for (const { source, scope: later } of this.delayed) this.runScript(source, later, null)
      this.calls.readUncalled(scope)
    })
  }

  runScript(source: string, scope: Scope, stdin: string | null): string {
    if (source === unknown || source.trim() === '') return unknown
    const script = this.parse(source)
    if (!script) {
      this.needsGrammar = true
      return unknown
    }
    return this.scripts.enter(
      () => this.frames.within({ source }, () => this.runParsed(script, scope, stdin)),
      () => this.tooDeep('Scripts', maxDepth),
    )
  }

  runParsed(script: ParsedScript, scope: Scope, stdin: string | null): string {
    const [error] = script.errors ?? []
    // With an unknown part in it, a script that is nested here is another one when it runs.
    if (error && isKnown(this.source))
      this.doubt(`The command cannot be parsed (${error.message}).`, 'unparsed')
    const source = script.source ?? this.source
    const output = this.frames.within({ source }, () =>
      walkAll(script.commands, scope, stdin, this),
    )
    return output.length > maxOutputLength ? obscured : output
  }

  runCommand(node: Command, scope: Scope, stdin: string | null): string {
    const text = this.source.slice(node.pos, node.end)
    return this.frames.within({ text }, () => readSimpleCommand(node, scope, stdin, this))
  }

  runWords(words: readonly string[], scope: Scope, stdin: string | null): string {
    return this.nested(() => this.start(words, scope, { ...noChannels, stdin }))
  }

  start(words: readonly string[], scope: Scope, channels: Channels): string {
    return this.calls.start(words, scope, channels)
  }

  nested(read: () => string): string {
    return this.compounds.enter(read, () => this.tooDeep('Commands', maxNesting))
  }

  private tooDeep(what: string, most: number): string {
    this.doubt(`${what} are nested more than ${most} deep.`)
    return unknown
  }

  aside<T>(read: () => T): T {
    return this.frames.within({ standsAlone: false }, read)
  }

  again(read: () => string): string {
    return this.loops.enter(read, () => '')
  }

  doubt(reason: string, kind?: Doubt): void {
    this.frames.doubt(reason, kind)
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
    this.frames.within({ likelihood: 'defined', standsAlone: false }, read)
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
      this.frames.tell({ name: '', words: [], args: [], writes, redirected: true }, scope)
  }

  sawFunction(name: string, node: Function): void {
    const { source } = this
    this.calls.define(node, source)
    if (!isForkBomb(name, node, this.options.grammar)) return
    this.frames.within({ text: source.slice(node.pos, node.end) }, () => this.sawForkBomb())
  }

  sawForkBomb(): void {
    const seen = { name: forkBomb, words: [forkBomb], args: [], writes: [], redirected: false }
    this.frames.tell(seen, new Scope([]))
  }
}
