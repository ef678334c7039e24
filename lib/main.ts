import type { RunBeginning } from './main/dispatch.ts'
import { listGiven } from './system/descriptors.ts'
import { createControlGroups } from './system/process/control-group.ts'

/** `-c`, also joined with options of a shell, as in `-ec`. */
const commandWord = /^-\w*c$/

/** Takes the words after the program's name; gives the exit status. */
export async function main(argv: readonly string[]): Promise<number> {
  let beginning: RunBeginning | null = null
  const begin = () => (beginning ??= { given: listGiven(), groups: createControlGroups() })
  // The kernel's wait passes while the rest is loaded. A guess that was wrong costs one write, which moves nothing.
  if (argv.some((word) => commandWord.test(word))) begin().groups.expectStart()
  const { dispatch } = await import('./main/dispatch.ts')
  return dispatch(argv, begin)
}
