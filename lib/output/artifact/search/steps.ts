/** A piece of a pattern, and whether at least one character stands between it and the next one. */
export interface Step {
  source: string
  isApart: boolean
}

/** An escape, a class of characters, any text of any length, or one character. */
const token = /\\[\s\S]|\[(?:\\[\s\S]|[^\\\]])*\]|\.[*+]\??|[\s\S]/gu
/** Refers back, or looks ahead or behind: what it says of one place depends on others. */
const isTied = /\\[1-9k]|\(\?<?[=!]/

/**
 * The pieces between which a pattern lets any text stand (`a.*b`): it matches where they follow one another in
 * a line, however far apart. None where it is not made of such pieces.
 */
export function stepsOf(pattern: string): Step[] {
  if (isTied.test(pattern)) return []
  const steps: Step[] = []
  let depth = 0
  let source = ''
  for (const [text] of pattern.matchAll(token)) {
    if (text === '|' && depth === 0) return []
    if (text === '(') depth++
    if (text === ')') depth--
    if (depth === 0 && /^\.[*+]/.test(text)) {
      steps.push({ source, isApart: text[1] === '+' })
      source = ''
    } else source += text
  }
  return steps.length === 0 ? [] : [...steps, { source, isApart: false }]
}
