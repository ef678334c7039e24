/** A session as a list shows it. */
export interface SessionInfo {
  name: string
  /** Of its shell; null before the first run and after the shell's end. */
  pid: number | null
  /** Where it stands. */
  cwd: string
  busy: boolean
  /** Runs that wait for their turn. */
  queued: number
  idleMs: number
}

/** The shells that keep their state. One is opened by the first run that names it. */
export interface Sessions {
  list(): SessionInfo[]
  /** Ends the session with all that it started. False: there is none of that name. */
  close(name: string): Promise<boolean>
}
