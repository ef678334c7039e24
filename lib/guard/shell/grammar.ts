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
    const words: Word[] = []
    let pos = 0
    for (const text of source.split(' ')) {
      const end = pos + text.length
      if (text !== '') words.push({ type: 'Word', text, value: text, pos, end })
      pos = end + 1
    }
    const [name, ...suffix] = words
    if (name && (reserved.has(name.text) || name.text.includes('='))) return null
    const where = { pos: name?.pos ?? 0, end: words.at(-1)?.end ?? 0 }
    const command: Command = {
      ...{ type: 'Command', ...where, name, suffix, args: suffix },
      ...{ prefix: [], redirects: [] },
    }
    const statement: Statement = { type: 'Statement', ...where, background: undefined, command }
    const commands = name ? [statement] : []
    return { type: 'Script', pos: 0, end: source.length, shebang: undefined, commands }
  },
  forEachChild() {
    // A plain word has no parts.
  },
}

/** Whether a function starts itself beside itself: in a pipeline, or in the background. */
export function isForkBomb(name: string, node: SyntaxNode, grammar: Grammar): boolean {
  let isBomb = false
  const look = (child: SyntaxNode, isBeside: boolean): void => {
    if (isBeside && child.type === 'Command' && child.name?.value === name) isBomb = true
    const beside =
      child.type === 'Pipeline' || (child.type === 'Statement' && child.background === true)
    grammar.forEachChild(child, (inner) => look(inner, isBeside || beside))
  }
  look(node, false)
  return isBomb
}
