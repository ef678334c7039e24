import type { Sessions } from '../protocol/sessions.ts'
import type { RequestInput } from '../protocol/request/request.ts'
import type { Result } from '../protocol/result/result.ts'
import type { RunOptions } from './options.ts'
import type { Run } from './run/run.ts'

/** Whoever starts runs: an executor, or one session of it. */
export interface RunStarter {
  /**
   * Takes one command the whole way, and gives the run as soon as its process has started (or waits for
   * its session). A run that was denied or could not start is one that has ended. Rejects with
   * `MisuseError` only.
   */
  start: (input: RequestInput, options?: RunOptions) => Promise<Run>
  /** Does what `start` does and waits for the `result`. */
  run: (input: RequestInput, options?: RunOptions) => Promise<Result>
}

/**
 * One session as its user holds it; two of the same name are the same session. Its runs come one after
 * another.
 */
export interface NamedSession extends RunStarter {
  readonly name: string
  /** Ends the shell with all that it started. False: there was none. */
  close(): Promise<boolean>
  /** `close`, at the end of a block. */
  [Symbol.asyncDispose](): Promise<void>
}

export function createNamedSession(
  name: string,
  { start, run, sessions }: RunStarter & { sessions: Pick<Sessions, 'close'> },
): NamedSession {
  const close = () => sessions.close(name)
  return {
    name,
    start: (input, options) => start({ ...input, session: name }, options),
    run: (input, options) => run({ ...input, session: name }, options),
    close,
    async [Symbol.asyncDispose]() {
      await close()
    },
  }
}
