/** Every limit and default of the contract that is a number, with its unit in its name. */
export const limits = {
  /** Default bounds of `output`: both hold, whichever is hit first. */
  maxLines: 2000,
  maxBytes: 51_200,
  /** A longer line is cut in `output`, with a mark that says how much is missing. */
  maxLineChars: 2000,
  /** Lines kept at each end with `truncate: head-tail`. */
  headTailLines: 80,
  /** `truncate: none` still ends somewhere: the longest line of a protocol. */
  noneMaxBytes: 64 * 1024 * 1024,
  /** The output of a program's own run, each stream by itself; passing it stops the run and throws. */
  wholeBytes: 100_000_000,

  /** The time between TERM and KILL when a run is stopped. */
  stopGraceMs: 2000,
  /** After KILL, how long to look for what is still alive before it is named as a survivor. */
  killGraceMs: 3000,

  /**
   * After the end of a client's input, what it asked before may run on for this long, so that it is still
   * answered.
   */
  endOfInputMs: { rpc: 4000, mcp: 10_000 },

  /** Deadlines by mode, in seconds. */
  timeoutSeconds: { default: 30, slow: 900, background: 86_400 },
  /** What an agent may ask for; beyond it is clamped with a notice. */
  agentTimeoutSeconds: { min: 1, max: 3600 },
  shellExecTimeoutSeconds: { default: 120, max: 300 },

  /** One artifact on disk; past it both ends are kept. */
  artifactBytes: 256 * 1024 * 1024,
  /** All artifacts of a user, oldest removed first. */
  storeBytes: 2 * 1024 * 1024 * 1024,
  storeAgeDays: 14,
  /** How many raw bytes of an artifact one reading gives. */
  rawReadBytes: 1024 * 1024,

  /** How many jobs of one user may be alive at once. */
  jobs: 64,
  /** How many ended jobs stay readable. */
  jobsKept: 200,
  jobAgeDays: 7,
  /** A job that nobody waits for is stopped after this time. */
  supervisedSeconds: 86_400,
  jobWaitSeconds: 300,
  /** How many tasks one array may have. */
  arrayTasks: 100_000,
  sessions: 32,
  sessionIdleMinutes: 30,
  snapshotMs: 2000,

  /** What the terminal of a run may measure. */
  terminalColumns: { minimum: 20, maximum: 400 },
  terminalRows: { minimum: 5, maximum: 200 },

  /** A longer command is refused: the guard reads every command to its end. */
  commandChars: 262_144,
  /** How much of a command stands in lists and previews. */
  commandPreviewChars: 400,
  auditBytes: 16 * 1024 * 1024,
} as const

/** The size of a terminal where nobody says it. */
export const usualSize = { columns: 80, rows: 24 } as const
