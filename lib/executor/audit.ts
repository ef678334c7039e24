import { closeSync, fstatSync, openSync, renameSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { messageOf } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import type { Result } from '../protocol/result.ts'
import { makePrivateFolder } from '../system/private-files.ts'

export interface Audit {
  /** Writes the line of a run. Gives a notice where it could not be written, once. */
  record(result: Result, decision: string): string | null
  /** No descriptor stays open from now on, whatever is still recorded. */
  close(): void
}

/**
 * `audit.jsonl`: one line a run. A line is one append, which the system keeps whole between
 * processes; past `maxBytes` the file becomes `audit.jsonl.1`. The file stays open between lines, and
 * each line looks whether the name still means it: another nacre may have moved it, a person removed it.
 */
export function createAudit(path: string, maxBytes: number = limits.auditBytes): Audit {
  let told = false
  let closed = false
  let opened: { fd: number; ino: number; dev: number } | null = null

  function openLog(): number {
    const named = statSync(path, { throwIfNoEntry: false })
    const isFull = named !== undefined && named.size > maxBytes
    if (opened && !isFull && named?.ino === opened.ino && named.dev === opened.dev) return opened.fd
    closeLog()
    if (isFull) renameSync(path, `${path}.1`)
    makePrivateFolder(dirname(path))
    const fd = openSync(path, 'a', 0o600)
    const { ino, dev } = fstatSync(fd)
    opened = { fd, ino, dev }
    return fd
  }

  function closeLog(): void {
    if (opened) closeSync(opened.fd)
    opened = null
  }

  return {
    record(result, decision) {
      const line = {
        time: new Date().toISOString(),
        id: result.id,
        origin: result.origin,
        command: result.command,
        cwd: result.cwd,
        verdict: decision,
        status: result.status,
        exit_code: result.exitCode,
        duration_ms: result.durationMs,
      }
      try {
        writeSync(openLog(), `${JSON.stringify(line)}\n`)
        if (closed) closeLog()
        return null
      } catch (error) {
        if (told) return null
        told = true
        return `The audit line could not be written: ${messageOf(error)}`
      }
    },
    close() {
      closed = true
      closeLog()
    },
  }
}
