/** The variables of nacre that are no keys, and what each says. */
export const otherVariables: Readonly<Record<string, string>> = {
  NACRE_NO_PTY: 'Set it to 1, and no run gets a terminal, whatever asks for one',
  NACRE: 'Nacre sets it to 1 in every run, so that a script can tell',
  NACRE_RUN: 'Nacre sets it in every run, to find its processes again',
  NACRE_SESSION: 'Nacre sets it in the shell of a session, to find its processes again',
  NACRE_OWNER: 'Nacre sets it in every run: which nacre has started it',
}
