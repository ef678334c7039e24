interface Emulator {
  readonly rows: number
  readonly cols: number
}

interface Core {
  registerCsiHandler(
    sequence: { final: string },
    handle: (given: { readonly params: Int32Array }) => boolean,
  ): unknown
}

/**
 * Bounds the counts that xterm.js (6.0) carries out one by one: to scroll 2,147,483,647 lines takes it hours,
 * in which nacre hears no signal. Beyond the size of the screen they mean nothing.
 */
export function limitCounts(terminal: Emulator): void {
  // Its public handlers get a copy of the parameters.
  const { _core: core } = terminal as unknown as { _core: Core }
  const limit = (finals: string, most: () => number) => {
    for (const final of finals) {
      core.registerCsiHandler({ final }, ({ params }) => {
        params[0] = Math.min(params[0]!, most())
        return false
      })
    }
  }
  limit('LMST', () => terminal.rows)
  limit('IZ', () => terminal.cols)
  limit('b', () => terminal.rows * terminal.cols)
}
