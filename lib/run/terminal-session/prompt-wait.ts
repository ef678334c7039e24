/** Between two looks whether a shell waits at a prompt that it has not told. */
const lookMs = 200

/** Those who wait for the next prompt of a shell. */
export interface PromptWait {
  /** Settles with true at the prompt, with false when the shell has ended. */
  join(): Promise<boolean>
  settle(isThere: boolean): void
}

/**
 * `isEditing`: whether the line editor waits for keys, though no mark has told of its prompt: an interrupt
 * can end what draws it, so that its mark never comes by itself. Then `call` asks for the mark.
 */
export function createPromptWait(isEditing: () => boolean, call: () => void): PromptWait {
  let waiting: ((isThere: boolean) => void)[] = []
  let timer: NodeJS.Timeout | undefined
  /** It was so at the look before, too: no prompt is being drawn. */
  let wasEditing = false

  function look(): void {
    const isSo = isEditing()
    if (isSo && wasEditing) call()
    wasEditing = isSo
  }

  return {
    join() {
      timer ??= setInterval(look, lookMs)
      return new Promise((resolve) => waiting.push(resolve))
    },
    settle(isThere) {
      clearInterval(timer)
      timer = undefined
      for (const settle of waiting.splice(0)) settle(isThere)
    },
  }
}
