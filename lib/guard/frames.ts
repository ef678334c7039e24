import type { Places, SeenCommand } from './rules/rule.ts'
import type { Scope } from './shell/scope.ts'

/** Whether a command runs, is a guess at an unknown name, or stands in a function nobody calls. */
export type Likelihood = 'runs' | 'supposed' | 'defined'

/** Whether the text is none that the grammar reads, or what it does is not to be known. */
export type Doubt = 'unparsed' | 'unknown'

export interface Listener {
  /** Hears of every command, with the part of the text that it stands in. */
  readonly saw: (command: SeenCommand, text: string, likelihood: Likelihood) => void
  /** Hears of what cannot be known and matters. */
  readonly doubted: (reason: string, text: string, kind: Doubt) => void
}

/** What surrounds the node that is being read. */
export interface Frame {
  /** The text that positions of nodes refer to. */
  readonly source: string
  /** The part of it that a verdict shows. */
  readonly text: string
  readonly likelihood: Likelihood
  readonly standsAlone: boolean
}

/** The frames around one another at this point of a reading, and what is reported from there. */
export class Frames {
  private frame: Frame = { source: '', text: '', likelihood: 'runs', standsAlone: true }
  private readonly listener: Listener
  private readonly places: Omit<Places, 'directories'>

  constructor(listener: Listener, places: Omit<Places, 'directories'>) {
    this.listener = listener
    this.places = places
  }

  /** The innermost one. */
  get current(): Frame {
    return this.frame
  }

  /** Reads in a frame that is the current one but for some changes. */
  within<T>(changes: Partial<Frame>, read: () => T): T {
    const outer = this.frame
    this.frame = { ...outer, ...changes }
    const result = read()
    this.frame = outer
    return result
  }

  /** Reports what cannot be known, where it runs: elsewhere it does not matter. */
  doubt(reason: string, kind: Doubt = 'unknown'): void {
    const { text, likelihood } = this.frame
    if (likelihood === 'runs') this.listener.doubted(reason, text, kind)
  }

  /** Reports a command. */
  tell(command: Omit<SeenCommand, 'standsAlone' | 'places'>, { directories }: Scope): void {
    const { text, likelihood, standsAlone } = this.frame
    const places = { directories, ...this.places }
    this.listener.saw({ ...command, standsAlone, places }, text, likelihood)
  }
}
