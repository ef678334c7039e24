import { MisuseError } from '../../../protocol/errors.ts'
import type { ListenerAnswer } from '../../../protocol/result/event.ts'
import { limits } from '../../../protocol/limits.ts'
import type { Result } from '../../../protocol/result/result.ts'
import { describeTrouble } from '../../../render/messages.ts'
import type { RpcContext } from '../context.ts'
import type { BashResult } from './conversation.ts'
import { readOn } from '../../../executor/run/run.ts'

type Tell = (delta: string) => ListenerAnswer | Promise<ListenerAnswer>

/**
 * Runs a command as pi does: plain bash, merged output, no deadline of its own. Clean text goes to
 * `tell` as it comes. Rejects where nothing was run.
 */
export async function runBash(
  command: unknown,
  { executor }: RpcContext,
  signal: AbortSignal,
  tell: Tell,
): Promise<{ told: BashResult; result: Result }> {
  const run = await executor.start(
    {
      command: command as string,
      origin: 'rpc',
      streams: 'merged',
      login: false,
      timeoutSeconds: limits.timeoutSeconds.background,
    },
    { signal },
  )
  const place = { cursor: 0 }
  const tellNew = async () => {
    for (const text of readOn(run, place)) if ((await tell(text)) === 'closed') return 'closed'
    return undefined
  }
  for await (const { type } of run.events) {
    if (type === 'output' && (await tellNew()) === 'closed') break
  }
  const result = await run.result
  if (result.status === 'denied' || result.status === 'not_started') {
    throw new MisuseError(result.status, describeTrouble(result).join('\n'))
  }
  await tellNew()
  return { told: describeBash(result), result }
}

function describeBash(result: Result): BashResult {
  const cancelled = result.status === 'stopped'
  return {
    output: result.output ?? '',
    ...(result.exitCode === null ? {} : { exitCode: result.exitCode }),
    cancelled,
    truncated: result.truncation !== null,
    ...(result.artifact ? { fullOutputPath: result.artifact.path } : {}),
  }
}
