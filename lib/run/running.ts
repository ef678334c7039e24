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
  kept?: Running['kept']
}

/** Makes what every runner gives back. */
export function createRunning(parts: RunningParts): Running {
  return new RunningProcess(parts)
}

/**
 * A class, since V8 puts the getters of an object literal into its old generation, where they keep all
 * that they reach until a full collection: hundreds of short runs would then stay in memory together.
 * The same holds for a function that is assigned to a property right where it is written.
 */
class RunningProcess implements Running {
  readonly #parts: RunningParts
  readonly exited: Running['exited']
  readonly sandbox: Running['sandbox']
  readonly begun: Running['begun']
  readonly kept: Running['kept']

  constructor(parts: RunningParts) {
    this.#parts = parts
    this.exited = parts.exited
    this.sandbox = parts.sandbox ?? null
    this.begun = parts.begun ?? null
    this.kept = parts.kept ?? null
  }

  get pid(): Running['pid'] {
    return this.#parts.pid()
  }

  get group(): Running['group'] {
    return this.#parts.group?.() ?? null
  }

  async write(data: string): Promise<void> {
    if (!this.#parts.input) throw refuseInput()
    await this.#parts.input.write(data)
  }

  endInput(): void {
    if (!this.#parts.input) throw refuseInput()
    this.#parts.input.end()
  }

  resize(columns: number, rows: number): void {
    this.#parts.resize?.(columns, rows)
  }

  stop(...how: Parameters<Running['stop']>): ReturnType<Running['stop']> {
    return this.#parts.stop(...how)
  }

  waitingForInput(): ReturnType<Running['waitingForInput']> {
    return this.#parts.waitingForInput?.() ?? null
  }

  tasks(): ReturnType<Running['tasks']> {
    return this.#parts.tasks?.() ?? null
  }

  leave(): void {
    this.#parts.leave?.()
  }
}

/**
 * The same process, of which a runner around it tells something else. Everything else is asked of
 * `current()` at each look.
 */
export function changeRunning(
  current: () => Running,
  changes: Pick<RunningParts, 'exited'> &
    Partial<Pick<RunningParts, 'sandbox' | 'stop' | 'begun' | 'kept'>>,
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
