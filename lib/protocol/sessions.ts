import * as shape from './shape/shape.ts'

export const sessionInfoShape = shape.object({
  name: shape.anyText(),
  /** Of its shell; null before the first run and after the shell's end. */
  pid: shape.nullable(shape.integer()),
  /** Where it stands. */
  cwd: shape.anyText(),
  busy: shape.boolean(),
  /** Runs that wait for their turn. */
  queued: shape.integer(),
  idleMs: shape.number('', { min: 0 }),
})
/** A session as a list shows it. */
export interface SessionInfo extends shape.Infer<typeof sessionInfoShape> {}

/** The shells that keep their state. One is opened by the first run that names it. */
export interface Sessions {
  list(): SessionInfo[]
  /** Ends the session with all that it started. False: there is none of that name. */
  close(name: string): Promise<boolean>
}
