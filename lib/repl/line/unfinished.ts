/**
 * Whether a command goes on in the next line, as its shell would read it: an open quote or bracket, a
 * last backslash, a here-document without its end, a loop or condition without its last word. What is
 * merely wrong is finished: the shell says so.
 */
export function isUnfinished(command: string, shell: string): boolean {
  return shell === 'fish' ? isUnfinishedFish(command) : isUnfinishedPosix(command, shell === 'zsh')
}

const opening: Record<string, string> = {
  ...{ if: 'fi', case: 'esac', do: 'done', '{': '}' },
  ...{ for: 'do', select: 'do', while: 'do', until: 'do' },
}
/** Words after which another command begins. */
const starters = new Set(['if', 'then', 'elif', 'else', 'do', 'while', 'until', '!', '{', 'time'])

/** `short`: a loop needs no `do`, and a brace closes behind any word (zsh). */
function isUnfinishedPosix(command: string, short: boolean): boolean {
  const open: string[] = []
  const documents: { end: string; strips: boolean }[] = []
  let atCommand = true
  let at = 0
  while (at < command.length) {
    const char = command[at] ?? ''
    if (char === '\\') {
      if (at + 1 >= command.length || (command[at + 1] === '\n' && at + 2 >= command.length))
        return true
      at += 2
      atCommand = false
    } else if (char === "'" || char === '"' || char === '`') {
      const end = findQuoteEnd(command, at, char, command[at - 1] === '$' && char === "'")
      if (end < 0) return true
      at = end + 1
      atCommand = false
    } else if (char === '#' && (at === 0 || /[\s;&|(]/.test(command[at - 1] ?? ''))) {
      const end = command.indexOf('\n', at)
      at = end < 0 ? command.length : end
    } else if (char === '<' && command[at + 1] === '<') {
      if (command[at + 2] === '<') {
        at += 3
        continue
      }
      const found = /^<<(-?)\s*(?:'([^']*)'|"([^"]*)"|\\?([^\s;&|<>()'"]+))/.exec(command.slice(at))
      if (!found) {
        at += 2
        continue
      }
      documents.push({ end: found[2] ?? found[3] ?? found[4] ?? '', strips: found[1] === '-' })
      at += found[0].length
    } else if (char === '\n') {
      at++
      atCommand = true
      for (const { end, strips } of documents.splice(0)) {
        const rest = command.slice(at).split('\n')
        const last = rest.findIndex((line) => (strips ? line.replace(/^\t+/, '') : line) === end)
        if (last < 0) return true
        at += rest.slice(0, last + 1).join('\n').length
      }
    } else if (char === '$' && command[at + 1] === '{') {
      const end = findBraceEnd(command, at + 2)
      if (end < 0) return true
      at = end + 1
      atCommand = false
    } else if (char === '(' || char === ')') {
      if (char === '(') open.push(')')
      else if (open.at(-1) === ')') open.pop()
      at++
      atCommand = true
    } else if (/[;&|]/.test(char)) {
      at++
      atCommand = true
    } else if (/\s/.test(char)) {
      at++
    } else {
      const word = /^[^\s;&|()<>'"\\`$]+|^./.exec(command.slice(at))?.[0] ?? char
      if (atCommand) {
        const end = opening[word]
        if (open.at(-1) === 'do' && (short || word === 'do')) open.pop()
        if (end !== undefined) open.push(end)
        else if (open.at(-1) === word) open.pop()
        atCommand = starters.has(word) || word === 'in'
      } else if (short && word === '}' && open.at(-1) === word) open.pop()
      at += word.length
    }
  }
  return (
    documents.length > 0 || open.length > 0 || /(?:&&|\|\|?|\(\))\s*$/.test(stripComment(command))
  )
}

function stripComment(command: string): string {
  return command.replace(/(?:^|\s)#[^\n'"]*$/, '')
}

function findBraceEnd(text: string, start: number): number {
  let depth = 1
  for (let at = start; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '{') depth++
    else if (text[at] === '}' && --depth === 0) return at
  }
  return -1
}

function findQuoteEnd(text: string, start: number, quote: string, escapes: boolean): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\' && (quote !== "'" || escapes)) at++
    else if (text[at] === quote) return at
  }
  return -1
}

function isUnfinishedFish(command: string): boolean {
  let depth = 0
  let brackets = 0
  let atCommand = true
  for (let at = 0; at < command.length;) {
    const char = command[at] ?? ''
    if (char === '\\') {
      if (at + 1 >= command.length) return true
      at += 2
    } else if (char === "'" || char === '"') {
      const end = findQuoteEnd(command, at, char, true)
      if (end < 0) return true
      at = end + 1
      atCommand = false
    } else if (char === '#' && (at === 0 || /\s/.test(command[at - 1] ?? ''))) {
      const end = command.indexOf('\n', at)
      at = end < 0 ? command.length : end
    } else if (/[;&|\n(]/.test(char)) {
      if (char === '(') brackets++
      atCommand = true
      at++
    } else if (char === ')') {
      brackets--
      at++
    } else if (/\s/.test(char)) at++
    else {
      const word = /^[^\s;&|()'"\\]+/.exec(command.slice(at))?.[0] ?? char
      if (atCommand) {
        if (/^(?:if|for|while|function|switch|begin)$/.test(word)) depth++
        else if (word === 'end') depth--
        atCommand = /^(?:if|while|and|or|not|begin|else)$/.test(word)
      }
      at += word.length
    }
  }
  return depth > 0 || brackets > 0 || /(?:&&|\|\|?)\s*$/.test(command)
}
