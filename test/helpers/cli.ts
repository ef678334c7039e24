import { existsSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

/**
 * The command line that starts nacre in tests: `bin/nacre.js` under this Node, or the JSON array
 * of `NACRE_TEST_CLI`, so that the same tests run against the single binary and under Deno:
 * `NACRE_TEST_CLI='["dist/nacre"]' npm test`. Paths in it start at the project.
 */
export function cliCommand(): string[] {
  const given = process.env['NACRE_TEST_CLI']
  if (given === undefined) return [process.execPath, join(root, 'bin', 'nacre.js')]
  const command: unknown = JSON.parse(given)
  if (
    Array.isArray(command) &&
    command.length > 0 &&
    command.every((it) => typeof it === 'string')
  ) {
    return command.map(fromProject)
  }
  throw new TypeError('NACRE_TEST_CLI must be a JSON array of strings')
}

/**
 * What nacre runs on in these tests: the value of `NACRE_TEST_RUNTIME` (`node24`, `bun`, `deno`), else `node`.
 * Only for what the runtime does before it comes to nacre, and for what all have in common.
 */
export function cliRuntime(): string {
  return process.env['NACRE_TEST_RUNTIME'] ?? 'node'
}

/** Of cases that are the same to every runtime all for this Node, and for another one a fifth. */
export function shareOf<Case>(cases: readonly Case[]): readonly Case[] {
  return cliRuntime() === 'node' ? cases : cases.filter((_, index) => index % 5 === 0)
}

function fromProject(word: string): string {
  const path = join(root, word)
  return word.includes('/') && existsSync(path) ? path : word
}
