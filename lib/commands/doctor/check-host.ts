import type { Executor } from '../../executor/executor.ts'
import type { RequestInput } from '../../protocol/request/request.ts'
import { version } from '../../protocol/version.ts'
import { formatDuration } from '../../render/messages.ts'
import { checkSessions } from './check-runs.ts'
import { type Attempt, type Check, createAttempt, works } from './check.ts'

type Run = (input: RequestInput) => ReturnType<Executor['run']>

/** A scheduler may let a job wait for a while. */
const timeoutSeconds = 60

/** What works on another machine, tried one thing after the other. */
export async function checkHost(host: string, run: Run): Promise<Check[]> {
  const attempt = createAttempt(run, { host, timeoutSeconds })
  const first = await attempt('echo "${BASH_VERSION:-}"; echo "$0"')
  if (first.failure !== null) {
    const { code } = first.result.error ?? { code: '' }
    const advice = code === 'host_unreachable' ? 'Try its own client by hand first.' : null
    return [{ name: 'connection', status: 'broken', detail: first.failure, advice }]
  }
  const again = [await attempt('true'), await attempt('true')].map(
    ({ result }) => result.durationMs,
  )
  const times = `the first run took ${formatDuration(first.result.durationMs)}, the next ${formatDuration(Math.min(...again))}`
  return [
    works('connection', times),
    describeShell(first.text),
    await checkFound(attempt, 'setsid', 'a command has a process group of its own', 'util-linux'),
    await checkStop(attempt),
    await checkSignals(attempt),
    await checkTerminal(attempt),
    // Its advice is for the shell of this machine.
    { ...(await checkSessions(attempt)), advice: null },
    await checkNacre(attempt),
  ]
}

function describeShell(text: string): Check {
  const [version = '', name = ''] = text.includes('\n') ? text.split('\n') : ['', text]
  if (version !== '') return works('shell', `bash ${version}`)
  const advice = 'Commands that are written for bash may fail: install it there.'
  return { name: 'shell', status: 'missing', detail: `${name}, which is not bash`, advice }
}

async function checkFound(
  attempt: Attempt,
  program: string,
  what: string,
  from: string,
): Promise<Check> {
  const { text } = await attempt(`command -v ${program}`)
  if (text !== '') return works(program, what)
  const advice = `A stop finds a command by its mark alone: install ${from} there.`
  return { name: program, status: 'missing', detail: `${program} is not there`, advice }
}

/** A stop with something that has left the group and takes no notice of TERM. */
async function checkStop(attempt: Attempt): Promise<Check> {
  const name = 'stop'
  const command =
    "trap '' TERM; command -v setsid >/dev/null && (setsid sleep 300 &); echo begun; sleep 300"
  const { result } = await attempt(command, { timeoutSeconds: 1 })
  if (result.status !== 'stopped') {
    const detail = `a command that was to be stopped is ${result.status}`
    return { name, status: 'broken', detail, advice: 'Do not rely on stops and time limits there.' }
  }
  const left = result.survivors.map(({ pid, command: words }) => `${pid} ${words}`).join(', ')
  if (left === '') return works(name, 'ends all that a command has started')
  const advice = 'Without /proc only the group of a command is found.'
  return { name, status: 'missing', detail: `left behind: ${left}`, advice }
}

async function checkSignals(attempt: Attempt): Promise<Check> {
  const { result } = await attempt('kill -TERM $$')
  if (result.status === 'signaled') return works('signals', 'an end by a signal is told as one')
  const detail = `an end by a signal is told as exit ${result.exitCode ?? result.status}`
  return { name: 'signals', status: 'ok', detail, advice: null }
}

async function checkTerminal(attempt: Attempt): Promise<Check> {
  const { text, failure } = await attempt('test -t 0 && test -t 1 && echo yes', { pty: true })
  if (text.endsWith('yes')) return works('terminal', 'a run can have one')
  return { name: 'terminal', status: 'missing', detail: failure ?? 'no terminal', advice: null }
}

/** A shell is enough there, but for a sandbox; jobs of a scheduler have nothing else. */
export async function checkNacre(attempt: Attempt): Promise<Check> {
  // Where a nacre there has the run, the mark is its own.
  const carrier = 'case $NACRE_RUN in *-there) echo shell;; *) echo nacre;; esac'
  const { text } = await attempt(`command -v nacre >/dev/null && nacre --version; ${carrier}`)
  const found = /^\d+\.\d+\.\d+\S*$/m.exec(text)?.[0]
  const other = found === version ? '' : `, another than here (${version})`
  const installed = found === undefined ? 'not installed there' : `version ${found}${other}`
  const detail = text.endsWith('nacre')
    ? `${installed}; it carries the runs`
    : `${installed}; a shell carries the runs: no sandbox, and a daemon that drops its environment outlives a stop`
  return works('nacre', detail)
}
