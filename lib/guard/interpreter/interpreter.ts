import { forkBomb } from '../rules/rule.ts'
import { isForkBomb } from '../shell/grammar.ts'
import { Scope, type ShellFunction } from '../shell/scope.ts'
import {
  absoluteNames,
  empty,
  obscured,
  Text,
  unknown,
  withoutPlaceholders,
} from '../shell/text.ts'
import { expandText, expandWord } from '../shell/word.ts'
import { branch, walkCompound } from './compound.ts'
import { Context, type InterpreterOptions, type Node, type Reader } from './context.ts'
import { assign, readArguments, redirect, start } from './simple-command.ts'
import type {
  AndOr,
  Command,
  Function,
  ParsedScript,
  Pipeline,
  ProcessSubstitutionPart,
  Statement,
  SyntaxNode,
  Word,
} from 'unbash'

const ofEveryShell: ReadonlyMap<string, readonly Text[]> = new Map([
  ['0', [new Text('bash')]],
  ['SHELL', [new Text('/bin/sh')]],
  ['BASH', [new Text('/bin/bash')]],
  ['IFS', [new Text(' \t\n')]],
])

const maxOutputLength = 65_536
/**
 * How many `$(` a script may have: where none of them ends, the parser takes the square of their number of
 * steps.
 */
const maxOpened = 10_000

/**
 * Reads one command, from its text to every program that it would start, and starts none. It walks
 * the tree of the grammar as a shell would, both ways at every branch, and follows what is constant:
 * variables, directories, functions, files that the command itself writes, what simple programs print.
 * One object reads one command; all that it learns is in it and in the scopes that it hands on.
 */
export class Interpreter implements Reader {
  readonly context: Context
  /** Set when the grammar at hand could not read a nested script. */
  needsGrammar = false
  private readonly options: InterpreterOptions
  /** The texts of the files that the command itself writes, and of `<(…)`, by the path. */
  private readonly files = new Map<string, Text>()
  private processes = 0
  /** The functions that are being read, the innermost last. */
  private readonly callers: Function[] = []
  private readonly delayed: { source: Text; scope: Scope }[] = []

  constructor(options: InterpreterOptions) {
    this.options = options
    this.context = new Context(options)
  }

  /** Reads the command. */
  inspect(command: string): void {
    const { directory, home, variables } = this.options
    const source = Text.parsed(withoutPlaceholders(command))
    const scope = new Scope([new Text(directory)], this.context.effort)
    scope.variables = new Map(ofEveryShell)
    scope.assign('HOME', [new Text(home)])
    for (const name in variables) scope.assign(name, [new Text(variables[name] ?? '')])
    this.context.within({ text: command }, () => {
      this.runScript(source, scope, null)
      for (const { source: script, scope: then } of this.delayed) this.runScript(script, then, null)
    })
  }

  doubt(reason: string): void {
    this.context.doubt(reason, 'unparsed')
  }

  onlyWhatIsCertain(read: () => void): void {
    this.context.within({ likelihood: 'defined', standsAlone: false }, read)
  }

  // Scripts.

  runScript(source: Text, scope: Scope, stdin: Text | null): Text {
    if (source.equals(unknown) || source.chars.trim() === '') return unknown
    if (source.beginsWith('n')) this.context.tellFetched(scope)
    const text = source.source
    if ((text.match(/[$<>]\(/g)?.length ?? 0) > maxOpened) {
      this.context.doubt('It has too many substitutions to read.')
      return unknown
    }
    const script = this.options.grammar.parse(text)
    if (!script) {
      this.needsGrammar = true
      return unknown
    }
    const read = () =>
      this.context.within({ source: text }, () => this.runParsed(script, scope, stdin))
    return this.context.deeper('scripts', read, 'Scripts')
  }

  runParsed(script: ParsedScript, scope: Scope, stdin: Text | null): Text {
    const [error] = script.errors ?? []
    const source = this.context.source
    // With an unknown part in it, a script that is nested here is another one when it runs.
    if (error && Text.parsed(source).isKnown) {
      this.context.doubt(`The command cannot be parsed (${error.message}).`, 'unparsed')
    }
    const read = () => this.walkAll(script.commands, scope, stdin)
    const output = this.context.within({ source: script.source ?? source }, read)
    return output.length > maxOutputLength ? obscured : output
  }

  runWords(words: readonly Text[], scope: Scope, stdin: Text | null): Text {
    const channels = { stdin, writes: [], redirected: false }
    return this.context.deeper('commands', () => start(words, scope, channels, this), 'Commands')
  }

  call({ node, source }: ShellFunction, args: readonly Text[], scope: Scope, stdin: Text | null) {
    if (this.callers.filter((caller) => caller === node).length > 1) return unknown
    this.callers.push(node)
    const before = scope.parameters
    scope.parameters = args
    const frame = { source, standsAlone: false }
    const output = this.context.within(frame, () => this.walk(node.body, scope, stdin))
    scope.parameters = before
    this.callers.pop()
    return output
  }

  later(source: Text, scope: Scope): void {
    this.delayed.push({ source, scope })
  }

  // Files and substitutions.

  write(path: Text, text: Text, scope: Scope): void {
    if (text.length > 0 && !text.equals(unknown)) this.files.set(keyOf(path, scope), text)
  }

  readFile(path: Text, scope: Scope): Text | null {
    return this.files.size === 0 ? null : (this.files.get(keyOf(path, scope)) ?? null)
  }

  substitute(script: ParsedScript | undefined, scope: Scope): Text {
    if (!script) return unknown
    const { context } = this
    const read = () => context.aside(() => this.runParsed(script, scope.clone(), null))
    return context.deeper('substitutions', read, 'Substitutions')
  }

  processFile({ operator, script }: ProcessSubstitutionPart, scope: Scope): Text {
    // bash counts down from here, and these count up.
    const path = new Text(`/dev/fd/${63 + this.processes++}`)
    const output = this.substitute(script, scope)
    if (script && operator === '<') this.write(path, output, scope)
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

  walk(node: Node, scope: Scope, stdin: Text | null): Text {
    if (this.context.effort.isSpent) return unknown
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
        const streams = redirect(node.redirects, scope, stdin, this)
        this.context.tellWrites(streams.writes, scope)
        return streams.finish(this.walk(node.command, scope, streams.stdin))
      }
      case 'Function':
        return this.define(node, scope)
      case 'Command': {
        const text = this.context.source.slice(node.pos, node.end)
        return this.context.within({ text }, () => this.walkCommand(node, scope, stdin))
      }
      default: {
        const read = () => walkCompound(node, scope, stdin, this)
        return this.context.deeper('commands', read, 'Commands')
      }
    }
  }

  private walkAll(statements: readonly Statement[], scope: Scope, stdin: Text | null): Text {
    const outputs: Text[] = []
    for (const statement of statements) {
      if (this.context.effort.isSpent) break
      outputs.push(this.walk(statement, scope, stdin))
    }
    return Text.join(outputs)
  }

  private walkAndOr(node: AndOr, scope: Scope, stdin: Text | null): Text {
    const outputs: Text[] = []
    for (const [index, command] of node.commands.entries()) {
      if (this.context.effort.isSpent) break
      // What a chain assigns is taken to have happened; `cd x && …` that failed has changed nothing.
      const isInstead = node.operators[index - 1] === '||'
      const state = isInstead ? scope.clone() : scope
      outputs.push(this.walk(command, state, stdin))
      if (isInstead) scope.merge(state)
    }
    return Text.join(outputs)
  }

  private walkPipeline(node: Pipeline, scope: Scope, stdin: Text | null): Text {
    const [only] = node.commands
    if (node.commands.length === 1 && only) return this.walk(only, scope, stdin)
    return this.context.aside(() => {
      let flow = stdin
      for (const command of node.commands) flow = this.walk(command, scope.clone(), flow)
      return flow ?? empty
    })
  }

  /** The body counts, whether it is called or not: what in it is certain is told at once. */
  private define(node: Function, scope: Scope): Text {
    const name = expandText(node.name, scope, this)[0]?.chars ?? node.name.text
    scope.functions.set(name, { node, source: this.context.source })
    if (isForkBomb(name, node.body, this.options.grammar)) {
      const text = this.context.source.slice(node.pos, node.end)
      this.context.within({ text }, () => this.runWords([new Text(forkBomb)], scope, null))
    }
    const inner = scope.clone()
    inner.parameters = null
    this.onlyWhatIsCertain(() => this.walk(node.body, inner, null))
    return empty
  }

  private walkCommand(node: Command, outer: Scope, stdin: Text | null): Text {
    const argvs = readArguments(node, outer, this)
    const streams = redirect(node.redirects, outer, stdin, this)
    // What stands in front of a command is assigned for it alone.
    const scope = node.name && node.prefix.length > 0 ? outer.clone() : outer
    for (const part of node.prefix) if (part.type === 'Assignment') assign(part, scope, this)
    if (!node.name) {
      this.context.tellWrites(streams.writes, scope)
      return streams.finish(empty)
    }
    const run = (argv: readonly Text[], state: Scope): Text => start(argv, state, streams, this)
    const [only] = argvs
    const output =
      argvs.length === 1 && only
        ? run(only, scope)
        : branch(
            scope,
            argvs.map((argv) => (state) => Text.join([run(argv, state), '\n'])),
          )
    return streams.finish(output)
  }
}

const keyOf = (path: Text, { directories: [directory = empty] }: Scope): string =>
  Text.join(absoluteNames(path, directory), '/').key
