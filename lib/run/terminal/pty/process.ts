import type { Exit } from '../../../protocol/ports.ts'
import type { TerminalSize } from '../../../protocol/request/request.ts'
import type { DescriptorCalls } from '../descriptor-calls.ts'
import type { Launch } from '../../launch.ts'
import type { LoadedAddon } from './addon.ts'
import type { ControlGroup, ControlGroups } from '../../../system/process/control-group.ts'
import type { Uninherited } from '../../../system/process/spawn.ts'

/** A program on a terminal of its own, which is the controlling one of its session. */
export interface PtyProcess {
  pid: number
  /** Non-blocking; the receiver owns it, and takes it out of `uninherited` when it is closed. */
  master: number
  /** Non-blocking and close-on-exec; the receiver owns it. */
  slave: number
  /** The terminal's name: `/dev/pts/0`. */
  path: string
  /** Holds the program and all that it starts; null where the kernel gives none. */
  group: ControlGroup | null
  /** The end of the program itself, exactly as the system tells it. Never rejects. */
  ended: Promise<Exit>
  /** Its end does not keep nacre alive any more; a thread of the addon always does. */
  unref?: () => void
}

/** With what a program is started on a terminal. */
export interface PtyParts {
  addon: LoadedAddon
  calls: DescriptorCalls
  uninherited: Uninherited
  groups?: ControlGroups | undefined
}

export interface PtyStart {
  launch: Launch
  size: TerminalSize
}
