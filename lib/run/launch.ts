import type { Request } from '../protocol/request.ts'

/** A process about to be started, checked: the directory exists, the shell was found. */
export interface Launch {
  /** Absolute path of the program. */
  file: string
  /** What the program is called as (`argv[0]`): a shell names itself so in its messages. */
  argv0: string
  args: string[]
  /** The whole environment of the process. */
  env: Record<string, string>
  cwd: string
  /** Value of `NACRE_RUN` in `env`, by which every descendant is found again. */
  mark: string
}

/** Makes a request into a launch. Rejects with `StartError` where the run cannot start. */
export type PrepareLaunch = (request: Request) => Promise<Launch>
