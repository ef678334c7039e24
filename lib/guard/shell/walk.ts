import type {
  AndOr,
  CommandNode,
  CompoundList,
  Function,
  Pipeline,
  PipelineNode,
  Statement,
} from 'unbash'
import type { Reader } from './reader.ts'
import { unknown } from './marked-text.ts'
import type { Scope } from './scope.ts'
import { expandText } from './word.ts'

type Node = PipelineNode | AndOr | CompoundList | Statement

/** Reads a node of the script; gives what it prints, as far as known. */
export function walk(node: Node, scope: Scope, stdin: string | null, reader: Reader): string {
  switch (node.type) {
    case 'Statement':
      return walk(node.command, node.background ? scope.clone() : scope, stdin, reader)
    case 'CompoundList':
      return walkAll(node.commands, scope, stdin, reader)
    case 'AndOr':
      return walkAndOr(node, scope, stdin, reader)
    case 'Pipeline':
      return walkPipeline(node, scope, stdin, reader)
    case 'Redirected': {
      const streams = reader.redirect(node.redirects, scope, stdin)
      reader.sawWrites(streams.writes, scope)
      return streams.finish(walk(node.command, scope, streams.stdin, reader))
    }
    default:
      return node.type === 'Command'
        ? reader.runCommand(node, scope, stdin)
        : reader.nested(() => walkCompound(node, scope, stdin, reader))
  }
}

function walkCompound(
  node: Exclude<CommandNode, { type: 'Redirected' | 'Command' }>,
  scope: Scope,
  stdin: string | null,
  reader: Reader,
): string {
  const inner = (list: Node, within: Scope): string => walk(list, within, stdin, reader)
  switch (node.type) {
    case 'Subshell':
      return inner(node.body, scope.clone())
    case 'BraceGroup':
      return inner(node.body, scope)
    case 'Coproc':
      return inner(node.body, scope.clone())
    case 'Function':
      return define(node, scope, reader)
    case 'TestCommand':
      reader.visit(node.expression, scope)
      return ''
    case 'ArithmeticCommand':
      if (node.expression) reader.visit(node.expression, scope)
      return ''
    case 'If': {
      const output = inner(node.clause, scope)
      const branches = [(s: Scope) => inner(node.then, s)]
      for (const { clause, then } of node.elif)
        branches.push((s) => inner(clause, s) + inner(then, s))
      const otherwise = node.else
      branches.push((s) => (otherwise ? inner(otherwise, s) : ''))
      return output + branch(scope, branches)
    }
    case 'Case': {
      reader.visit(node.word, scope)
      const branches = node.items.map(({ pattern, body }) => (s: Scope) => {
        for (const word of pattern) reader.visit(word, s)
        return inner(body, s)
      })
      return branch(scope, [...branches, () => ''])
    }
    case 'While':
      return repeat(scope, reader, (s) => inner(node.clause, s) + inner(node.body, s))
    case 'ArithmeticFor':
      for (const part of [node.initialize, node.test, node.update])
        if (part) reader.visit(part, scope)
      return repeat(scope, reader, (s) => inner(node.body, s))
    default: {
      const words = node.wordlist
        ? node.wordlist.flatMap((word) => reader.expand(word, scope).flat())
        : (scope.parameters ?? [unknown])
      return repeat(scope, reader, (s) => {
        // A glob in the list has become a name: it is not expanded again.
        if (words.length > 0) s.assign(node.name.text, words)
        return inner(node.body, s)
      })
    }
  }
}

export function walkAll(
  statements: readonly Statement[],
  scope: Scope,
  stdin: string | null,
  reader: Reader,
): string {
  let output = ''
  for (const statement of statements) output += walk(statement, scope, stdin, reader)
  return output
}

function walkAndOr(node: AndOr, scope: Scope, stdin: string | null, reader: Reader): string {
  const [first, ...rest] = node.commands
  if (!first) return ''
  let output = walk(first, scope, stdin, reader)
  const skipped: Scope[] = []
  for (const command of rest) {
    skipped.push(scope.clone())
    output += walk(command, scope, stdin, reader)
  }
  // What a chain assigns is taken to have happened; `cd x && …` that failed has changed nothing.
  for (const [index, state] of skipped.entries()) {
    if (node.operators[index] === '||') scope.merge(state)
    else scope.mergeVariables(state)
  }
  return output
}

function walkPipeline(node: Pipeline, scope: Scope, stdin: string | null, reader: Reader): string {
  const [only] = node.commands
  if (node.commands.length === 1 && only) return walk(only, scope, stdin, reader)
  let flow = stdin
  return reader.aside(() => {
    for (const command of node.commands) flow = walk(command, scope.clone(), flow, reader)
    return flow ?? ''
  })
}

function branch(scope: Scope, branches: readonly ((scope: Scope) => string)[]): string {
  let output = ''
  const ends = branches.map((read) => {
    const state = scope.clone()
    output += read(state)
    return state
  })
  const [first, ...others] = ends
  if (first) scope.become(first)
  for (const other of others) scope.merge(other)
  return output
}

/** Twice: what one round assigns, the next one uses. */
function repeat(scope: Scope, reader: Reader, body: (scope: Scope) => string): string {
  const before = scope.clone()
  let output = reader.aside(() => body(scope))
  output += reader.again(() => {
    const state = scope.clone()
    const more = reader.aside(() => body(state))
    scope.merge(state)
    return more
  })
  scope.merge(before)
  return output
}

function define(node: Function, scope: Scope, reader: Reader): string {
  const name = expandText(node.name, scope, reader)[0] ?? node.name.text
  scope.functions.set(name, { node, source: reader.source })
  reader.sawFunction(name, node)
  return ''
}
