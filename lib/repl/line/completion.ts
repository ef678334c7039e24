import type {
  AutocompleteItem,
  AutocompleteProvider,
} from '@mariozechner/pi-tui/dist/autocomplete.js'

export interface CompletionOptions {
  slashCommands: readonly {
    name: string
    description: string
    /** What may follow its name. */
    complete?: (() => readonly string[] | Promise<readonly string[]>) | undefined
  }[]
  isBash: () => boolean
  /** What the person's shell would make of the end of a line: the last word, then the candidates. */
  askShell: (line: string) => Promise<readonly string[] | null>
}

/** A longer list helps nobody. */
const shownItems = 200

/** What a line for the shell begins with. */
const bang = /^\s*!{1,2}\s*/

/** Slash commands as they are typed; with Tab whatever the person's own shell would complete. */
export function createCompletion(options: CompletionOptions): AutocompleteProvider {
  return {
    async getSuggestions(lines, row, column, { force, signal }) {
      const before = [...lines.slice(0, row), (lines[row] ?? '').slice(0, column)].join('\n')
      const slash = /^\/([a-z-]*)$/i.exec(before)
      if (slash) return suggest(before, slashItems(slash[1] ?? '', options))
      if (!force) return null
      const named = /^\/([a-z-]+)\s+(\S*)$/i.exec(before)
      const command = options.slashCommands.find(({ name }) => name === named?.[1]?.toLowerCase())
      if (command?.complete)
        return suggest('', argumentItems(await command.complete(), named?.[2] ?? ''))
      const answer = await options.askShell(shellLine(before, options.isBash()))
      if (signal.aborted || !answer) return null
      const [word = '', ...candidates] = answer
      const { raw } = splitLastWord(before)
      return suggest(
        '',
        [...new Set(candidates)]
          .filter((text) => text !== '')
          .map((text) => itemOf(text, word, raw)),
      )
    },
    applyCompletion(lines, row, column, { value }, prefix) {
      const line = lines[row] ?? ''
      const before = line.slice(0, column)
      const kept = prefix.startsWith('/') ? '' : splitLastWord(before).head
      const changed = [...lines]
      changed[row] = kept + value + line.slice(column)
      return { lines: changed, cursorLine: row, cursorCol: kept.length + value.length }
    },
  }
}

/** What the shell is asked: a message to the model holds paths at most. */
function shellLine(before: string, bash: boolean): string {
  if (bash) return before
  const start = bang.exec(before)
  return start ? before.slice(start[0].length) : `: ${splitLastWord(before).raw}`
}

function suggest(prefix: string, items: AutocompleteItem[]) {
  return items.length === 0 ? null : { prefix, items: items.slice(0, shownItems) }
}

function slashItems(start: string, { slashCommands }: CompletionOptions): AutocompleteItem[] {
  return slashCommands
    .filter(({ name }) => name.startsWith(start.toLowerCase()))
    .map(({ name, description }) => ({ value: `/${name}`, label: `/${name}`, description }))
}

function argumentItems(words: readonly string[], start: string): AutocompleteItem[] {
  return words.filter((word) => word.includes(start)).map((word) => ({ value: word, label: word }))
}

/** A line up to the cursor: its unfinished last word as it is typed, and what stands before. */
function splitLastWord(before: string): { head: string; raw: string } {
  let start = bang.exec(before)?.[0].length ?? 0
  let quote = ''
  for (let at = start; at < before.length; at++) {
    const char = before[at] ?? ''
    if (char === '\\' && quote !== "'") at++
    else if (quote !== '') {
      if (char === quote) quote = ''
    } else if (char === '"' || char === "'") quote = char
    else if (/[\s|&;()<>]/.test(char)) start = at + 1
  }
  return { head: before.slice(0, start), raw: before.slice(start) }
}

/** `candidate` for the word as the shell reads it, to be typed where `raw` stands. */
function itemOf(candidate: string, word: string, raw: string): AutocompleteItem {
  const label = candidate.trimEnd()
  const ends = /[/=:]$/.test(label)
  // An option's value is completed by itself.
  const kept =
    !label.startsWith(word) && raw.includes('=') ? raw.slice(0, raw.indexOf('=') + 1) : ''
  const quote = /^["']/.exec(raw)?.[0] ?? ''
  if (quote !== '') return { value: quote + label + (ends ? '' : `${quote} `), label }
  const start = /^(?:\$\{?|~)/.exec(label)?.[0] ?? ''
  const escaped = label.slice(start.length).replaceAll(/[\s'"\\$`&|;()<>*?[\]!#{}]/g, '\\$&')
  return { value: kept + start + escaped + (ends ? '' : ' '), label }
}
