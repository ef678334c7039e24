import { quoteWord } from '../../../protocol/words.ts'

/** `/cd` as the shell itself would have it, quotes and all. */
export function composeCd(rest: string): string {
  const wanted = rest.trim()
  if (wanted === '') return 'cd'
  const isBare = /^[^\s'"\\$`~*?[]*$/.test(wanted) || wanted === '-' || /^~|["'\\$]/.test(wanted)
  return `cd ${isBare ? wanted : quoteWord(wanted)}`
}
