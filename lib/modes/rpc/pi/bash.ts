import { MisuseError } from '../../../protocol/errors.ts'
import type { ListenerAnswer, RunListener } from '../../../protocol/event.ts'
import { limits } from '../../../protocol/limits.ts'
import type { Result } from '../../../protocol/result.ts'
import { describeTrouble } from '../../../render/messages.ts'
import type { RpcContext } from '../context.ts'
import type { BashResult } from './conversation.ts'

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
): Promise<BashResult> {
  let cursor = 0
  const tellNew = (id: string): ReturnType<Tell> => {
    const read = executor.jobs.read(id, cursor)
    ;({ cursor } = read)
    return read.text === '' ? undefined : tell(read.text)
  }
  const onEvent: RunListener = (event) => {
    if (event.type === 'output' && isListed(event.id)) return tellNew(event.id)
  }
  /** A run is listed once it has started, which its first output may come before. */
  function isListed(id: string): boolean {
    try {
      executor.jobs.read(id, cursor)
      return true
    } catch (error) {
      if (error instanceof MisuseError && error.code === 'not_found') return false
      throw error
    }
  }
  const result = await executor.run(
    {
      command: command as string,
      origin: 'rpc',
      streams: 'merged',
      login: false,
      timeoutSeconds: limits.timeoutSeconds.background,
    },
    { signal, onEvent },
  )
  if (result.status === 'denied' || result.status === 'not_started') {
    throw new MisuseError(result.status, describeTrouble(result).join('\n'))
  }
  await tellNew(result.id)
  return describeBash(result)
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
