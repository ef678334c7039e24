import { join, resolve } from 'node:path'
import { checkValue, invalid, isObject } from '../protocol/check-value.ts'
import { checkRules } from './guard-rules.ts'
import type { KeyType } from './keys.ts'
import { checkChoice, unknownKey } from './known.ts'

/** Where paths of a configuration begin. Both absolute. */
export interface Folders {
  /** For relative paths. */
  base: string
  /** For `~`. */
  home: string
}

const toolKinds = ['read', 'search', 'find', 'edit', 'write']

/**
 * Checks the value of a key and completes its paths. Throws `MisuseError`, whose `field` is the path
 * of what is wrong: `guard.rules[0].decision`.
 */
export function checkKey(name: string, value: unknown, type: KeyType, folders: Folders): unknown {
  switch (type.kind) {
    case 'path':
      checkValue(name, value, { kind: 'string', hint: 'path' })
      return toPath(String(value), folders)
    case 'paths':
      checkValue(name, value, { kind: 'names' })
      return (value as string[]).map((path) => toPath(path, folders))
    case 'words':
      return checkWords(name, value)
    case 'rules':
      checkRules(name, value)
      return value
    case 'tools':
      checkTools(name, value)
      return value
    case 'strings':
      checkValue(name, value, type)
      for (const [key, text] of Object.entries(value as object)) {
        checkValue(`${name}.${key}`, text, { kind: 'text' })
      }
      return value
    case 'choice':
      checkChoice(name, value, type.values)
      return value
    default:
      checkValue(name, value, type)
      return value
  }
}

function checkWords(name: string, value: unknown): readonly string[] {
  const words: unknown = typeof value === 'string' ? value.split(/\s+/).filter(Boolean) : value
  if (Array.isArray(words) && words.every((word) => typeof word === 'string' && word !== '')) {
    return words as string[]
  }
  throw invalid(name, 'a program with its arguments, as a text or a list of texts', value)
}

function checkTools(name: string, value: unknown): void {
  if (typeof value === 'boolean') return
  if (!isObject(value)) throw invalid(name, 'true, false, or a tool for each kind', value)
  for (const [kind, tool] of Object.entries(value)) {
    if (!toolKinds.includes(kind)) throw unknownKey(`${name}.${kind}`, kind, toolKinds)
    checkValue(`${name}.${kind}`, tool, { kind: 'string', hint: 'tool' })
  }
}

function toPath(path: string, { base, home }: Folders): string {
  return path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : resolve(base, path)
}
