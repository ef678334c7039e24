import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import { codeOf } from '../protocol/errors.ts'
import { StartError } from '../protocol/ports.ts'
import type { Request } from '../protocol/request.ts'
import { buildEnvironment } from './environment.ts'
import type { Launch, PrepareLaunch } from './launch.ts'
import { nameProcess } from './process-table.ts'

export interface LaunchOptions {
  /** The environment of nacre. */
  environment: Readonly<Record<string, string | undefined>>
  /** Output goes straight to a terminal. */
  toTerminal: boolean
}

/** Checks a request's directory, finds its shell, builds its environment. */
export function createPrepareLaunch(options: LaunchOptions): PrepareLaunch {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', SHELL } = options.environment
  const falsePath = findProgram('false', PATH) ?? '/bin/false'
  const owner = nameProcess(process.pid)

  return async (request) => {
    checkDirectory(request.cwd)
    const shell = findShell(request, PATH, SHELL)
    const env = buildEnvironment(request, {
      base: options.environment,
      falsePath,
      toTerminal: options.toTerminal,
      owner,
    })
    const args = [request.login ? '-lc' : '-c', request.command]
    return { ...shell, args, env, cwd: request.cwd, mark: request.id } satisfies Launch
  }
}

function checkDirectory(cwd: string): void {
  const fail = (code: string, message: string) =>
    new StartError({ code, message: `${message}: ${cwd}`, exitCode: 125 })
  try {
    if (!statSync(cwd).isDirectory()) {
      throw fail('cwd_not_a_directory', 'Working directory is not a directory')
    }
    accessSync(cwd, constants.X_OK)
  } catch (error) {
    if (error instanceof StartError) throw error
    if (codeOf(error) === 'EACCES') {
      throw fail('cwd_not_accessible', 'Working directory may not be entered')
    }
    if (codeOf(error) === 'ENOTDIR') {
      throw fail('cwd_not_a_directory', 'Working directory is not a directory')
    }
    throw fail('cwd_not_found', 'Working directory does not exist')
  }
}

type FoundShell = Pick<Launch, 'file' | 'argv0'>

/** The shell that was asked for; a person's own (`$SHELL`) as a login shell; else bash, else sh. */
function findShell(request: Request, path: string, userShell: string | undefined): FoundShell {
  if (request.shell !== null) return findNamedShell(request.shell, path)
  const wanted = request.login && userShell ? [userShell, 'sh'] : ['bash', 'sh']
  for (const name of wanted) {
    const found = findProgram(name, path)
    if (found) return { file: found, argv0: name }
  }
  throw new StartError({
    code: 'shell_not_found',
    message: 'No shell was found: neither bash nor sh is on the PATH',
    exitCode: 127,
  })
}

function findNamedShell(name: string, path: string): FoundShell {
  const found = findProgram(name, path)
  if (found) return { file: found, argv0: name }
  const exists = name.includes('/') && statSync(name, { throwIfNoEntry: false }) !== undefined
  throw new StartError(
    exists
      ? { code: 'shell_not_executable', message: `Shell is not executable: ${name}`, exitCode: 126 }
      : { code: 'shell_not_found', message: `Shell does not exist: ${name}`, exitCode: 127 },
  )
}

/** The absolute path of an executable file, looked up as execvp(3) does. */
export function findProgram(name: string, path: string): string | null {
  const candidates = name.includes('/')
    ? [resolve(name)]
    : path.split(delimiter).map((directory) => join(directory || '.', name))
  for (const candidate of candidates) {
    try {
      accessSync(candidate, constants.X_OK)
      if (statSync(candidate).isFile())
        return isAbsolute(candidate) ? candidate : resolve(candidate)
    } catch {
      // Not here: the next directory of the path.
    }
  }
  return null
}
