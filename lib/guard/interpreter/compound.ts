import type { CommandNode } from 'unbash'
import type { Scope } from '../shell/scope.ts'
import { empty, Text, unknown } from '../shell/text.ts'
import { expandWord } from '../shell/word.ts'
import type { Node, Reader } from './context.ts'

/** A command that is made of others. */
type Compound = Exclude<CommandNode, { type: 'Redirected' | 'Command' | 'Function' }>

/** Reads every way through a compound command; gives what it prints. */
export function walkCompound(
  node: Compound,
  scope: Scope,
  stdin: Text | null,
  reader: Reader,
): Text {
  const inner = (list: Node, within: Scope): Text => reader.walk(list, within, stdin)
  const both = (first: Node, second: Node, within: Scope): Text =>
    Text.join([inner(first, within), inner(second, within)])
  switch (node.type) {
    case 'Subshell':
    case 'Coproc':
      return inner(node.body, scope.clone())
    case 'BraceGroup':
      return inner(node.body, scope)
    case 'TestCommand':
    case 'ArithmeticCommand':
      if (node.expression) reader.visit(node.expression, scope)
      return empty
    case 'If': {
      const output = inner(node.clause, scope)
      const branches = [(state: Scope) => inner(node.then, state)]
      for (const { clause, then } of node.elif) branches.push((s) => both(clause, then, s))
      const { else: otherwise } = node
      branches.push((state) => (otherwise ? inner(otherwise, state) : empty))
      return Text.join([output, branch(scope, branches)])
    }
    case 'Case': {
      reader.visit(node.word, scope)
      const branches = node.items.map(({ pattern, body }) => (state: Scope) => {
        for (const word of pattern) reader.visit(word, state)
        return inner(body, state)
      })
      return branch(scope, [...branches, () => empty])
    }
    case 'While':
      return repeat(scope, reader, (state) => both(node.clause, node.body, state))
    case 'ArithmeticFor':
      for (const part of [node.initialize, node.test, node.update]) {
        if (part) reader.visit(part, scope)
      }
      return repeat(scope, reader, (state) => inner(node.body, state))
    default: {
      const words = node.wordlist
        ? node.wordlist.flatMap((word) => expandWord(word, scope, reader).flat())
        : (scope.parameters ?? [unknown])
      return repeat(scope, reader, (state) => {
        // A glob in the list has become a name: it is not expanded again.
        if (words.length > 0) state.assign(node.name.text, words)
        return inner(node.body, state)
      })
    }
  }
}

/** Reads each branch in a state of its own; afterwards any of them may be true. */
export function branch(scope: Scope, branches: readonly ((scope: Scope) => Text)[]): Text {
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

/** Reads a body once; whether it ran is not known. */
function repeat(scope: Scope, { context }: Reader, body: (scope: Scope) => Text): Text {
  return context.aside(() => branch(scope, [body, () => empty]))
}
