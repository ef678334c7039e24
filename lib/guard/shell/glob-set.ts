/** The characters of the POSIX classes and of `word`, which bash adds, in the C locale. */
const characterClasses: Readonly<Record<string, string>> = {
  alpha: 'a-zA-Z',
  alnum: 'a-zA-Z0-9',
  blank: ' \t',
  cntrl: '\0-\x1f\x7f',
  digit: '0-9',
  graph: '!-~',
  lower: 'a-z',
  print: ' -~',
  punct: '!-/:-@[-`{-~',
  space: ' \t-\r',
  upper: 'A-Z',
  word: 'a-zA-Z0-9_',
  xdigit: '0-9a-fA-F',
}

/** Where the set of a glob ends that begins at `start` (`[…]`); where it does not end, what stops it. */
export function endOfSet(chars: string, start: number): number {
  let at = start + 1
  if (chars[at] === '!' || chars[at] === '^') at++
  if (chars[at] === ']') at++
  while (at < chars.length && chars[at] !== ']' && chars[at] !== '/') {
    const [characterClass = ''] = chars.startsWith('[:', at)
      ? (/^\[:\w{1,10}:\]/.exec(chars.slice(at, at + 16)) ?? [])
      : []
    at += characterClass.length || 1
  }
  return at
}

/** Whether the set with this text between its brackets holds the character. */
export function inSet(body: string, character: string): boolean {
  const named = body.replace(/\[:(\w+):\]/g, (_, name: string) => characterClasses[name] ?? '')
  for (let index = 0; index < named.length; index++) {
    const first = named.charAt(index)
    if (named[index + 1] === '-' && index + 2 < named.length) {
      if (character >= first && character <= named.charAt(index + 2)) return true
      index += 2
    } else if (first === character) return true
  }
  return false
}
