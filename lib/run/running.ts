import { MisuseError } from '../protocol/errors.ts'
import type { Running } from '../protocol/ports.ts'

/** What a runner tells of its process. What it leaves out, the process does not have. */
export interface RunningParts extends Pick<Running, 'exited' | 'stop'> {
  /** Asked at each look: a run that waits for its turn gets its process later. */
  pid: () => Running['pid']
  /** Asked at each look, as `pid`. Absent where there is none. */
  group?: () => Running['group']
  sandbox?: Running['sandbox']
  /** Absent: it has begun. */
  begun?: Running['begun']
  /** Absent where the run reads nothing. */
  input?: { write(data: string): Promise<void>; end(): void }
  resize?: Running['resize']
  waitingForInput?: Running['waitingForInput']
  tasks?: Running['tasks']
  leave?: Running['leave']
}

/** Makes what every runner gives back. */
export function createRunning(parts: RunningParts): Running {
  const { input, exited, sandbox = null } = parts
  return {
    get pid() {
      return parts.pid()
    },
    get group() {
      return parts.group?.() ?? null
    },
    sandbox,
    begun: parts.begun ?? null,
    exited,
    write: (data) => (input ? input.write(data) : Promise.reject(refuseInput())),
    endInput() {
      if (!input) throw refuseInput()
      input.end()
    },
    resize: (columns, rows) => parts.resize?.(columns, rows),
    stop: (...how) => parts.stop(...how),
    waitingForInput: () => parts.waitingForInput?.() ?? null,
    tasks: () => parts.tasks?.() ?? null,
    leave: () => parts.leave?.(),
  }
}

/**
 * The same process, of which a runner around it tells something else. Everything else is asked of
 * `current()` at each look.
 */
export function changeRunning(
  current: () => Running,
  changes: Pick<RunningParts, 'exited'> & Partial<Pick<RunningParts, 'sandbox' | 'stop' | 'begun'>>,
): Running {
  return createRunning({
    pid: () => current().pid,
    group: () => current().group,
    sandbox: current().sandbox,
    begun: current().begun,
    input: {
      write: (data) => current().write(data),
      end: () => current().endInput(),
    },
    resize: (columns, rows) => current().resize(columns, rows),
    stop: (...how) => current().stop(...how),
    waitingForInput: () => current().waitingForInput(),
    leave: () => current().leave(),
    ...changes,
  })
}

function refuseInput(): MisuseError {
  return new MisuseError(
    'no_input',
    'This run reads no input; start it with an open stdin or a pty to write to it',
  )
}
