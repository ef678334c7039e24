import { beginRun } from './main/begin-run.ts'

/** `-c`, also joined with options of a shell, as in `-ec`. */
const commandWord = /^-\w*c$/

/** Takes the words after the program's name; gives the exit status. */
export async function main(argv: readonly string[]): Promise<number> {
  const beginning = argv.some((word) => commandWord.test(word)) ? beginRun() : null
  // The kernel's wait passes while the rest is loaded. A guess that was wrong costs one write, which moves nothing.
  beginning?.groups.expectStart()
  const { dispatch } = await import('./main/dispatch.ts')
  return dispatch(argv, beginning)
}
