/** Prints rows in columns; the first row is the head. */
export function printTable(title: string, rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  )
  console.log(`\n${title}\n`)
  rows.forEach((row, index) => {
    const cells = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    )
    console.log(`  ${cells.join('   ')}`)
    if (index === 0) console.log(`  ${widths.map((width) => '-'.repeat(width)).join('   ')}`)
  })
}

export const formatMs = (ms: number): string =>
  ms < 10
    ? `${ms.toFixed(2)} ms`
    : ms < 1000
      ? `${ms.toFixed(0)} ms`
      : `${(ms / 1000).toFixed(2)} s`

export const formatMb = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`

export const formatRatio = (ratio: number): string => `${ratio.toFixed(2)} ×`
