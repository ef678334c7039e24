import { readdirSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type {
  AutocompleteItem,
  AutocompleteProvider,
} from '@mariozechner/pi-tui/dist/autocomplete.js'
import { isDirectory } from './is-directory.ts'
import { listPrograms } from './programs.ts'

export interface CompletionOptions {
  slashCommands: readonly { name: string; description: string }[]
  isBash: () => boolean
  cwd: () => string
  environment: Readonly<Record<string, string | undefined>>
  /** For `/model`. */
  listModels: () => Promise<string[]>
}

/** Beyond it a list helps nobody. */
const shownItems = 200

/** What a line for the shell begins with. */
const bang = /^\s*!{1,2}&?/
/** The last word of an unfinished command; a backslash keeps a blank in it. */
const lastWord = /(?:\\.|[^\s\\|&;()<>])*$/
/** Nothing but a separator, or `!`, stands before the first word of a command. */
const commandStart = /(?:^\s*!{0,2}&?|[|&;(]|\$\()\s*$/

/**
 * Slash commands as they are typed; with Tab the programs of the PATH where a command begins, else
 * paths.
 */
export function createCompletion(options: CompletionOptions): AutocompleteProvider {
  return {
    async getSuggestions(lines, row, column, { force }) {
      const before = (lines[row] ?? '').slice(0, column)
      const slash = /^\/([a-z-]*)$/i.exec(row === 0 && !options.isBash() ? before : '')
      if (slash) return suggest(before, slashItems(slash[1] ?? '', options))
      const model = /^\/model\s+(\S*)$/i.exec(row === 0 && !options.isBash() ? before : '')
      if (model) return suggest(model[1] ?? '', await modelItems(model[1] ?? '', options))
      if (!force) return null
      const { head, word } = splitLastWord(before)
      const isFirst = commandStart.test(head) && (options.isBash() || lines[0]?.startsWith('!'))
      const items =
        isFirst && !word.includes('/') ? programItems(word, options) : pathItems(word, options)
      // An empty prefix: the editor submits what it completes after a slash.
      return suggest('', items)
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

/** A line up to the cursor: its unfinished last word, and what stands before. */
function splitLastWord(before: string): { head: string; word: string } {
  const start = bang.exec(before)?.[0].length ?? 0
  const word = lastWord.exec(before.slice(start))?.[0] ?? ''
  return { head: before.slice(0, before.length - word.length), word }
}

function suggest(prefix: string, items: AutocompleteItem[]) {
  return items.length === 0 ? null : { prefix, items: items.slice(0, shownItems) }
}

function slashItems(start: string, { slashCommands }: CompletionOptions): AutocompleteItem[] {
  return slashCommands
    .filter(({ name }) => name.startsWith(start.toLowerCase()))
    .map(({ name, description }) => ({ value: `/${name}`, label: `/${name}`, description }))
}

async function modelItems(part: string, options: CompletionOptions): Promise<AutocompleteItem[]> {
  const models = await options.listModels()
  return models.filter((name) => name.includes(part)).map((name) => ({ value: name, label: name }))
}

function programItems(start: string, { environment }: CompletionOptions): AutocompleteItem[] {
  if (start === '') return []
  return listPrograms(environment['PATH'] ?? '')
    .filter((name) => name.startsWith(start))
    .map((name) => ({ value: `${name} `, label: name }))
}

function pathItems(word: string, { cwd, environment }: CompletionOptions): AutocompleteItem[] {
  const bare = word.replaceAll(/\\(.)/g, '$1')
  const named = bare.endsWith('/') || bare === '' ? bare : dirname(bare)
  const folder = named.replace(/^~(?=\/|$)/, environment['HOME'] ?? '~')
  const start = bare.endsWith('/') || bare === '' ? '' : basename(bare)
  const prefix = word.slice(0, word.lastIndexOf('/') + 1)
  const directory = resolve(cwd(), folder)
  return readNames(directory)
    .filter((name) => name.startsWith(start) && (start !== '' || !name.startsWith('.')))
    .map((name) => {
      const isFolder = isDirectory(join(directory, name))
      const value = prefix + name.replaceAll(/[\s'"\\$`&|;()<>*?[\]!#~{}]/g, '\\$&')
      return { value: value + (isFolder ? '/' : ' '), label: name + (isFolder ? '/' : '') }
    })
}

function readNames(directory: string): string[] {
  try {
    return readdirSync(directory).sort()
  } catch {
    // Not there or not readable: nothing to offer.
    return []
  }
}
