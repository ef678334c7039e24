import { appendFileSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { messageOf } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import type { Result } from '../protocol/result.ts'
import { makePrivateFolder } from '../protocol/private-folder.ts'

export interface Audit {
  /** Writes the line of a run. Gives a notice where it could not be written, once. */
  record(result: Result, decision: string): string | null
}

/**
 * `audit.jsonl`: one line a run. A line is one append, which the system keeps whole between
 * processes; past the limit the file becomes `audit.jsonl.1`.
 */
export function createAudit(path: string): Audit {
  let told = false
  let ready = false

  function append(line: string): void {
    if (!ready) {
      makePrivateFolder(dirname(path))
      const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0
      if (bytes > limits.auditBytes) renameSync(path, `${path}.1`)
      ready = true
    }
    appendFileSync(path, line, { mode: 0o600 })
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
