import { isGlob, spelled } from '../shell/marked-text.ts'

/** Writes a word so that a shell reads it again as the same word, its active globs active. */
export function quote(word: string): string {
  if (/^[\w./:,@%+=-]+$/.test(word)) return word
  if (isGlob(word)) return spelled(word)
  return `'${word.replaceAll("'", "'\\''")}'`
}
