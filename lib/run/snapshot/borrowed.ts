import type { CapturedParts } from './capture.ts'
import { type Definitions, wordsOf } from './definitions.ts'
import { composeDefinitions, isReadableBash } from './text.ts'
import { toBash } from './zsh-words.ts'
import { quoteWord } from '../../protocol/words.ts'

/**
 * What a bash can take over of another shell's functions and aliases: of zsh those whose text is known to
 * mean the same, of fish the aliases that are simple words. `bash` is the program that will read them.
 */
export async function borrowDefinitions(
  parts: CapturedParts,
  shell: string,
  bash: string,
): Promise<Definitions> {
  const functions = shell === 'zsh' ? mapKept(parts.functions, toBash) : new Map()
  const valueOf = shell === 'zsh' ? valueOfZshAlias : valueOfFishAlias
  const aliases = mapKept(parts.aliases, (text, name) => {
    const value = valueOf(text)
    return value === null || name.includes("'") ? null : `alias ${name}=${quoteWord(value)}`
  })
  const all = new Set([...parts.functions.keys(), ...parts.aliases.keys()])
  const kept = keepComplete({ functions, aliases }, all)
  if (await isReadableBash(bash, composeDefinitions(kept))) return kept
  return keepReadable(kept, bash)
}

function mapKept(
  texts: ReadonlyMap<string, string>,
  change: (text: string, name: string) => string | null,
): Map<string, string> {
  const kept = new Map<string, string>()
  for (const [name, text] of texts) {
    const changed = /^[\w.+@%,:-]+$/.test(name) ? change(text, name) : null
    if (changed !== null) kept.set(name, changed)
  }
  return kept
}

/** Those that name nothing of the person's which is missing. */
function keepComplete(found: Definitions, all: ReadonlySet<string>): Definitions {
  const isThere = (name: string) => found.functions.has(name) || found.aliases.has(name)
  const isComplete = ([name, text]: [string, string]) =>
    wordsOf(text).every((word) => word === name || !all.has(word) || isThere(word))
  const functions = new Map([...found.functions].filter(isComplete))
  const aliases = new Map([...found.aliases].filter(isComplete))
  const isSame = functions.size === found.functions.size && aliases.size === found.aliases.size
  return isSame ? found : keepComplete({ functions, aliases }, all)
}

async function keepReadable({ functions, aliases }: Definitions, bash: string) {
  const keep = async (texts: ReadonlyMap<string, string>) => {
    const kept = new Map<string, string>()
    for (const [name, text] of texts) if (await isReadableBash(bash, text)) kept.set(name, text)
    return kept
  }
  return { functions: await keep(functions), aliases: await keep(aliases) }
}

/** What stands behind `alias name=`, where both shells read that alike. */
function valueOfZshAlias(text: string): string | null {
  const [, quoted, word] =
    /^alias (?!-)[^=]+=(?:'((?:[^']|'\\'')*)'|([\w./:@%+,-]+))\s*$/.exec(text) ?? []
  const value = word ?? quoted?.replaceAll(String.raw`'\''`, "'") ?? ''
  return value !== '' && toBash(value) === value ? value : null
}

/** Its value as it stands. */
function valueOfFishAlias(value: string): string | null {
  return /^(?:[\w\s./:=@%+,~|-]|'[^'\\]*'|"[^"\\$`]*")+$/.test(value) ? value : null
}
