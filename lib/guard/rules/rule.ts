import type { Decision } from '../../protocol/result/verdict.ts'
import type { Mount } from '../shell/scope.ts'
import { absoluteNames, Text } from '../shell/text.ts'

/** One simple command as it would be started: quotes, variables and wrappers resolved. */
export interface SeenCommand {
  /** The program's name without its folder; empty where there are only redirections. */
  readonly name: string
  /** The program as written, then its arguments. */
  readonly words: readonly Text[]
  readonly args: readonly Text[]
  /** The files that its redirections write. */
  readonly writes: readonly Text[]
  /** Not in a pipeline, substitution, loop or function. */
  readonly standsAlone: boolean
  /** Whether it has redirections or reads a pipe. */
  readonly redirected: boolean
  readonly places: Places
  /** The text of a file as far as the command itself wrote it, of `-` what it reads; else null. */
  readonly read: (path: Text) => Text | null
}

/** Where the command stands. All absolute. */
export interface Places {
  /** Where the command may be running; several after a branch. */
  readonly directories: readonly Text[]
  /** What a container sees of this machine; null: the command runs in none. */
  readonly mounts: readonly Mount[] | null
  /** The directory of the request. */
  readonly start: string
  readonly home: string
}

/** The paths of this machine that a path may stand for, each with the directory it is seen from. */
export function pathsOnHost(path: Text, { directories, mounts }: Places): [Text, Text][] {
  if (mounts === null) return directories.map((directory) => [path, directory])
  return directories.flatMap((directory) => {
    const names = absoluteNames(path, directory)
    return mounts.flatMap(({ outside, inside }): [Text, Text][] => {
      const isBelow = inside.every((name, at) => names[at]?.matches(name.chars))
      if (isBelow) return [[Text.join([outside, ...names.slice(inside.length)], '/'), outside]]
      // Above the mount, so that all of the mounted folder is below the path.
      const isAbove = names.every((name, at) => name.matches(inside[at]?.chars ?? ''))
      return isAbove ? [[Text.join([outside, '/', new Text('*', '*')]), outside]] : []
    })
  })
}

/** The name under which a function that multiplies itself is seen. */
export const forkBomb = ':(){ :|:& };:'

export interface Caught {
  /** Completes "this command …": `removes / recursively`. */
  readonly does: string
  /** False: it depends on something that cannot be known; the verdict is `ask`. */
  readonly certain: boolean
  readonly suggestedTool?: string
  /** What to do instead, where it is not what the rule says in general. */
  readonly instead?: string
}

export interface Rule {
  readonly name: string
  readonly decision: Exclude<Decision, 'allow'>
  /** What to do instead, a sentence. */
  readonly instead: string
  /** Whose commands it looks at. */
  readonly holdsFor: 'everyone' | 'agents'
  /** Commands that it must catch, and their harmless look-alikes. */
  readonly examples: { readonly match: readonly string[]; readonly pass: readonly string[] }
  check(command: SeenCommand): Caught | null
}
