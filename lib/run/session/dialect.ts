/**
 * What differs between the shells of sessions on terminals.
 *
 * The shell is an ordinary interactive one, with its start files and its own line editor. nacre presses
 * a key that no keyboard has; the editor answers by reading the command from a file and accepting a
 * line that evaluates it. So each command runs where a typed one would: at top level, with job
 * control, hooks and aliases. Control strings that the shell prints around it (`ESC ] <nonce> ; … BEL`,
 * like those of OSC 133) tell where its output begins and ends, and with which status.
 */
export interface EditorDialect {
  /** The words that start the shell, and the files that it reads from the folder of the session. */
  compose(start: EditorStart): { args: string[]; files: Record<string, string> }
  /** A word that the shell reads back as exactly this text. */
  quote(text: string): string
  /** Behind a command with a pipeline: keeps the statuses of its stages, which `eval` would lose; null: not needed. */
  keepStages: string | null
  changeDirectory(quotedPath: string): string
  exportVariable(name: string, quotedValue: string): string
  /** What is typed so that the editor takes the command and runs it. */
  callKeys: string
  /** Whether what is printed between a command's end and the next prompt is for the person. */
  showsHooks: boolean
}

export interface EditorStart {
  /** The session's folder, as the shell sees it. */
  folder: string
  /** The file that holds what the editor is to take. */
  turnPath: string
  /** The file that the shell leaves its exported variables in at each prompt; null: it may write nothing. */
  exportsPath: string | null
  nonce: string
  login: boolean
  /** Without the person's start files. */
  plain: boolean
  /** What an earlier shell left in its file of exports. */
  exports: string
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
