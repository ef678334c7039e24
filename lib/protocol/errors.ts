/** Misuse: the caller asked for something that cannot be meant. Everything a command does is a result. */
export class MisuseError extends Error {
  override readonly name = 'MisuseError'
  /** For programs: `invalid_field`, `unknown_field`, `empty_command`, `not_found`, … */
  readonly code: string
  /** The field at fault, as it is written on the wire. */
  readonly field: string | null

  /** `message` is for people: one sentence that says what to do. */
  constructor(code: string, message: string, field: string | null = null) {
    super(message)
    this.code = code
    this.field = field
  }
}

/** A run of a program wrote more than its result holds (100 MB a stream), and was stopped. */
export class OutputLimitError extends Error {
  override readonly name = 'OutputLimitError'
  readonly code = 'output_limit'

  constructor(stream: string) {
    const instead =
      'ask for a part (`tail`, `maxBytes`), or listen to its events with `text: false`'
    super(`The command wrote more than 100 MB to ${stream} and was stopped; ${instead}`)
  }
}

/** Words of a command line that cannot be meant so. */
export function wrongUsage(message: string): MisuseError {
  return new MisuseError('wrong_usage', message)
}

/** Two fields that cannot both be meant; the second one is named as the one at fault. */
export function contradiction(one: string, other: string): MisuseError {
  const message = `\`${one}\` and \`${other}\` contradict each other; leave one of them out`
  return new MisuseError('invalid_field', message, other)
}

/** The text of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The `code` of a system error (`ENOENT`, `EPIPE`, …), or null. */
export function codeOf(error: unknown): string | null {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : null
  return typeof code === 'string' ? code : null
}
