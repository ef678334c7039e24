const maxWords = 256
/** Each group costs a reading of the whole word. */
const maxGroups = 4096

/** A quotation, an escape or an expansion: no brace in it is one of the word's. */
const quotation =
  /\\[^]|\$'(?:\\[^]|[^'\\])*'|'[^']*'|`[^`]*`|"(?:\\[^]|[^"\\])*"|\$\{[^{}]*\}|\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/g

/**
 * Brace expansion over the text of a word, quotes respected, as bash does it before anything else, but each
 * word once. A word without one comes back alone; null: too many words or groups to list.
 */
export function expandBraces(text: string): string[] | null {
  if (!text.includes('{')) return [text]
  const hidden: string[] = []
  const hide = (part: string): string => `\0${hidden.push(part) - 1}\0`
  const reveal = (word: string): string =>
    word.replace(/\0(\d+)\0/g, (_, index) => reveal(hidden[Number(index)] ?? ''))
  const open = [text.replaceAll(quotation, hide)]
  const done: string[] = []
  let groups = 0
  for (let word = open.pop(); word !== undefined; word = open.pop()) {
    const own = word
    // The innermost group: what it gives is then part of the one around it.
    const [group, body = ''] = /\{([^{}]*)\}/.exec(own) ?? []
    if (group === undefined) {
      done.push(reveal(own))
      continue
    }
    const items = body.includes(',') ? body.split(',') : expandSequence(body)
    for (const item of items?.toReversed() ?? [hide(group)]) {
      open.push(own.replace(group, () => item))
    }
    if (done.length + open.length > maxWords || ++groups > maxGroups) return null
  }
  return [...new Set(done)]
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
