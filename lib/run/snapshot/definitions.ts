/** Functions and aliases by their names, each as the text that defines it. */
export interface Definitions {
  readonly functions: ReadonlyMap<string, string>
  readonly aliases: ReadonlyMap<string, string>
}

/**
 * What a command needs of a person's functions and aliases: those that it names, and those that these
 * name in turn. To read all of them would cost each command as much as starting its shell (10 ms for
 * 100 KB). A command whose words are known only when it runs may need any of them, and gets all.
 */
export function selectDefinitions(all: Definitions, command: string): Definitions {
  const functions = new Map<string, string>()
  const aliases = new Map<string, string>()
  const texts = [command]
  for (let text = texts.pop(); text !== undefined; text = texts.pop()) {
    if (isOpen(text)) return all
    for (const word of wordsOf(text)) {
      for (const [found, known] of [
        [functions, all.functions],
        [aliases, all.aliases],
      ] as const) {
        const definition = known.get(word)
        if (definition === undefined || found.has(word)) continue
        found.set(word, definition)
        texts.push(definition)
      }
    }
  }
  return { functions, aliases }
}

/** What may be the name of a command in it. */
export function wordsOf(text: string): string[] {
  return [...new Set(text.split(separators))]
}

const separators = /[\s;&|()<>`$"'\\{}]+/

/** Whether commands are run in it that it does not spell out. */
function isOpen(text: string): boolean {
  return opensByWord.test(text) || opensByVariable.test(text)
}

/** Commands that run, list or change others by their names. */
const opensByWord =
  /(?:^|[\s;&|({`])(?:eval|source|\.|alias|unalias|declare|typeset|compgen|functions)(?:$|[\s;&|)}`])/

/** A variable or substitution where a command stands. */
const opensByVariable =
  /(?:^|[;&|({`\n!]|(?:^|[\s;&|])(?:then|do|else|elif|if|while|until|time|exec|command|builtin)\s)\s*(?:[A-Za-z_]\w*=\S*\s+)*"?[$`]/
