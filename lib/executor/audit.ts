import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { codeOf, messageOf } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import type { Result } from '../protocol/result/result.ts'
import type { Secrets } from '../run/secrets.ts'
import { makePrivateFolder } from '../system/private-files.ts'
import type { ExecutorOptions } from './options.ts'

/** What its line tells of a run. */
type AuditedRun = Pick<
  Result,
  'id' | 'origin' | 'command' | 'cwd' | 'status' | 'exitCode' | 'durationMs'
>

export interface Audit {
  /** Writes the line of a run. Gives a notice the first time that a line could not be written. */
  record(run: AuditedRun, decision: string): string | null
  /** Closes the file; a line that comes later opens it for itself alone. */
  close(): void
}

/** The audit that an executor keeps; null: none. */
export function openAudit(
  { stateDir, audit }: Pick<ExecutorOptions, 'stateDir' | 'audit'>,
  secrets: Secrets,
): Audit | null {
  if (stateDir === null || audit === 'off') return null
  const show = audit === 'no-commands' ? () => null : (text: string) => secrets.mask(text)
  return createAudit(join(stateDir, 'audit.jsonl'), limits.auditBytes, show)
}

/** O_NONBLOCK: a named pipe of this name has no reader, and fails instead of waiting for one. */
const appendFlags =
  constants.O_WRONLY |
  constants.O_APPEND |
  constants.O_CREAT |
  constants.O_NOFOLLOW |
  constants.O_NONBLOCK

/**
 * `audit.jsonl`: one line a run. A line is one append, which the system keeps whole between
 * processes; past `maxBytes` the file becomes `audit.jsonl.1`. The file stays open, and each line looks
 * whether the name still means it. A link of that name is refused: the lines would go to another file.
 * `show`: what a line has of a command.
 */
export function createAudit(
  path: string,
  maxBytes: number = limits.auditBytes,
  show: (command: string) => string | null = (command) => command,
): Audit {
  let told = false
  let isOver = false
  let opened: { fd: number; ino: number; dev: number } | null = null

  function open(): number {
    const named = lstatSync(path, { throwIfNoEntry: false })
    const isFull = named !== undefined && named.size > maxBytes
    if (opened && !isFull && named?.ino === opened.ino && named.dev === opened.dev) return opened.fd
    close()
    makePrivateFolder(dirname(path))
    if (isFull) {
      moveAside()
      return open()
    }
    const fd = openSync(path, appendFlags, 0o600)
    const { ino, dev } = fstatSync(fd)
    opened = { fd, ino, dev }
    return fd
  }

  function close(): void {
    if (opened) closeSync(opened.fd)
    opened = null
  }

  /**
   * Two nacres may find the file full at the same time. The slower one has the new file in its hand
   * then, as its size tells, and puts it back.
   */
  function moveAside(): void {
    const taken = `${path}.${process.pid}.full`
    try {
      renameSync(path, taken)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return
      throw error
    }
    if (lstatSync(taken).size > maxBytes) return renameSync(taken, `${path}.1`)
    writeFileSync(open(), readFileSync(taken))
    unlinkSync(taken)
  }

  return {
    record(run, decision) {
      const line = {
        time: new Date().toISOString(),
        id: run.id,
        origin: run.origin,
        command: show(run.command),
        cwd: run.cwd,
        verdict: decision,
        status: run.status,
        exit_code: run.exitCode,
        duration_ms: run.durationMs,
      }
      try {
        writeFileSync(open(), `${JSON.stringify(line)}\n`)
        if (isOver) close()
        return null
      } catch (error) {
        if (told) return null
        told = true
        return `The audit line could not be written: ${messageOf(error)}`
      }
    },
    close() {
      isOver = true
      close()
    },
  }
}
