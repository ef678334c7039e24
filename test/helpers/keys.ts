/** What a terminal sends for keys (xterm, ctlseqs; normal cursor mode). */
export const keys = {
  up: '\u001B[A',
  down: '\u001B[B',
  escape: '\u001B',
  pageDown: '\u001B[6~',
  ctrl: (letter: string) => String.fromCharCode(letter.toUpperCase().charCodeAt(0) & 31),
  paste: (text: string) => `\u001B[200~${text}\u001B[201~`,
}
