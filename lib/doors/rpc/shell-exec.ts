import { namesOf } from '../../agent/injection.ts'
import { limits } from '../../protocol/limits.ts'
import type { RequestInput } from '../../protocol/request/request.ts'
import type { Result } from '../../protocol/result/result.ts'
import { startOf } from '../../protocol/words.ts'
import type { AnswerOf } from '../../wire/method.ts'
import { notifyOfRun } from '../../wire/run-events.ts'
import type { Handler } from './context.ts'

/** Starts a job. `shell.started` and `shell.exited` are always told, output when it is asked for. */
export const shellStart: Handler<'shell.start'> = ({ stream = false, stdin, ...fields }, call) => {
  const { approve, context } = call
  return context.executor.run(
    { streams: 'merged', ...fields, ...readStdin(stdin), mode: 'background', origin: 'rpc' },
    { onEvent: notifyOfRun(call, stream), approve },
  )
}

/** Runs a command of the user's and waits for it, unless `shell.detach` lets the caller go. */
export const shellExec: Handler<'shell.exec'> = async (params, call) => {
  const { stream, stdin, ...fields } = params
  const timeoutSeconds = limits.shellExecTimeoutSeconds.default
  const input: RequestInput = { timeoutSeconds, streams: 'separate', ...readStdin(stdin) }
  Object.assign(input, fields, { origin: 'rpc' })
  const { signal, approve, peer, client } = call
  const run = await call.context.executor.start(input, {
    signal,
    onEvent: stream ? notifyOfRun(call, true) : undefined,
    approve,
  })
  const over = peer.wait([run.id], () => run.detach())
  try {
    const queued = client.prompts.addCommand(run.ended)
    const result = await run.result
    for (const name of namesOf(result)) client.handed.add(name)
    if (result.status !== 'running') await queued
    return describeExec(result)
  } finally {
    over()
  }
}

/** The text that the command of a client reads. */
function readStdin(text: string | undefined): Pick<RequestInput, 'stdin'> {
  return text === undefined ? {} : { stdin: { kind: 'text', text } }
}

function describeExec(result: Result): AnswerOf<'shell.exec'> {
  const { truncation, stderrTruncation, artifact, stderrArtifact } = result
  const isCut = { stdout: truncation !== null, stderr: (stderrTruncation ?? null) !== null }
  const answer: AnswerOf<'shell.exec'> = {
    id: result.id,
    exitCode: result.exitCode,
    signal: result.signal,
    // A terminal has one stream only, and so have merged ones.
    stdout: result.stdout ?? result.output ?? '',
    stderr: result.stderr ?? '',
    truncated: { ...isCut, combined: isCut.stdout || isCut.stderr },
    durationMs: result.durationMs,
    commandPreview: startOf(result.command, limits.commandPreviewChars),
    status: result.status,
    reason: result.reason,
  }
  if (artifact) answer.stdoutCacheId = artifact.id
  if (stderrArtifact) answer.stderrCacheId = stderrArtifact.id
  if (result.jobId !== null) answer.jobId = result.jobId
  if (result.error) answer.error = result.error
  if (result.verdict) answer.verdict = result.verdict
  if (result.sandbox) answer.sandbox = result.sandbox
  if (result.notices.length > 0) answer.notices = result.notices
  return answer
}
