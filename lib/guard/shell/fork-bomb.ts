import type { Function, SyntaxNode } from 'unbash'
import type { Grammar } from './grammar.ts'

/** Whether a function starts itself at least twice at a time, or again and again in the background. */
export function isForkBomb(name: string, node: Function, grammar: Grammar): boolean {
  let calls = 0
  let concurrent = false
  let endless = false
  const look = (child: SyntaxNode, sideBySide: boolean, looped: boolean): void => {
    if (child.type === 'Command' && child.name?.value === name) {
      calls++
      if (sideBySide) concurrent = true
      if (sideBySide && looped) endless = true
    }
    const isConcurrent =
      sideBySide ||
      child.type === 'Pipeline' ||
      (child.type === 'Statement' && child.background === true)
    const isLoop =
      looped || child.type === 'While' || child.type === 'For' || child.type === 'ArithmeticFor'
    grammar.forEachChild(child, (inner) => look(inner, isConcurrent, isLoop))
  }
  look(node.body, false, false)
  return endless || (concurrent && calls > 1)
}
