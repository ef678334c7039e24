/**
 * The compiler's declarations of the library, with words at each field. A shape (lib/protocol/shape) says in
 * its source what its fields mean, in a comment or as its description; of the type that the compiler infers
 * from it, only names and types are left.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Writes above each field of a shape what its source says.
 *
 * @param {string} types folder of the declarations
 * @param {string} lib folder of their sources
 */
export async function documentFields(types, lib) {
  const names = (await readdir(types, { recursive: true })).filter((name) => name.endsWith('.d.ts'))
  /** @type {Map<string, Map<string, string>>} */
  const told = new Map()
  for (const name of names) {
    told.set(name, readDescriptions(await readFile(join(lib, sourceOf(name)), 'utf8')))
  }
  for (const [name, own] of told) {
    const file = join(types, name)
    const declared = await readFile(file, 'utf8')
    const imported = [...declared.matchAll(/^import .* from '(\..*)\.ts';$/gm)].flatMap(
      ([, path = '']) => [...(told.get(join(name, '..', `${path}.d.ts`)) ?? [])],
    )
    const written = documentIn(declared, new Map([...imported.reverse(), ...own]))
    if (written !== declared) await writeFile(file, written)
  }
}

/** @param {string} name of a declaration */
function sourceOf(name) {
  return name.replace(/\.d\.ts$/, '.ts')
}

/**
 * @param {string} source
 * @returns {Map<string, string>} field → what it means; the first place that says so counts
 */
function readDescriptions(source) {
  const found = new Map()
  const within = String.raw`(?:[^'()[]|\[[^\]]*\]|\([^()]*\))*`
  const field = new RegExp(
    String.raw`(?:/\*\* ((?:(?!\*/)[^])*?) \*/\s+)?\b(\w+)(?:: | = )(?:shape\.)?[a-z]\w+(?:(?:<[^<>()]+>)?\((?:${within}'((?:[^'\\\n]|\\.)+)')?)?`,
    'g',
  )
  for (const [, comment, name = '', description] of source.matchAll(field)) {
    const text = comment?.replaceAll(/\s*\n\s*\*\s*/g, ' ') ?? description
    if (text !== undefined && !found.has(name)) found.set(name, text)
  }
  return found
}

/**
 * @param {string} declared
 * @param {ReadonlyMap<string, string>} descriptions
 */
function documentIn(declared, descriptions) {
  return declared.replaceAll(/^( +)readonly '~value'\?: \{\n[^]*?\n\1\};$/gm, (block) =>
    block.replaceAll(/^( +)(\w+)\??: /gm, (line, indent, name) => {
      const text = descriptions.get(name)
      return text === undefined ? line : `${indent}/** ${text} */\n${line}`
    }),
  )
}
