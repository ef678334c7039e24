import type { MethodName, RequestId } from '../../protocol/rpc-messages.ts'
import { artifactMethods } from './artifacts.ts'
import { initialize } from './initialize.ts'
import { defineMethod, type Method } from './method.ts'
import { promptMethods } from './prompt.ts'
import { sessions } from './sessions.ts'
import { shellExec } from './shell-exec.ts'
import { shellJobs } from './shell-jobs.ts'
import { toolMethods } from './tools.ts'

/** Every method of the protocol by its name. */
export const methods: ReadonlyMap<string, Method> = new Map<string, Method>(
  Object.entries({
    initialize,
    'shell.exec': shellExec,
    ...shellJobs,
    ...sessions,
    ...toolMethods,
    ...artifactMethods,
    ...promptMethods,
    '$/cancel': defineMethod(
      { id: { type: { kind: 'id' }, description: 'Of the request to cancel', required: true } },
      ({ id }: { id: RequestId }, { peer }) => ({ cancelled: peer.cancel(id) }),
    ),
  } satisfies Partial<Record<MethodName, Method>>),
)
