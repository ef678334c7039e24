import type { SyntaxNode } from 'unbash'
import type { Style } from '../screen/text.ts'

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
/** One thing of a line after the other: a comment, a text, a variable, an operator, an option, a word. */
const token =
  /(?<comment>(?:^|(?<=\s))#.*$)|(?<text>'[^']*'?|"(?:\\.|[^"\\])*"?)|(?<variable>\$(?:\w+|\{[^}]*\}?|[?!$#@*]))|(?<operator>[|&;<>()]+)|(?<option>(?<=\s)--?[\w-]+)|(?<word>[^\s|&;<>()'"$]+)|\s+|./g
/** Words that are followed by a command. */
const prefixes = new Set(['sudo', 'then', 'do', 'else', 'if', 'while', 'until', 'time', 'env', '!'])

/** Colours one line of a command. */
export function highlight(line: string, style: Style): string {
  let atCommand = true
  let painted = ''
  for (const { 0: text, groups = {} } of line.matchAll(token)) {
    if (groups['comment'] !== undefined) painted += style.dim(text)
    else if (groups['text'] !== undefined) painted += style.yellow(text)
    else if (groups['variable'] !== undefined) painted += style.cyan(text)
    else if (groups['operator'] !== undefined) {
      painted += text
      atCommand = !/[<>]/.test(text)
    } else if (groups['word'] !== undefined) {
      const isAssignment = /^\w+=/.test(text)
      painted += atCommand && !isAssignment ? style.bold(text) : text
      atCommand = atCommand && (isAssignment || prefixes.has(text))
    } else painted += groups['option'] === undefined ? text : style.cyan(text)
  }
  return painted
}
