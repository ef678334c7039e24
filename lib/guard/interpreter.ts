import type {
  AndOr,
  Assignment,
  Command,
  CommandNode,
  CompoundList,
  Function,
  ParsedScript,
  Pipeline,
  PipelineNode,
  ProcessSubstitutionPart,
  Redirection,
  Statement,
  SyntaxNode,
  Word,
} from 'unbash'
import type { Shell } from './commands/call.ts'
import type { CommandTable } from './commands/commands.ts'
import { forkBomb, type SeenCommand } from './rules/rule.ts'
import { type Grammar, isForkBomb } from './shell/grammar.ts'
import { Scope, type ShellFunction, type Variable } from './shell/scope.ts'
import {
  absoluteNames,
  baseName,
  empty,
  obscured,
  quote,
  readable,
  Text,
  unknown,
  withoutPlaceholders,
} from './shell/text.ts'
import { expandParts, expandText, expandWord, type WordHost } from './shell/word.ts'

/** How deeply things may lie in one another. What lies deeper is not read: the verdict is `ask`. */
const most = {
  /** The command itself, and eight scripts nested in it. */
  scripts: 9,
  substitutions: 32,
  /** Compound commands in one another, and wrappers in front of one another. */
  commands: 60,
  /** In loops deeper than this the body is read once: what one round assigns, the next may miss. */
  loops: 2,
} as const

/** So many commands are read, and no more: the verdict is `ask`. */
const maxCommands = 5000
/** So many readings of one command are followed one by one. */
const maxReadings = 24
const maxOutputLength = 65_536
/** So many `$(` a script may have. The parser takes the square of their number where none ends. */
const maxOpened = 10_000
/** Where bash starts counting down the descriptors of `<(…)`; here they count up. */
const firstDescriptor = 63

/** What an unknown command name is tried as. */
const likelyNames = ['rm', 'git', 'dd', 'bash', 'sudo'].map((name) => new Text(name))

/** Variables whose value another program runs as a command. */
const commandVariables = new Set(
  `PROMPT_COMMAND GIT_SSH_COMMAND GIT_EXTERNAL_DIFF PAGER GIT_PAGER MANPAGER EDITOR VISUAL GIT_EDITOR
  GIT_SEQUENCE_EDITOR`.split(/\s+/),
)

/** Whether a command runs, is a guess at an unknown name, or stands in a function nobody calls. */
export type Likelihood = 'runs' | 'supposed' | 'defined'

/** Whether the text is none that the grammar reads, or what it does is not to be known. */
export type Doubt = 'unparsed' | 'unknown'

export interface InterpreterOptions {
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

/** Where a command reads and writes. */
interface Channels {
  /** What it reads; null: not from this command. */
  readonly stdin: Text | null
  /** The files that are opened for writing. */
  readonly writes: readonly Text[]
  /** Whether anything is redirected or piped in. */
  readonly redirected: boolean
}

/** What the redirections of a command come to. */
interface Streams extends Channels {
  /** Hands what the command prints to where it goes; gives what is left for the next one. */
  finish(output: Text): Text
}

type Node = PipelineNode | AndOr | CompoundList | Statement
type Compound = Exclude<CommandNode, { type: 'Redirected' | 'Command' }>

/**
 * Reads one command, from its text to every program that it would start, and starts none. It walks
 * the tree of the grammar as a shell would, both ways at every branch, and follows what is constant:
 * variables, directories, functions, files that the command itself writes, what simple programs print.
 * One object reads one command; all that it learns is in it and in the scopes that it hands on.
 */
export class Interpreter implements Shell, WordHost {
  /** Set when the grammar at hand could not read a nested script. */
  needsGrammar = false
  private readonly options: InterpreterOptions
  private frame: Frame = { source: '', text: '', likelihood: 'runs', standsAlone: true }
  private readonly depths = { scripts: 0, substitutions: 0, commands: 0, loops: 0 }
  private commands = 0
  /** What the command itself has written, by the path. */
  private readonly files = new Map<string, Text>()
  /** The scripts of `>(…)`, by the path that stands for each. */
  private readonly consumers = new Map<string, ParsedScript>()
  private processFiles = 0
  private readonly delayed: { source: Text; scope: Scope }[] = []
  private readonly functions = new Map<Function, { source: string; called: boolean }>()
  /** The names of the functions that are being read, the innermost last. */
  private readonly callers: string[] = []

  constructor(options: InterpreterOptions) {
    this.options = options
  }

  /** Reads the command. */
  inspect(command: string): void {
    const { directory, home, variables } = this.options
    const source = Text.parsed(withoutPlaceholders(command))
    const scope = new Scope([new Text(directory)])
    scope.assign('HOME', [new Text(home)])
    for (const [name, value] of Object.entries(variables)) scope.assign(name, [new Text(value)])
    this.within({ text: command }, () => {
      this.runScript(source, scope, null)
      for (const { source: script, scope: then } of this.delayed) this.runScript(script, then, null)
      // The functions that nobody calls, those that they define too.
      for (const [{ body }, { source: own, called }] of this.functions) {
        if (called) continue
        const frame = { source: own, likelihood: 'defined', standsAlone: false } as const
        this.within(frame, () => this.walk(body, scope.clone(), null))
      }
    })
  }

  // What surrounds a node, and what is reported from there.

  private within<T>(changes: Partial<Frame>, read: () => T): T {
    const outer = this.frame
    this.frame = { ...outer, ...changes }
    const result = read()
    this.frame = outer
    return result
  }

  /** Reads one level deeper, unless that is too deep. */
  private deeper(kind: keyof typeof most, read: () => Text, what: string): Text {
    if (this.depths[kind] >= most[kind]) {
      if (what !== '') this.doubt(`${what} are nested too deeply.`)
      return what === '' ? empty : unknown
    }
    this.depths[kind]++
    const result = read()
    this.depths[kind]--
    return result
  }

  /** Reads a part whose commands are not on their own: a pipeline, a loop. */
  private aside(read: () => Text): Text {
    return this.within({ standsAlone: false }, read)
  }

  /** Reports what cannot be known, where it runs: elsewhere it does not matter. */
  doubt(reason: string, kind: Doubt = 'unknown'): void {
    const { text, likelihood } = this.frame
    if (likelihood === 'runs') this.options.doubted(reason, readable(text), kind)
  }

  private tell(
    command: Omit<SeenCommand, 'standsAlone' | 'places' | 'read'>,
    scope: Scope,
    stdin: Text | null = null,
  ): void {
    const { text, likelihood, standsAlone } = this.frame
    const { home, directory: start } = this.options
    const places = { directories: scope.directories, mounts: scope.mounts, start, home }
    const read = (path: Text) => (path.is('-') ? stdin : this.readFile(path, scope))
    this.options.saw({ ...command, standsAlone, places, read }, readable(text), likelihood)
  }

  private tellWrites(writes: readonly Text[], scope: Scope): void {
    if (writes.length === 0) return
    this.tell({ name: '', words: [], args: [], writes, redirected: true }, scope)
  }

  sawForkBomb(): void {
    const seen = { name: forkBomb, words: [], args: [], writes: [], redirected: false }
    this.tell(seen, new Scope([]))
  }

  onlyWhatIsCertain(read: () => void): void {
    this.within({ likelihood: 'defined', standsAlone: false }, read)
  }

  // Scripts.

  runScript(source: Text, scope: Scope, stdin: Text | null): Text {
    if (source.equals(unknown) || source.chars.trim() === '') return unknown
    const text = source.source
    if ((text.match(/[$<>]\(/g)?.length ?? 0) > maxOpened) {
      this.doubt('It has too many substitutions to read.')
      return unknown
    }
    const script = this.options.grammar.parse(text)
    if (!script) {
      this.needsGrammar = true
      return unknown
    }
    const read = () => this.within({ source: text }, () => this.runParsed(script, scope, stdin))
    return this.deeper('scripts', read, 'Scripts')
  }

  private runParsed(script: ParsedScript, scope: Scope, stdin: Text | null): Text {
    const [error] = script.errors ?? []
    const source = this.frame.source
    // With an unknown part in it, a script that is nested here is another one when it runs.
    if (error && Text.parsed(source).isKnown) {
      this.doubt(`The command cannot be parsed (${error.message}).`, 'unparsed')
    }
    const read = () => this.walkAll(script.commands, scope, stdin)
    const output = this.within({ source: script.source ?? source }, read)
    return output.length > maxOutputLength ? obscured : output
  }

  runWords(words: readonly Text[], scope: Scope, stdin: Text | null): Text {
    const channels = { stdin, writes: [], redirected: false }
    return this.deeper('commands', () => this.start(words, scope, channels), 'Commands')
  }

  later(source: Text, scope: Scope): void {
    this.delayed.push({ source, scope })
  }

  // Files and substitutions.

  private keyOf(path: Text, { directories: [directory = empty] }: Scope): string {
    return Text.join(absoluteNames(path, directory), '/').key
  }

  write(path: Text, text: Text, scope: Scope): void {
    const script = this.consumers.get(path.chars)
    if (script) this.runParsed(script, scope.clone(), text)
    else if (text.length > 0 && !text.equals(unknown)) this.files.set(this.keyOf(path, scope), text)
  }

  readFile(path: Text, scope: Scope): Text | null {
    return this.files.get(this.keyOf(path, scope)) ?? null
  }

  substitute(script: ParsedScript | undefined, scope: Scope): Text {
    if (!script) return unknown
    const read = () => this.aside(() => this.runParsed(script, scope.clone(), null))
    return this.deeper('substitutions', read, 'Substitutions')
  }

  processFile({ operator, script }: ProcessSubstitutionPart, scope: Scope): Text {
    const path = new Text(`/dev/fd/${firstDescriptor + this.processFiles++}`)
    if (script) {
      if (operator === '>') this.consumers.set(path.chars, script)
      const output = this.substitute(script, scope)
      if (operator === '<') this.write(path, output, scope)
    }
    return path
  }

  readWord(text: string): Word | null {
    const command = this.options.grammar.parse(`: ${text}`)?.commands[0]?.command
    const word = command?.type === 'Command' ? command.suffix[0] : undefined
    return word?.type === 'Word' ? word : null
  }

  visit(node: SyntaxNode, scope: Scope): void {
    if (node.type === 'Word') expandWord(node, scope, this)
    else if ('script' in node) this.substitute(node.script, scope)
    else this.options.grammar.forEachChild(node, (child) => this.visit(child, scope))
  }

  // The walk. Every method gives what its node prints, as far as known.

  private walk(node: Node, scope: Scope, stdin: Text | null): Text {
    switch (node.type) {
      case 'Statement':
        return this.walk(node.command, node.background ? scope.clone() : scope, stdin)
      case 'CompoundList':
        return this.walkAll(node.commands, scope, stdin)
      case 'AndOr':
        return this.walkAndOr(node, scope, stdin)
      case 'Pipeline':
        return this.walkPipeline(node, scope, stdin)
      case 'Redirected': {
        const streams = this.redirect(node.redirects, scope, stdin)
        this.tellWrites(streams.writes, scope)
        return streams.finish(this.walk(node.command, scope, streams.stdin))
      }
      case 'Command': {
        const text = this.frame.source.slice(node.pos, node.end)
        return this.within({ text }, () => this.walkCommand(node, scope, stdin))
      }
      default:
        return this.deeper('commands', () => this.walkCompound(node, scope, stdin), 'Commands')
    }
  }

  private walkAll(statements: readonly Statement[], scope: Scope, stdin: Text | null): Text {
    const outputs: Text[] = []
    for (const statement of statements) {
      // What follows is in doubt already, and not read.
      if (this.commands > maxCommands) break
      outputs.push(this.walk(statement, scope, stdin))
    }
    return Text.join(outputs)
  }

  private walkAndOr(node: AndOr, scope: Scope, stdin: Text | null): Text {
    const outputs: Text[] = []
    const skipped: Scope[] = []
    for (const [index, command] of node.commands.entries()) {
      if (index > 0) skipped.push(scope.clone())
      outputs.push(this.walk(command, scope, stdin))
    }
    // What a chain assigns is taken to have happened; `cd x && …` that failed has changed nothing.
    for (const [index, state] of skipped.entries()) {
      if (node.operators[index] === '||') scope.merge(state)
      else scope.mergeVariables(state)
    }
    return Text.join(outputs)
  }

  private walkPipeline(node: Pipeline, scope: Scope, stdin: Text | null): Text {
    const [only] = node.commands
    if (node.commands.length === 1 && only) return this.walk(only, scope, stdin)
    return this.aside(() => {
      let flow = stdin
      for (const command of node.commands) flow = this.walk(command, scope.clone(), flow)
      return flow ?? empty
    })
  }

  private walkCompound(node: Compound, scope: Scope, stdin: Text | null): Text {
    const inner = (list: Node, within: Scope): Text => this.walk(list, within, stdin)
    const both = (first: Node, second: Node, within: Scope): Text =>
      Text.join([inner(first, within), inner(second, within)])
    switch (node.type) {
      case 'Subshell':
      case 'Coproc':
        return inner(node.body, scope.clone())
      case 'BraceGroup':
        return inner(node.body, scope)
      case 'Function':
        return this.define(node, scope)
      case 'TestCommand':
      case 'ArithmeticCommand':
        if (node.expression) this.visit(node.expression, scope)
        return empty
      case 'If': {
        const output = inner(node.clause, scope)
        const branches = [(state: Scope) => inner(node.then, state)]
        for (const { clause, then } of node.elif) branches.push((s) => both(clause, then, s))
        const { else: otherwise } = node
        branches.push((state) => (otherwise ? inner(otherwise, state) : empty))
        return Text.join([output, this.branch(scope, branches)])
      }
      case 'Case': {
        this.visit(node.word, scope)
        const branches = node.items.map(({ pattern, body }) => (state: Scope) => {
          for (const word of pattern) this.visit(word, state)
          return inner(body, state)
        })
        return this.branch(scope, [...branches, () => empty])
      }
      case 'While':
        return this.repeat(scope, (state) => both(node.clause, node.body, state))
      case 'ArithmeticFor':
        for (const part of [node.initialize, node.test, node.update]) {
          if (part) this.visit(part, scope)
        }
        return this.repeat(scope, (state) => inner(node.body, state))
      default: {
        const words = node.wordlist
          ? node.wordlist.flatMap((word) => expandWord(word, scope, this).flat())
          : (scope.parameters ?? [unknown])
        return this.repeat(scope, (state) => {
          // A glob in the list has become a name: it is not expanded again.
          if (words.length > 0) state.assign(node.name.text, words)
          return inner(node.body, state)
        })
      }
    }
  }

  private branch(scope: Scope, branches: readonly ((scope: Scope) => Text)[]): Text {
    const outputs: Text[] = []
    const [first, ...others] = branches.map((read) => {
      const state = scope.clone()
      outputs.push(read(state))
      return state
    })
    if (first) scope.become(first)
    for (const other of others) scope.merge(other)
    return Text.join(outputs)
  }

  /** Reads a body twice: what one round assigns, the next one uses. */
  private repeat(scope: Scope, body: (scope: Scope) => Text): Text {
    const before = scope.clone()
    const once = this.aside(() => body(scope))
    const again = () => {
      const state = scope.clone()
      const more = this.aside(() => body(state))
      scope.merge(state)
      return more
    }
    const output = Text.join([once, this.deeper('loops', again, '')])
    scope.merge(before)
    return output
  }

  private define(node: Function, scope: Scope): Text {
    const name = expandText(node.name, scope, this)[0]?.chars ?? node.name.text
    const { source } = this.frame
    scope.functions.set(name, { node, source })
    if (!this.functions.has(node)) this.functions.set(node, { source, called: false })
    if (isForkBomb(name, node, this.options.grammar)) {
      this.within({ text: source.slice(node.pos, node.end) }, () => this.sawForkBomb())
    }
    return empty
  }

  // One simple command: its words, assignments and redirections, then what comes out of them.

  private walkCommand(node: Command, scope: Scope, stdin: Text | null): Text {
    const argvs = this.readArguments(node, scope)
    const streams = this.redirect(node.redirects, scope, stdin)
    const before = new Map<string, Variable | undefined>()
    for (const part of node.prefix) {
      if (part.type !== 'Assignment') continue
      if (node.name) before.set(part.name, scope.variables.get(part.name))
      this.assign(part, scope)
    }
    if (!node.name) {
      this.tellWrites(streams.writes, scope)
      return streams.finish(empty)
    }
    const [only = []] = argvs
    const output =
      argvs.length === 1
        ? this.start(only, scope, streams)
        : this.branch(
            scope,
            argvs.map((argv) => (state) => Text.join([this.start(argv, state, streams), '\n'])),
          )
    for (const [name, value] of before) {
      if (value) scope.variables.set(name, value)
      else scope.variables.delete(name)
    }
    return streams.finish(output)
  }

  private readArguments({ name, suffix }: Command, scope: Scope): Text[][] {
    const expand = (word: Word, position: number): Text[][] =>
      withAbsent(word, position, expandWord(word, scope, this))
    const words = name ? [expand(name, 0)] : []
    for (const part of suffix) {
      if (part.type === 'Word') words.push(expand(part, words.length))
      else if (part.type === 'Assignment') {
        // `export a=1`: the builtin assigns, from its word; only an array cannot be written as one.
        const trial = scope.clone()
        this.assign(part, trial)
        const variable = trial.variables.get(part.name)
        if (variable?.elements) scope.variables.set(part.name, variable)
        else {
          const values = variable?.values ?? []
          words.push(values.map((value) => [Text.join([`${part.name}=`, value])]))
        }
      }
    }
    return combine(words)
  }

  private assign({ name, value, append, index }: Assignment, scope: Scope): void {
    if (index) this.visit(index, scope)
    const old = scope.variables.get(name)
    if (value.type === 'ArrayValue') {
      const elements = value.elements.flatMap((word) => {
        const hasSubscript = /^\[[^\]]*\]=/.test(word.text)
        const fields = expandWord(word, scope, this).flat()
        if (!hasSubscript) return fields
        return fields.map((field) => field.slice(field.chars.indexOf(']=') + 2))
      })
      const before = append ? (old?.elements ?? old?.values ?? []) : []
      scope.assignElements(name, [...before, ...elements])
      return
    }
    const values = expandText(value, scope, this)
    if (index) {
      scope.assignElements(name, [...(old?.elements ?? []), ...values])
      return
    }
    const before = append && old ? old.values : [empty]
    scope.assign(
      name,
      before.flatMap((start) => values.map((text) => Text.join([start, text]))),
    )
    if (commandVariables.has(name)) {
      for (const text of values) this.runScript(text, scope.clone(), null)
    }
  }

  private redirect(redirects: readonly Redirection[], scope: Scope, stdin: Text | null): Streams {
    let input = stdin
    let stdoutGoesAway = false
    const writes: Text[] = []
    const consumers: ProcessSubstitutionPart[] = []
    for (const redirect of redirects) {
      if (redirect.type === 'HereDoc') {
        // bash warns, and reads on to the end of something else than the parser.
        if (!redirect.closing) this.doubt('A here-document in it does not end.')
        const { parts, text } = redirect.body
        input = parts ? expandParts(parts, scope, this) : Text.parsed(text)
        continue
      }
      const { target } = redirect
      if (!target) continue
      if (redirect.type === 'HereString') {
        input = Text.join([Text.join(expandText(target, scope, this), '\n'), '\n'])
        continue
      }
      const consumer = redirect.operator.includes('>') ? consumerOf(target) : null
      if (consumer) {
        consumers.push(consumer)
        continue
      }
      const targets = expandWord(target, scope, this).map((fields) => Text.join(fields, ' '))
      const [first = empty] = targets
      if (redirect.operator.startsWith('<') && redirect.operator !== '<>') {
        if (redirect.operator === '<') input = this.readFile(first, scope)
        continue
      }
      const isDuplicate = redirect.operator === '>&' && first.test(/^[\d-]+$/)
      if (!isDuplicate) writes.push(...targets)
      const { descriptor } = redirect
      const isStdout = descriptor?.type !== 'FileDescriptor' || descriptor.value === 1
      if (isStdout && redirect.operator !== '<>' && !first.is('1')) stdoutGoesAway = true
    }
    return {
      stdin: input,
      writes,
      redirected: redirects.length > 0 || stdin !== null,
      finish: (output) => {
        for (const { script } of consumers) {
          if (script) this.runParsed(script, scope.clone(), output)
        }
        if (stdoutGoesAway) for (const path of writes) this.write(path, output, scope)
        const isPassedOn = !stdoutGoesAway || writes.some((path) => path.is('/dev/stdout'))
        return consumers.length === 0 && isPassedOn ? output : empty
      },
    }
  }

  // What the first word of a command stands for: an alias, a function, a script that the command
  // itself wrote, or a program.

  /** Resolves the name, tells the rules of a program, follows what it is; gives what it prints. */
  private start(words: readonly Text[], scope: Scope, channels: Channels): Text {
    const { table } = this.options
    const [path] = words
    if (path === undefined) {
      this.tellWrites(channels.writes, scope)
      return channels.stdin ?? empty
    }
    if (++this.commands > maxCommands) {
      // Also where a guess has used them up: what follows is not read.
      const reason = 'It starts too many commands to read.'
      this.within({ likelihood: 'runs' }, () => this.doubt(reason))
      return unknown
    }
    const base = baseName(path)
    const { stdin, writes, redirected } = channels
    if (base.isGlob || !base.isKnown) {
      // What it starts is not known, and no rule that lists what is allowed can list it.
      const seen = { name: '', words, args: words.slice(1), writes, redirected }
      this.within({ likelihood: 'supposed' }, () => this.tell(seen, scope, stdin))
    }
    if (base.isGlob) {
      const fitting = table.names.filter((known) => base.matches(known))
      return this.startAs(
        fitting.map((known) => new Text(known)),
        words,
        scope,
        channels,
      )
    }
    if (path.equals(obscured) && words.length === 1) {
      this.doubt('A command comes out of a constant in a way that is not followed.')
      return unknown
    }
    if (!base.isKnown) return this.startUnknown(base, words, scope, channels)
    const name = base.chars
    const args = words.slice(1)
    const alias = scope.aliases.get(path.chars) ?? scope.aliases.get(name)
    if (alias !== undefined) {
      const inner = scope.clone()
      inner.aliases.delete(path.chars)
      inner.aliases.delete(name)
      return this.runScript(Text.join([alias, ...args.map(quote)], ' '), inner, stdin)
    }
    const body = scope.functions.get(path.chars)
    if (body) return this.callFunction(path.chars, body, args, scope, stdin)
    const script = path.includes('/') ? this.readFile(path, scope) : null
    if (script !== null) {
      const inner = scope.clone()
      inner.parameters = args
      return this.runScript(script, inner, stdin)
    }
    this.tell({ name, words, args, writes, redirected }, scope, stdin)
    return table.follow({ name, words, args, scope, stdin, shell: this })
  }

  /** Starts it under each name in turn, since it may be any of them. */
  private startAs(
    names: readonly Text[],
    words: readonly Text[],
    scope: Scope,
    channels: Channels,
  ): Text {
    for (const name of names) this.start([name, ...words.slice(1)], scope.clone(), channels)
    return unknown
  }

  /** Starts it under what is known of the name, or under likely ones: as a guess in both cases. */
  private startUnknown(name: Text, words: readonly Text[], scope: Scope, channels: Channels): Text {
    const rest = name.withUnknownEmpty()
    const names = rest.length === 0 ? likelyNames : [rest]
    const outer = this.frame.likelihood
    const likelihood = outer === 'runs' ? 'supposed' : outer
    return this.within({ likelihood }, () => this.startAs(names, words, scope, channels))
  }

  private callFunction(
    name: string,
    { node, source }: ShellFunction,
    args: readonly Text[],
    scope: Scope,
    stdin: Text | null,
  ): Text {
    const known = this.functions.get(node)
    if (known) known.called = true
    if (this.callers.filter((caller) => caller === name).length > 1) return unknown
    this.callers.push(name)
    const before = scope.parameters
    scope.parameters = args
    const frame = { source, standsAlone: false }
    const output = this.within(frame, () => this.walk(node.body, scope, stdin))
    scope.parameters = before
    this.callers.pop()
    return output
  }
}

function consumerOf(target: Word): ProcessSubstitutionPart | null {
  const part = target.parts?.[0]
  return part?.type === 'ProcessSubstitution' && part.operator === '>' ? part : null
}

/**
 * An unknown value without quotes may be no word at all: `$SUDO rm`, `git $OPTIONS push`. That
 * matters where the next word would then be the command, or the subcommand.
 */
function withAbsent(word: Word, position: number, readings: Text[][]): Text[][] {
  const isQuoted = word.parts?.[0]?.type === 'DoubleQuoted'
  const [fields, ...others] = readings
  const isUnknown = others.length === 0 && fields?.length === 1 && fields[0]?.equals(unknown)
  return isUnknown && !isQuoted && position <= 3 ? [[unknown], []] : readings
}

/** Every argv that the words may turn out to be; above a limit all readings of a word in one. */
function combine(words: readonly Text[][][]): Text[][] {
  const total = words.reduce((product, readings) => product * readings.length, 1)
  let argvs: Text[][] = [[]]
  for (const [index, readings] of words.entries()) {
    const choices = total > maxReadings && index > 0 ? [readings.flat()] : readings
    const [only] = choices
    if (choices.length === 1 && only) {
      // In place: one copy for each word would be quadratic.
      for (const argv of argvs) for (const field of only) argv.push(field)
    } else argvs = argvs.flatMap((argv) => choices.map((fields) => argv.concat(fields)))
  }
  return argvs
}
