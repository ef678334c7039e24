/** Options that are off between runs. */
export const suspendedOptions = 'aekvx'

/**
 * The fields of a command as the loop reads them, each ended by NUL: paths of stdin, stdout and
 * stderr, `$?` and `$_` of the run before, the mark of the run (and token of its record), the text.
 */
export function encodeTurn(fields: {
  stdin: string
  stdout: string
  stderr: string
  status: number
  lastArgument: string
  mark: string
  text: string
}): string {
  const { stdin, stdout, stderr, status, lastArgument, mark, text } = fields
  return [stdin, stdout, stderr, status, lastArgument, mark, text, ''].join('\0')
}
