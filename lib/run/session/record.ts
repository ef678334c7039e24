import { StartError } from '../../protocol/ports.ts'
import type { Launch } from '../launch.ts'
import { describeScarcity } from '../start-failure.ts'
import type { TurnEnd } from './shell.ts'

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
interface RecordReader {
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
 * `$?`, `$-`, the line, three marks, and what the shell was asked after the command: `$?`, every stage of the
 * last pipeline and `$_`. A command may have put something else there.
 */
const words = /^(\d+) (\S*) (\d+) (\S*) (\S*) (\S*) (?:(\d+) ([\d ]*)\/(.*)|.*)$/s

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
  const [, status, flags, line, started, restored, usable] = found
  const [ended, pipeStatus, lastArgument = ''] = found.slice(7)
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

/** How a command ended, by its record. */
export function endOf({ status, pipeStatus, cwd, started, usable }: SessionRecord): TurnEnd {
  const place = { stages: pipeStatus, cwd }
  if (!started) {
    const notice = 'The command did not run: the session could not open its input or output'
    return { kind: 'told', status: 125, ...place, notices: [notice], unfit: 'ran no more commands' }
  }
  const unfit = usable ? null : 'could open no more files (restricted, or by its limits)'
  return { kind: 'told', status, ...place, notices: [], unfit }
}

/** Tells the failure by the status with which the session's program gives up before it is ready. */
export function describeFailedStart(code: number | null, launch: Launch): StartError {
  if (code === 120) return describeScarcity('EMFILE')
  const [name, message] =
    code === 121
      ? ['session_shell_too_old', `A session needs bash 4.4 or newer: ${launch.file} is older`]
      : code === 122
        ? ['cwd_not_accessible', `Working directory may not be entered: ${launch.cwd}`]
        : ['session_failed', `${launch.file} ended before the session was ready (status ${code})`]
  return new StartError(name, message)
}
