import { listGiven } from '../system/descriptors.ts'
import { type ControlGroups, createControlGroups } from '../system/process/control-group.ts'

/** What a run needs of the system before nacre has opened any file of its own. */
export interface RunBeginning {
  /** The descriptors above 2 that a command is given as nacre was. */
  given: readonly number[]
  groups: ControlGroups
}

export function beginRun(): RunBeginning {
  return { given: listGiven(), groups: createControlGroups() }
}
