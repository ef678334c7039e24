/**
 * What differs between the shells that a session on a terminal can be.
 *
 * The shell is an ordinary interactive one, with its start files and its own line editor. nacre presses
 * a key that no keyboard has; the editor answers by reading the command from a file and accepting a
 * line that evaluates it. So each command runs where a typed one would: at top level, with job
 * control, hooks and aliases. Control strings that the shell prints around it (`ESC ] <nonce> ; … BEL`,
 * like those of OSC 133) tell where its output begins and ends, and with which status.
 */
export interface EditorDialect {
  /** The words that start the shell, and the files that it reads from the folder of the session. */
  compose: (start: ShellStart) => { args: string[]; files: Record<string, string> }
  /** A word that the shell reads back as exactly this text. */
  quote: (text: string) => string
  /** Sets and exports a variable for one command, and keeps what was there. */
  lendVariable: (name: string, quotedValue: string) => string
  /** Behind a command with a pipeline: keeps the statuses of its stages, which `eval` would lose; null: it does not. */
  keepStages: string | null
  /** Gives back what `lendVariable` kept. */
  restoreVariable: (name: string) => string
  changeDirectory: (quotedPath: string) => string
  /** What a shell whose state another one has taken over must not do at its end: its exit traps. */
  forgetEnd: string
  exportVariable: (name: string, quotedValue: string) => string
  /** What is typed so that the editor takes the command and runs it. */
  callKeys: string
  /** Whether what is printed between a command's end and the next prompt is for the person. */
  showsHooks: boolean
}

export interface ShellStart {
  /** The session's folder, as the shell sees it. */
  folder: string
  /** The file that holds what the editor is to take. */
  turnPath: string
  /** The file that the shell leaves its state in; null: it leaves none. */
  statePath: string | null
  nonce: string
  login: boolean
  /** Without the person's start files. */
  plain: boolean
  /** What an earlier shell left in its state file, and this one takes over. */
  state: string
}

/** The keys that the editor of the shell listens to: take a command, accept it, answer a question, tell its prompt. */
export const editorKeys = {
  take: '\u001B[7778~',
  accept: '\u001B[7779~',
  ask: '\u001B[7777~',
  tell: '\u001B[7775~',
  /** What Enter does first: at the prompt nothing that was typed runs by itself. */
  drop: '\u001B[7776~',
} as const

/**
 * Ends a state that was written whole, with the number of the prompt behind which it was written: a mark
 * of a prompt carries the same.
 */
export const stateEnd = '# whole '

/**
 * What the editor takes: what to do before the command's output begins, the command, and the line that the shell's
 * own history keeps; empty: none.
 */
export function encodeTurn(before: string, command: string, line = ''): string {
  return `${before}\0${command}\0${line}\0`
}

/** What the editor is asked for: a line to complete, up to the cursor. */
export function encodeQuestion(line: string): string {
  return `${line}\0`
}
