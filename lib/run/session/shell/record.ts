/** What a session's bash tells after each command. */
export interface SessionRecord {
  /** `$?` of the command. */
  status: number
  /** Every stage of the last pipeline; null where the command could not be asked. */
  pipeStatus: number[] | null
  /** `$_`. */
  lastArgument: string
  /** `$-`, as the command left it. */
  flags: string
  /** `$PWD`. */
  cwd: string
  /** The line of the program that the shell is in. */
  line: number
  /** Whether the command's redirections could be made, so that it ran at all. */
  started: boolean
  /** Whether what was kept from the last run had been set again before the command ran. */
  restored: boolean
  /** A function `builtin` was in the way and had to be removed. */
  repaired: boolean
  /** Whether the shell can still open files, so that another command can run in it. */
  usable: boolean
  /** As `trap -p` prints them, without the last newline; empty where none is set. */
  errTrap: string
  debugTrap: string
}

/**
 * Finds records in what the shell writes between its commands; `token` is the run's, which no
 * command can have written there. Anything else (a trap that prints) is passed by.
 */
export interface RecordReader {
  /** The record, once it is whole. */
  read(chunk: Uint8Array, token: string): SessionRecord | null
}

/** Noise of more than this is not part of a record any more. */
const keptMaxBytes = 1024 * 1024

export function createRecordReader(): RecordReader {
  let kept = Buffer.alloc(0)
  return {
    read(chunk, token) {
      kept = kept.length === 0 ? Buffer.from(chunk) : Buffer.concat([kept, chunk])
      // A whole record ends with its token and NUL.
      const record = chunk[chunk.length - 1] === 0 ? parseRecord(kept.toString(), token) : null
      if (record || kept.length > keptMaxBytes) kept = Buffer.alloc(0)
      return record
    },
  }
}

/**
 * `$?`, `$-`, the line, four marks, and what the shell was asked after the command: `$?`, every stage of the
 * last pipeline and `$_`. A command may have put something else there.
 */
const words = /^(\d+) (\S*) (\d+) (\S*) (\S*) (\S*) (\S*) (?:(\d+) ([\d ]*)\/(.*)|.*)$/s

/** The first whole record of this token in the text, or null. The traps stand before it. */
function parseRecord(text: string, token: string): SessionRecord | null {
  const from = text.indexOf(`\0${token}\0`)
  if (from < 0) return null
  const traps = text.slice(0, from)
  const end = text.lastIndexOf(`\0${token}\0`)
  const [cwd = '', ...rest] = text.slice(from + token.length + 2, Math.max(end, 0)).split('\0')
  // `$_` of a zsh may hold NUL, which no variable of the next command can.
  const found = end > from ? words.exec(rest.join('')) : null
  if (found === null) return null
  const [, status, flags, line, started, restored, repaired, usable] = found
  const [ended, pipeStatus, lastArgument = ''] = found.slice(8)
  return {
    status: Number(ended ?? status),
    pipeStatus: pipeStatus?.split(' ').filter(Boolean).map(Number) ?? null,
    lastArgument,
    flags: flags ?? '',
    cwd,
    line: Number(line),
    // A command may have taken this away; it has run then.
    started: started !== '0',
    restored: restored === '1',
    repaired: repaired === '1',
    usable: usable === '1',
    errTrap: findTrap(traps, 'ERR'),
    debugTrap: findTrap(traps, 'DEBUG'),
  }
}

/** Among what a DEBUG trap may itself have printed around it. */
function findTrap(text: string, signal: string): string {
  if (text === '') return ''
  return new RegExp(`^trap -- (?:(?!^trap -- ).)* ${signal}$`, 'ms').exec(text)?.[0] ?? ''
}
