import { fieldNames } from '../../protocol/fields.ts'
import { limits } from '../../protocol/limits.ts'
import { commandParam, fieldParams, type Params, type RunParams } from '../../protocol/params.ts'

/** What both ways to run a command have beside the fields of a request. */
const common: Params = {
  command: commandParam,
  stream: {
    type: { kind: 'boolean' },
    description: 'Send notifications while it runs (default false)',
  },
}

const { default: defaultSeconds, max: maxSeconds } = limits.shellExecTimeoutSeconds

export const shellExecParams: Params = {
  ...common,
  ...fieldParams(fieldNames.filter((name) => name !== 'streams' && name !== 'mode')),
  stdin: { type: { kind: 'text' }, description: 'What the command reads (default: nothing)' },
  timeoutSeconds: {
    type: { kind: 'within', above: 0, max: maxSeconds },
    description: `Stop the run after so many seconds (default ${defaultSeconds})`,
  },
}

export const shellStartParams: Params = {
  ...common,
  ...fieldParams(fieldNames.filter((name) => name !== 'mode')),
}

/** Checked parameters of a run. */
export interface RunCall extends RunParams {
  command: string
  stream?: boolean
}
