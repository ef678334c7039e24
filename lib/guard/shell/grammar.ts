import type { Command, ParsedScript, Statement, SyntaxNode, Word } from 'unbash'

/** The parser, as far as the guard needs it. */
export interface Grammar {
  /** Null: not in the part of the language that this grammar reads. */
  parse(source: string): ParsedScript | null
  forEachChild(node: SyntaxNode, visit: (child: SyntaxNode) => void): void
}

export async function loadGrammar(): Promise<Grammar> {
  const { parse, forEachChild } = await import('unbash')
  return { parse, forEachChild }
}

const plain = /^[A-Za-z0-9_ ./:,@%+=-]*$/
const reserved = new Set(
  'if then else elif fi for while until do done case esac select function time coproc in'.split(
    ' ',
  ),
)

/**
 * Reads one simple command of characters that mean nothing to a shell: no quote, expansion, glob,
 * operator, comment, newline. Most commands are of that kind, and the real parser need not load.
 */
export const plainGrammar: Grammar = {
  parse(source) {
    if (!plain.test(source)) return null
    const words = [...source.matchAll(/[^ ]+/g)].map(({ 0: text, index }): Word => ({
      type: 'Word',
      text,
      value: text,
      pos: index,
      end: index + text.length,
    }))
    const [name, ...suffix] = words
    if (!name) return wholeScript(source, [])
    if (reserved.has(name.text) || words.some((word) => word.text.includes('=') && word === name)) {
      return null
    }
    const { pos } = name
    const end = words.at(-1)?.end ?? name.end
    const args = suffix
    const command: Command = {
      type: 'Command',
      pos,
      end,
      name,
      prefix: [],
      suffix,
      args,
      redirects: [],
    }
    return wholeScript(source, [{ type: 'Statement', pos, end, background: undefined, command }])
  },
  forEachChild() {
    // A plain word has no parts.
  },
}

function wholeScript(source: string, commands: Statement[]): ParsedScript {
  return { type: 'Script', pos: 0, end: source.length, shebang: undefined, commands }
}

/** Whether a function starts itself at least twice at a time, or in the background of a loop. */
export function isForkBomb(name: string, node: SyntaxNode, grammar: Grammar): boolean {
  let calls = 0
  let isConcurrent = false
  const look = (child: SyntaxNode, isBeside: boolean, isLooped: boolean): void => {
    if (child.type === 'Command' && child.name?.value === name) {
      calls += isBeside && isLooped ? 2 : 1
      isConcurrent ||= isBeside
    }
    const beside =
      isBeside ||
      child.type === 'Pipeline' ||
      (child.type === 'Statement' && child.background === true)
    const looped = isLooped || /^(?:While|For|ArithmeticFor)$/.test(child.type)
    grammar.forEachChild(child, (inner) => look(inner, beside, looped))
  }
  look(node, false, false)
  return isConcurrent && calls > 1
}
