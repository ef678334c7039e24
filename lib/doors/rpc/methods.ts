import { jobHandlers } from '../../executor/jobs/methods.ts'
import type { MethodName } from '../../protocol/rpc/messages.ts'
import { bindMethods, cancelHandler } from '../../wire/method.ts'
import { artifactMethods } from './artifacts.ts'
import type { Call } from './context.ts'
import { initialize } from './initialize.ts'
import { promptMethods } from './prompt.ts'
import { sessions } from './sessions.ts'
import { shellExec, shellStart } from './shell-exec.ts'
import { toolMethods } from './tools.ts'

/** Every method of the protocol by its name. */
export const methods = bindMethods<Call, MethodName>({
  initialize,
  'shell.exec': shellExec,
  'shell.start': shellStart,
  ...jobHandlers,
  ...sessions,
  ...toolMethods,
  ...artifactMethods,
  ...promptMethods,
  '$/cancel': cancelHandler,
})
