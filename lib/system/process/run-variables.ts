/** The name of the variable that marks every process of a run. */
export const markVariable = 'NACRE_RUN'
/** Names the nacre that has started the run, so that others can tell whether it still lives. */
export const ownerVariable = 'NACRE_OWNER'
/** The variable by which whatever a session ever started is found again. */
export const sessionVariable = 'NACRE_SESSION'

/** What tells a process that it is part of a run, or of the session in which that runs. */
const ofRun: ReadonlySet<string> = new Set(['NACRE', markVariable, ownerVariable, sessionVariable])

/** Variables by their names, as a process has them. */
type Variables = Readonly<Record<string, string | undefined>>

/** A copy without some. The environment of this process takes its time for each variable. */
export function copyWithout(
  hidden: ReadonlySet<string>,
  environment: Variables,
): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const name of Object.keys(environment)) {
    const value = hidden.has(name) ? undefined : environment[name]
    if (value !== undefined) kept[name] = value
  }
  return kept
}

/** The environment of what outlives the run that this process may be part of: it is no part of that. */
export function copyOutsideRun(environment: Variables): Record<string, string> {
  return copyWithout(ofRun, environment)
}
