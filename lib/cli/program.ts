/** The part of `node:sea` that is used here; Deno has none of it. */
interface Sea {
  isSea(): boolean
}

/**
 * The words that start this nacre once more: the single executable itself, else the runtime with the
 * entry that it was given.
 */
export function programWords(self: NodeJS.Process): string[] {
  const sea = self.getBuiltinModule('node:sea') as Sea | undefined
  if (sea?.isSea()) return [self.execPath]
  const entry = self.argv[1] ?? ''
  if ('Deno' in globalThis) return [self.execPath, 'run', '-A', '-q', entry]
  return [self.execPath, ...self.execArgv, entry]
}
