/** Rows of text under a head, in columns as wide as their widest cell; each line is cut at `width`. */
export function renderTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  width = Infinity,
): string {
  const table = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)))
  return table
    .map((row) => {
      const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0))
      return `${cells.join('  ').trimEnd().slice(0, width).trimEnd()}\n`
    })
    .join('')
}
