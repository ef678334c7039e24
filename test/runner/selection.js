import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { root } from './program.js'

/** Every test file, as a path in the project. */
export function listTestFiles() {
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', name))
    .sort()
}

/** Which files of the project each file imports, itself or by way of others. */
export class Imports {
  /** @type {Map<string, string[]>} */
  #direct = new Map()

  /**
   * @param {string} file path in the project
   * @returns {Map<string, number>} every file that it reaches, with the least number of steps
   */
  reach(file) {
    const distances = new Map([[file, 0]])
    for (const [from, distance] of distances) {
      for (const to of this.#importsOf(from)) {
        if (!distances.has(to)) distances.set(to, distance + 1)
      }
    }
    return distances
  }

  /**
   * @param {string} file
   * @returns {string[]}
   */
  #importsOf(file) {
    let found = this.#direct.get(file)
    if (found === undefined) {
      const text = readFileSync(join(root, file), 'utf8')
      const words = text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g)
      found = [...words].map(([, path = '']) => normalize(join(dirname(file), path)))
      found = found.filter((path) => existsSync(join(root, path)))
      this.#direct.set(file, found)
    }
    return found
  }
}

/**
 * The long tables: what takes minutes and breaks seldom. `npm run test:all` runs all of them; `.ci/run` one after the
 * other, a table a commit.
 *
 * @type {Readonly<Record<string, RegExp>>}
 */
export const longTables = {
  ssh: /^test\/run\/host\/(?:ssh|ssh-array|script|frames|login-shells)\.|^test\/repl\/ssh\./,
  hosts: /^test\/run\/host\/(?:cut|kept|nacre-there|container)\./,
  slurm: /^test\/run\/slurm\//,
  sandbox: /^test\/run\/sandbox\/sandbox-(?:user|work)\.|^test\/doors\/matrix\./,
  shells: /^test\/executor\/terminal-session-|^test\/repl\/(?:living|start-files)\.|\/saboteurs\./,
  fuzz: /^test\/guard\/(?:fuzz|limits|scripts)\.|^test\/output\/clean\/(?:filter\.property|recordings)\./,
}

/** What takes longest, as long as it has not been measured here. */
const slow =
  /^test\/(?:package|repl\/(?:scenes|runs|talk|living)|run\/(?:sandbox\/sandbox-escape|session\/sessions|host\/|slurm\/)|cli\/(?:job|bash-oracle|completion|as-a-shell|supervise)|doors\/(?:matrix|reach|mcp\/server|print\/(?:prompt|whole-answer|one-writer)|rpc\/(?:prompt|shell|bad-input)))\b/

/** @param {string} file */
export function guessDurationMs(file) {
  return slow.test(file) ? 20_000 : 5000
}

/**
 * @param {string} file
 * @returns {string | null} the long table that it belongs to
 */
export function tableOf(file) {
  return Object.keys(longTables).find((name) => longTables[name]?.test(file)) ?? null
}

/**
 * Whether a file tests a room without input and output, so that several such files can share a process.
 *
 * @param {string} file
 */
export function isPure(file) {
  return /^test\/(?:config|guard|protocol|render)\//.test(file)
}

/** The files of the project that differ from the branch `main`, or on it from the last commit. */
export function listChanged() {
  const git = (/** @type {string[]} */ ...words) =>
    execFileSync('git', words, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)
  const [head, before] = git('rev-list', '--max-count=2', 'HEAD')
  const [main = head] = git('for-each-ref', '--format=%(objectname)', 'refs/heads/main')
  const base = main === head ? before : main
  const committed = base === undefined ? [] : git('diff', '--name-only', `${base}...HEAD`)
  const present = git('diff', '--name-only', 'HEAD')
  const fresh = git('ls-files', '--others', '--exclude-standard')
  return [...new Set([...committed, ...present, ...fresh])]
}

/**
 * The order of the fast lane: first the test files that have changed, then the nearest to what has
 * changed (a test that mirrors the path of a file, then one that imports it), then the quick ones.
 *
 * @param {readonly string[]} files
 * @param {readonly string[]} changed
 * @param {Imports} imports
 * @param {(file: string) => number} durationMs how long each takes
 * @returns {string[]}
 */
export function orderForHaste(files, changed, imports, durationMs) {
  const mirrors = new Set(changed.map((path) => path.replace(/^lib/, 'test').replace('.ts', '')))
  const rooms = new Set(changed.filter((path) => path.startsWith('lib/')).map(roomOf))
  const rank = (/** @type {string} */ file) => {
    if (changed.includes(file)) return 0
    if (mirrors.has(file.replace('.test.ts', ''))) return 1
    const reached = imports.reach(file)
    const steps = changed.flatMap((path) => reached.get(path) ?? [])
    if (steps.length > 0) return 2 + Math.min(...steps) / 100
    return rooms.has(roomOf(file)) ? 3 : 4
  }
  const ranked = files.map((file) => ({ file, rank: rank(file), ms: durationMs(file) }))
  ranked.sort((one, other) => one.rank - other.rank || one.ms - other.ms)
  return ranked.map(({ file }) => file)
}

/**
 * @param {string} path
 * @returns {string} `run/session` of `lib/run/session/session.ts`
 */
function roomOf(path) {
  return dirname(path).replace(/^(?:lib|test)\//, '')
}
