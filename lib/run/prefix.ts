import { StartError } from '../protocol/ports.ts'
import type { Launch } from './launch.ts'

/**
 * Puts a program before the shell, as `nix develop -c` or `docker exec box`: the whole command runs
 * below it. The shell keeps its name, so that the program may find one of its own. `find` looks a
 * program up; `StartError` where it finds none.
 */
export function addPrefix(
  launch: Launch,
  [program = '', ...words]: readonly string[],
  find: (program: string) => string | null,
): Launch {
  const file = find(program)
  if (file === null) {
    throw new StartError('prefix_not_found', `The configured prefix does not exist: ${program}`)
  }
  return { ...launch, file, argv0: program, args: [...words, launch.argv0, ...launch.args] }
}
