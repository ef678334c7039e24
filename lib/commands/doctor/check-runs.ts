import { adviseOn, type Attempt, type Check, works } from './check.ts'

/** The shell that agents and scripts get. */
export async function checkShell(attempt: Attempt): Promise<Check> {
  const command = 'echo "${BASH_VERSION:-}"; command -v "$0" || echo "$0"'
  const { text, failure } = await attempt(command)
  const [version, path = ''] = text.includes('\n') ? text.split('\n') : ['', text]
  if (failure !== null) {
    return {
      name: 'shell',
      status: 'broken',
      detail: failure,
      advice: adviseOn(failure, 'Install bash, or correct `shell` of the configuration.'),
    }
  }
  if (version !== '') return works('shell', `bash ${version} (${path})`)
  const advice = 'Install bash 4.4 or newer: agents write for it, and sessions need it.'
  return { name: 'shell', status: 'missing', detail: `${path}, which is not bash`, advice }
}

/** Output in real pipes, made by mkfifo(1): a command may open `/dev/stderr`. */
export async function checkPipes(attempt: Attempt): Promise<Check> {
  const { text, failure } = await attempt('echo right > /dev/stderr')
  if (text === 'right') return works('pipes', 'mkfifo works')
  const detail = failure ?? `/dev/stderr gave "${text}"`
  const advice = adviseOn(detail, 'Install coreutils (mkfifo).')
  return { name: 'pipes', status: 'broken', detail, advice }
}

/** A terminal of its own, by nacre itself or by script(1). */
export async function checkTerminal(attempt: Attempt): Promise<Check> {
  const name = 'terminal'
  const { result, text, failure } = await attempt('test -t 0 && test -t 1 && echo yes', {
    pty: true,
  })
  const fallback = result.notices.find((notice) => /script\(1\)|pty_off/.test(notice))
  if (text === 'yes' && fallback === undefined)
    return works(name, 'a program runs on one of its own')
  const advice = fallback?.startsWith('pty_off')
    ? 'It is switched off by `pty: off` or NACRE_NO_PTY.'
    : adviseOn(
        fallback ?? failure ?? '',
        'Reinstall nacre for this system, so that the addon of node-pty is there.',
      )
  return { name, status: 'missing', detail: fallback ?? failure ?? 'no terminal', advice }
}

/** A shell that keeps its state. */
export async function checkSessions(attempt: Attempt): Promise<Check> {
  const session = 'doctor'
  await attempt('kept=yes', { session })
  const { text, failure } = await attempt('echo "$kept"; exit', { session })
  if (text === 'yes') return works('sessions', 'a shell keeps its state')
  const detail = failure ?? 'the shell did not keep its state'
  const advice = adviseOn(detail, 'Install bash 4.4 or newer.')
  return { name: 'sessions', status: 'missing', detail, advice }
}

/** What protects a run that asks for it; the executor refuses where nothing does. */
export async function checkSandbox(attempt: Attempt): Promise<Check> {
  const { result, failure } = await attempt('true', { sandbox: 'workspace' })
  const { sandbox } = result as { sandbox?: { mechanism: string } | null }
  if (failure === null && sandbox) return works('sandbox', sandbox.mechanism)
  const detail = failure ?? 'this version has none'
  return {
    name: 'sandbox',
    status: 'missing',
    detail,
    advice:
      `Runs that ask for a sandbox do not start; all others do. ${adviseOn(detail, '')}`.trim(),
  }
}
