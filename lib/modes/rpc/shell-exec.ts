import { limits } from '../../protocol/limits.ts'
import type { RequestInput } from '../../protocol/request.ts'
import type { Result } from '../../protocol/result.ts'
import type { AnswerOf, Handler } from './method.ts'
import { notifyOfRun } from './run-events.ts'

/** Runs a command of the user's and waits for it, unless `shell.detach` lets the caller go. */
export const shellExec: Handler<'shell.exec'> = async (params, call) => {
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
}

function describeExec(result: Result): AnswerOf<'shell.exec'> {
  const { truncation, stderrTruncation, artifact, stderrArtifact } = result
  const isCut = { stdout: truncation !== null, stderr: (stderrTruncation ?? null) !== null }
  const answer: AnswerOf<'shell.exec'> = {
    id: result.id,
    exitCode: result.exitCode,
    signal: result.signal,
    // A terminal has one stream only.
    stdout: result.stdout ?? result.output ?? '',
    stderr: result.stderr ?? '',
    truncated: { ...isCut, combined: isCut.stdout || isCut.stderr },
    durationMs: result.durationMs,
    commandPreview: result.command.slice(0, limits.commandPreviewChars),
    status: result.status,
    reason: result.reason,
  }
  if (artifact) answer.stdoutCacheId = artifact.id
  if (stderrArtifact) answer.stderrCacheId = stderrArtifact.id
  if (result.jobId !== null) answer.jobId = result.jobId
  if (result.error) answer.error = result.error
  if (result.verdict) answer.verdict = result.verdict
  if (result.notices.length > 0) answer.notices = result.notices
  return answer
}
