import { MisuseError } from '../protocol/errors.ts'
import type { Running } from '../protocol/ports.ts'

/** What a runner gives back. What its parts leave out, the process does not have. */
export function createRunning(parts: Pick<Running, 'exited' | 'stop'> & Partial<Running>): Running {
  return { ...nothing, ...parts }
}

const nothing: Omit<Running, 'exited' | 'stop'> = {
  pid: () => null,
  group: () => null,
  sandbox: null,
  bounds: null,
  begun: null,
  kept: null,
  async write() {
    throw refuseInput()
  },
  endInput() {
    throw refuseInput()
  },
  resize: () => undefined,
  leave: () => undefined,
  waitingForInput: () => null,
  tasks: () => null,
}

/** The process that `current` gives at each call, of which a runner around it tells how it ends. */
export function followRunning(
  current: () => Running,
  changes: Pick<Running, 'exited' | 'stop'> & Partial<Running>,
): Running {
  return {
    ...current(),
    pid: () => current().pid(),
    group: () => current().group(),
    write: (data) => current().write(data),
    endInput: () => current().endInput(),
    resize: (columns, rows) => current().resize(columns, rows),
    leave: () => current().leave(),
    waitingForInput: () => current().waitingForInput(),
    ...changes,
  }
}

function refuseInput(): MisuseError {
  return new MisuseError(
    'no_input',
    'This run reads no input; start it with an open stdin or a pty to write to it',
  )
}
