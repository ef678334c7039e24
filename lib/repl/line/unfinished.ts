import type { SyntaxNode } from 'unbash'

/** Words alone, which is what most commands are: the grammar need not load. */
const plain = /^(?!(?:if|for|while|until|case|select|function)\b)[\w ./:,@%+=-]*$/

/**
 * Whether a command continues on the next line, as its shell would read it: an open quote or bracket, a
 * trailing backslash, a here-document without its end, a loop or condition without its last word. A
 * command with a syntax error is finished: the shell reports it.
 */
export async function isUnfinished(command: string, shell: string): Promise<boolean> {
  if (plain.test(command)) return false
  if (/(?:^|[^\\])(?:\\\\)*\\\n?$/.test(command)) return true
  if (shell === 'fish') return isUnfinishedFish(command)
  const { parse, forEachChild } = await import('unbash')
  // In zsh a brace closes behind any word.
  const text = (shell === 'zsh' ? command.replaceAll(/[ \t]\}/g, '\n}') : command).trimEnd()
  const script = parse(text)
  const errors = script.errors ?? []
  // An empty group is reported where it begins; what is missing at the end comes last.
  const error = errors[0]?.message.startsWith('expected command') ? errors.at(-1) : errors[0]
  if (error) return error.message.startsWith('unterminated') || error.pos >= text.length
  let isOpen = false
  const visit = (node: SyntaxNode) => {
    if (node.type === 'HereDoc' && (node.body?.end ?? text.length) >= text.length) isOpen = true
    forEachChild(node, visit)
  }
  visit(script)
  return isOpen
}

function isUnfinishedFish(command: string): boolean {
  const bare = command.replaceAll(
    /\\[^]|'(?:\\[^]|[^'\\])*'|"(?:\\[^]|[^"\\])*"|(?<=^|\s)#.*/g,
    (found) => (found.startsWith('#') ? '' : 'text'),
  )
  if (/['"]/.test(bare) || /(?:&&|\|\|?)\s*$/.test(bare)) return true
  let depth = 0
  let atCommand = true
  for (const [word] of bare.matchAll(/[^\s;&|()]+|[\n;&|()]/g)) {
    if (word === '(' || (atCommand && /^(?:if|for|while|function|switch|begin)$/.test(word)))
      depth++
    else if (word === ')' || (atCommand && word === 'end')) depth--
    atCommand = /^(?:[\n;&|(]|if|while|and|or|not|begin|else)$/.test(word)
  }
  return depth > 0
}
