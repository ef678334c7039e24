import type { Style } from '../screen/text.ts'

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
