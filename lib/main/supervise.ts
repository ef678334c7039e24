import { placeOptions } from '../cli/options.ts'
import { stateDirectory } from '../config/paths.ts'
import { programWords } from '../system/runtime.ts'
import type { RunOptions } from '../executor/executor.ts'
import type { PrintOptions } from '../protocol/print-options.ts'
import type { RequestInput } from '../protocol/request/request.ts'
import type { Result } from '../protocol/result/result.ts'

/** Takes one run to a nacre of its own; loaded with the first that may outlive this process. */
export async function supervise(
  { artifactDir, print: { run, model } }: { artifactDir: string | null; print: PrintOptions },
  input: RequestInput,
  options: RunOptions,
): Promise<Result> {
  const { runSupervised } = await import('../commands/supervise/run-supervised.ts')
  const { cwd, workspace, ...place } = placeOptions(run)
  const named = Object.entries({ 'artifact-dir': artifactDir, cwd, workspace })
  const supervision = {
    program: programWords(process),
    environment: process.env,
    stateDir: stateDirectory(process.env),
    options: [
      ...named.flatMap(([name, value]) => (value ? [`--${name}`, value] : [])),
      ...model.allow.flatMap(({ match }) => ['--allow', match]),
    ],
  }
  const env = { ...place.env, ...input.env }
  return runSupervised(supervision, { ...place, ...input, env }, options)
}
