/** Between two looks whether a shell waits at a prompt that it has not told. */
const lookMs = 200
/** An editor that is called so often without an answer is not to be had. */
const mostCalls = 8

/** Those who wait for the next prompt of a shell. */
export interface PromptWait {
  /** Settles with true at the prompt, with false when the shell has ended. */
  join(): Promise<boolean>
  settle(isThere: boolean): void
}

/** An editor that may wait for keys at a prompt whose mark has not come. */
export interface PromptEditor {
  /** Whether it waits for keys so. */
  isEditing(): boolean
  /** Interrupts its wait and nothing else. */
  wake(): void
  /** Asks it for the mark. */
  call(): void
  /** It does not answer at all. */
  giveUp(): void
}

/**
 * An interrupt can end what draws a prompt, so that its mark never comes by itself, and the editor is asked
 * for it. fish 3.6 then gives up all that its keys call until a signal wakes it in its wait for them; now and
 * then it never runs anything again.
 */
export function createPromptWait(editor: PromptEditor): PromptWait {
  let waiting: ((isThere: boolean) => void)[] = []
  let timer: NodeJS.Timeout | undefined
  /** Looks in a row that found it so; a single one may have come just before the mark. */
  let looks = 0
  let calls = 0

  function look(): void {
    looks = editor.isEditing() ? looks + 1 : 0
    if (looks === 2) editor.wake()
    if (looks < 3) return
    looks = 1
    if (++calls > mostCalls) editor.giveUp()
    else editor.call()
  }

  return {
    join() {
      timer ??= setInterval(look, lookMs)
      return new Promise((resolve) => waiting.push(resolve))
    },
    settle(isThere) {
      clearInterval(timer)
      timer = undefined
      looks = calls = 0
      for (const settle of waiting.splice(0)) settle(isThere)
    },
  }
}
