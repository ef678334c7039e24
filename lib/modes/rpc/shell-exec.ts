import { limits } from '../../protocol/limits.ts'
import type { RequestInput } from '../../protocol/request.ts'
import type { Result } from '../../protocol/result.ts'
import type { ShellExecResult } from '../../protocol/rpc-messages.ts'
import { toWire } from '../../protocol/wire.ts'
import { defineMethod } from './method.ts'
import { notifyOfRun } from './run-events.ts'
import { type RunCall, shellExecParams } from './run-params.ts'

interface ExecCall extends Omit<RunCall, 'stdin'> {
  stdin?: string
}

/** Runs a command of the user's and waits for it, unless `shell.detach` lets the caller go. */
export const shellExec = defineMethod(shellExecParams, async (params: ExecCall, call) => {
  const { stream, stdin, ...fields } = params
  const input: RequestInput = {
    timeoutSeconds: limits.shellExecTimeoutSeconds.default,
    ...fields,
    ...(stdin === undefined ? {} : { stdin: { kind: 'text', text: stdin } }),
    streams: 'separate',
    origin: 'rpc',
  }
  const { signal, approve, peer } = call
  const run = await call.context.executor.start(input, {
    signal,
    ...(stream && { onEvent: notifyOfRun(call, true) }),
    ...(approve && { approve }),
  })
  peer.detachable.set(run.id, () => run.detach())
  try {
    return describeExec(await run.result)
  } finally {
    peer.detachable.delete(run.id)
  }
})

function describeExec(result: Result): ShellExecResult {
  const { truncation, stderrTruncation, artifact, stderrArtifact } = result
  const isCut = { stdout: truncation !== null, stderr: (stderrTruncation ?? null) !== null }
  const answer: ShellExecResult = {
    id: result.id,
    exit_code: result.exitCode,
    signal: result.signal,
    // A terminal has one stream only.
    stdout: result.stdout ?? result.output ?? '',
    stderr: result.stderr ?? '',
    truncated: { ...isCut, combined: isCut.stdout || isCut.stderr },
    duration_ms: result.durationMs,
    command_preview: result.command.slice(0, limits.commandPreviewChars),
    status: result.status,
    reason: result.reason,
  }
  if (artifact) answer.stdout_cache_id = artifact.id
  if (stderrArtifact) answer.stderr_cache_id = stderrArtifact.id
  if (result.jobId !== null) answer.job_id = result.jobId
  if (result.error) answer.error = result.error
  if (result.verdict) answer.verdict = toWire(result.verdict) as ShellExecResult['verdict'] & {}
  if (result.notices.length > 0) answer.notices = result.notices
  return answer
}
