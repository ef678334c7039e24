import { editorKeys } from './editor-dialect.ts'

/** A shell that has lost so many calls is not to be had. */
const mostCalls = 4
/** So long after another prompt the call may still be on its way to the editor. */
const lostCallMs = 1500
/** So long a called editor may take to begin; then it is called again from a fresh prompt. */
const callTimeoutMs = 3000
/** Whatever holds the editor, an interrupt leads back to a prompt. */
export const interruptKey = '\u0003'

/** Presses the keys that the editor of a shell takes a command by, until it has. */
export interface EditorCall {
  begin(): void
  /** The editor has come to another prompt, behind a line that was typed before, or has lost the call. */
  meetPrompt(): void
  /** It has taken the command, or is gone. */
  end(): void
}

export function createEditorCall(options: {
  keys: string
  type: (data: string) => void
  /** It does not answer at all. */
  giveUp: () => void
}): EditorCall {
  const { type, giveUp } = options
  let timer: NodeJS.Timeout | undefined
  let calls = 0

  function press(): void {
    clearTimeout(timer)
    if (++calls > mostCalls) return giveUp()
    type(options.keys)
    timer = setTimeout(() => {
      type(interruptKey)
      type(editorKeys.tell)
      timer = setTimeout(giveUp, callTimeoutMs)
    }, callTimeoutMs)
  }

  return {
    begin() {
      calls = 0
      press()
    },
    meetPrompt() {
      clearTimeout(timer)
      timer = setTimeout(press, lostCallMs)
    },
    end: () => clearTimeout(timer),
  }
}
