const maxWords = 256

/**
 * Brace expansion over the text of a word, quotes respected, as bash does it before anything else.
 * A word without one comes back alone; null: too many words to list.
 */
export function expandBraces(text: string): string[] | null {
  const done: string[] = []
  const open = [text]
  while (open.length > 0) {
    const word = open.pop() ?? ''
    const expanded = expandFirst(word)
    if (!expanded) done.push(word)
    else open.push(...expanded.reverse())
    if (done.length + open.length > maxWords) return null
  }
  return done
}

function expandFirst(text: string): string[] | null {
  for (let at = 0; at < text.length; at++) {
    const skipped = skipQuoted(text, at)
    if (skipped > at) {
      at = skipped - 1
      continue
    }
    if (text[at] !== '{') continue
    const group = readGroup(text, at)
    if (!group) continue
    const before = text.slice(0, at)
    const after = text.slice(group.end)
    return group.items.map((item) => before + item + after)
  }
  return null
}

const quotation = /\\[^]?|'[^']*'?|`[^`]*`?|\$'(?:\\[^]|[^'\\])*'?|"(?:\\[^]|[^"\\])*"?/y

/** The end of the quotation, escape or expansion that starts here; `at` itself if none does. */
function skipQuoted(text: string, at: number): number {
  const [open, close] = text.startsWith('${', at) ? '{}' : text.startsWith('$(', at) ? '()' : ''
  if (!open) {
    quotation.lastIndex = at
    return at + (quotation.exec(text)?.[0].length ?? 0)
  }
  let depth = 0
  for (let index = at + 1; index < text.length; index++) {
    if (text[index] === open) depth++
    else if (text[index] === close && --depth === 0) return index + 1
  }
  return text.length
}

function readGroup(text: string, at: number): { items: string[]; end: number } | null {
  const items: string[] = []
  let depth = 0
  let start = at + 1
  for (let index = at; index < text.length; index++) {
    const skipped = skipQuoted(text, index)
    if (skipped > index) {
      index = skipped - 1
      continue
    }
    const character = text[index]
    if (character === '{') depth++
    else if (character === ',' && depth === 1) {
      items.push(text.slice(start, index))
      start = index + 1
    } else if (character === '}' && --depth === 0) {
      items.push(text.slice(start, index))
      if (items.length > 1) return { items, end: index + 1 }
      const sequence = expandSequence(items[0] ?? '')
      return sequence && { items: sequence, end: index + 1 }
    }
  }
  return null
}

function expandSequence(body: string): string[] | null {
  const [, from, to, step] =
    /^(-?\d{1,9}|[A-Za-z])\.\.(-?\d{1,9}|[A-Za-z])(?:\.\.(-?\d{1,9}))?$/.exec(body) ?? []
  if (from === undefined || to === undefined) return null
  const letters = /[A-Za-z]/.test(from)
  if (letters !== /[A-Za-z]/.test(to)) return null
  const first = letters ? from.charCodeAt(0) : Number(from)
  const last = letters ? to.charCodeAt(0) : Number(to)
  const width = Math.abs(Number(step ?? 1)) || 1
  const items: string[] = []
  for (let index = 0; index <= Math.abs(last - first) && items.length <= maxWords; index += width) {
    const value = first + (last < first ? -index : index)
    items.push(letters ? String.fromCharCode(value) : String(value))
  }
  return items
}
