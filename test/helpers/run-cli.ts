import { cliCommand } from './cli.ts'
import { type Finished, type ProgramOptions, runProgram } from './run-program.ts'

/** Runs nacre as its users do. */
export function runCli(args: string[], options: ProgramOptions = {}): Promise<Finished> {
  const [program, ...words] = cliCommand()
  return runProgram(program ?? '', [...words, ...args], options)
}

/** The result that nacre prints with `--output-format json`. */
export async function runJson(
  args: string[],
  options: ProgramOptions = {},
): Promise<Record<string, unknown>> {
  const finished = await runCli([...args, '--output-format', 'json'], options)
  const text = finished.stdout.toString()
  if (text === '') throw new Error(`no result: ${finished.stderr.toString()}`)
  return JSON.parse(text) as Record<string, unknown>
}
