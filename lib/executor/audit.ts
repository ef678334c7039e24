import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { codeOf, messageOf } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import type { Result } from '../protocol/result/result.ts'
import { makePrivateFolder } from '../system/private-files.ts'

/** What its line tells of a run. */
type AuditedRun = Pick<
  Result,
  'id' | 'origin' | 'command' | 'cwd' | 'status' | 'exitCode' | 'durationMs'
>

export interface Audit {
  /** Writes the line of a run. Gives a notice the first time that a line could not be written. */
  record(run: AuditedRun, decision: string): string | null
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
 * processes; past `maxBytes` the file becomes `audit.jsonl.1`. A link of that name is refused: the lines
 * would go to another file.
 */
export function createAudit(path: string, maxBytes: number = limits.auditBytes): Audit {
  let told = false
  let isPrivate = false

  function append(text: string | Uint8Array): void {
    const fd = openSync(path, appendFlags, 0o600)
    try {
      writeFileSync(fd, text)
    } finally {
      closeSync(fd)
    }
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
    append(readFileSync(taken))
    unlinkSync(taken)
  }

  return {
    record(run, decision) {
      const line = {
        time: new Date().toISOString(),
        id: run.id,
        origin: run.origin,
        command: run.command,
        cwd: run.cwd,
        verdict: decision,
        status: run.status,
        exit_code: run.exitCode,
        duration_ms: run.durationMs,
      }
      try {
        const named = lstatSync(path, { throwIfNoEntry: false })
        if (!isPrivate || named === undefined) makePrivateFolder(dirname(path))
        isPrivate = true
        if (named && named.size > maxBytes) moveAside()
        append(`${JSON.stringify(line)}\n`)
        return null
      } catch (error) {
        if (told) return null
        told = true
        return `The audit line could not be written: ${messageOf(error)}`
      }
    },
  }
}
