/** A word that every POSIX shell reads back as exactly this text. */
export function quoteWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
