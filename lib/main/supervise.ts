import { stateDirectory } from '../config/paths.ts'
import { programWords } from '../system/runtime.ts'
import type { SupervisedOptions } from '../executor/executor.ts'
import type { RequestInput } from '../protocol/request/request.ts'
import type { Result } from '../protocol/result/result.ts'

/** Takes one run to a nacre of its own; loaded with the first that may outlive this process. */
export async function supervise(
  artifactDir: string | null,
  input: RequestInput,
  options: SupervisedOptions,
): Promise<Result> {
  const { runSupervised } = await import('../commands/supervise/run-supervised.ts')
  const supervision = {
    program: programWords(process),
    environment: process.env,
    stateDir: stateDirectory(process.env),
    artifactDir,
  }
  return runSupervised(supervision, input, options)
}
