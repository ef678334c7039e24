import { createGuard } from '../guard/guard.ts'
import { parseRequest } from '../protocol/request/parse-request.ts'
import type { Request, RequestInput } from '../protocol/request/request.ts'
import type { Result } from '../protocol/result/result.ts'
import { composeShell, findShell, findWords, type ProgramWords } from '../run/shell.ts'
import { becomeProgram, readEnvironment } from '../system/process/become.ts'
import { createSecrets } from '../run/secrets.ts'
import { openAudit } from './audit.ts'
import { decide } from './admission.ts'
import type { ExecutorOptions, RunOptions } from './options.ts'
import type * as Results from './results.ts'

type Environment = NonNullable<ExecutorOptions['environment']>

/** What only a nacre that stays can do: it bounds what is shown. */
const bounds = ['head', 'tail', 'maxLines', 'maxBytes', 'truncate'] as const

/**
 * Judges a command, writes its line of the audit, and executes its shell or program in this process: the promise
 * then never settles. Null: the request needs a nacre that stays. A result: it was denied, or could not start. A
 * number: the exit status, where the runtime cannot execute a program in its own process. Rejects with
 * `MisuseError`.
 */
export async function becomeShell(
  input: RequestInput,
  options: ExecutorOptions,
  { approve }: Pick<RunOptions, 'approve'>,
): Promise<Result | number | null> {
  const { cwd = '/', environment = {}, defaults } = options
  const home = environment['HOME']
  const hardening = input.hardening ?? defaults?.hardening ?? false
  const request = parseRequest(
    { streams: 'separate', ...input, hardening },
    { ...options, cwd, home },
  )
  if (needsSupervision(request) || bounds.some((name) => input[name] !== undefined)) return null
  const audit = openAudit(options, createSecrets({ ...options, environment }))
  const guard = createGuard({ ...options.guardOptions, home: home ?? '/' })
  const verdict = await decide(request, guard, { approve })
  const refuse = async (choose: (results: typeof Results) => Result) => {
    const result = choose(await import('./results.ts'))
    audit?.record(result, verdict.decision)
    return result
  }
  if (verdict.decision !== 'allow') return refuse((it) => it.deniedResult(request, verdict))
  try {
    const env = await composeEnvironment(request, options)
    if (request.cwd !== cwd) {
      const { checkDirectory } = await import('../run/launch.ts')
      checkDirectory(request.cwd)
      process.chdir(request.cwd)
    }
    const program = findSubject(request, environment)
    audit?.record({ ...request, status: 'running', exitCode: null, durationMs: 0 }, 'allow')
    // The runtime of the executable would leave it open in the shell.
    audit?.close()
    return await becomeProgram({ ...program, env })
  } catch (error) {
    const { describeStartFailure } = await import('../run/start-failure.ts')
    const { failure } = describeStartFailure(error, { file: request.command })
    return refuse((it) => it.notStartedResult(request, failure))
  }
}

/** A shell is nothing but itself where nobody limits, waits for, moves, keeps or reads what it does. */
function needsSupervision(request: Request): boolean {
  const { timeoutMs, inactivityMs, waitMs, ready, mode, pty, session, host, array } = request
  const given = [timeoutMs, inactivityMs, waitMs, ready, pty, session, host, array]
  return (
    given.some((field) => field !== null) ||
    mode !== 'default' ||
    request.sandbox !== 'off' ||
    request.artifact === 'always' ||
    request.streams === 'merged'
  )
}

function findSubject(request: Request, environment: Environment): ProgramWords {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', SHELL } = environment
  if (request.args === null) return composeShell(findShell(request, PATH, SHELL), request)
  const words = findWords(request.args, request.cwd, request.env['PATH'] ?? PATH)
  // A script is told its name as it was given.
  return words.argv0.includes('/') ? { ...words, file: words.argv0 } : words
}

/** That of nacre as it was given, with what the caller adds; hardened only where that was asked for. */
async function composeEnvironment(
  { hardening, cwd, env: added }: Request,
  options: ExecutorOptions,
): Promise<Map<string, string>> {
  const environment = readEnvironment(options.environment ?? {})
  if (hardening) {
    const { findRefusal, listHardening } = await import('../run/environment.ts')
    const isPlain = options.toTerminal !== true
    for (const [name, value] of Object.entries(listHardening(findRefusal(), isPlain)))
      environment.set(name, value)
  }
  if (cwd !== options.cwd) environment.set('PWD', cwd)
  for (const [name, value] of Object.entries(added)) environment.set(name, value)
  return environment
}
