/**
 * `npm test`: the build, then beside one another the types, the lint, the format, what nothing uses, the smoke
 * tests and every test/**\/*.test.ts but the long tables (runner/selection.js).
 *
 *     npm test -- <text>…          the test files whose path contains one of the texts, and no others
 *     npm test -- --long <table>   also the long tables of this name, or `all` of them
 *     npm test -- --on <target>    on another of the things that are shipped (runner/targets.js): the smoke
 *                                  tests and the files that can tell it from this Node. It may be given
 *                                  several times; this Node is `here`
 *     npm test -- --fast           what is nearest to the last changes, and what is quick, in less
 *                                  than a minute
 *     npm test -- --repeat <n>     each file n times, to find what fails now and then
 *     npm test -- --jobs <n>       so many files at once
 *     NACRE_TEST_SEED=<n> npm test property tests with other values than those of every run
 *
 * A test that cannot run here prints `SKIP <name>: <reason>`. The last line of the output is
 * `N passed, N failed`, with `, N skipped` where something was skipped.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { bundleTests, nameModule } from './runner/bundle.js'
import { Groups, root, runCheck } from './runner/program.js'
import {
  Imports,
  guessDurationMs,
  isPure,
  listChanged,
  listTestFiles,
  longTables,
  orderForHaste,
  tableOf,
} from './runner/selection.js'
import { targets } from './runner/targets.js'
import { runTestFile } from './runner/test-file.js'

/** @typedef {import('./runner/program.js').Outcome} Outcome */
/** @typedef {import('./runner/targets.js').Target} Target */

const timeoutMs = Number(process.env['NACRE_TEST_TIMEOUT_SECONDS'] ?? 300) * 1000
/** The fast lane starts nothing that would not have ended by then. */
const hasteMs = 45_000
/** How long each test file took the last time, in milliseconds. */
const durationsFile = join(root, 'node_modules', '.cache', 'nacre', 'test-durations.json')

const { values: options, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: {
    on: { type: 'string', multiple: true, default: ['here'] },
    fast: { type: 'boolean', default: false },
    repeat: { type: 'string', default: '1' },
    long: { type: 'string' },
    // The files wait for much of their time.
    jobs: { type: 'string', default: String(Math.min(4, availableParallelism() + 2)) },
  },
})

/** @returns {Record<string, number>} */
function readDurations() {
  try {
    return JSON.parse(readFileSync(durationsFile, 'utf8'))
  } catch {
    return {} // There is none yet, or it was cut by a kill: it only serves an estimate.
  }
}

/** @param {Record<string, number>} durations */
async function writeDurations(durations) {
  mkdirSync(dirname(durationsFile), { recursive: true })
  await writeFile(durationsFile, `${JSON.stringify(durations, null, 2)}\n`)
}

/**
 * @param {string} folder
 * @returns {number} the time of its newest file, in milliseconds
 */
function newestChange(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs)
    .reduce((newest, time) => Math.max(newest, time), 0)
}

/**
 * Whether a file of dist/ was built after the last change of what it is built from.
 *
 * @param {string} name
 */
function isBuilt(name) {
  const built = join(root, 'dist', name)
  if (!existsSync(built)) return false
  const files = ['esbuild.config.js', 'executable.config.js', 'package.json', 'bin/load.js']
  const changed = Math.max(
    ...['lib', '.ci/tools'].map((folder) => newestChange(join(root, folder))),
    ...files.map((path) => statSync(join(root, path)).mtimeMs),
  )
  return statSync(built).mtimeMs >= changed
}

/** @param {Outcome} outcome */
function countBad({ failed, faults }) {
  return failed + faults.length
}

/** @param {Outcome} outcome */
function report(outcome) {
  const bad = countBad(outcome)
  const good = bad === 0
  const count = `${outcome.passed} of ${outcome.passed + bad}`
  const seconds = (outcome.durationMs / 1000).toFixed(1)
  console.log(`${good ? 'ok    ' : 'FAILED'} ${outcome.name} (${count}, ${seconds} s)`)
  for (const skip of outcome.skipped) console.log(`       skipped ${skip}`)
  if (good) return
  for (const fault of outcome.faults) console.log(`       ${fault}`)
  console.log(stripVTControlCharacters(outcome.log).replaceAll(/^/gm, '  | '))
}

/**
 * The test files to run on a target, each time as one process.
 *
 * @param {Target} target
 * @param {(file: string) => number} durationMs
 * @returns {{ target: Target, group: string[] }[]}
 */
function choosePrograms(target, durationMs) {
  const isChosen = (/** @type {string} */ file) => {
    if (filters.length > 0) return filters.some((text) => file.includes(text))
    const table = tableOf(file)
    return target.tells(file) && (table === null || [table, 'all'].includes(options.long ?? ''))
  }
  const files = listTestFiles().filter(isChosen)
  const groups = options.fast
    ? orderForHaste(files, listChanged(), new Imports(), durationMs).map((file) => [file])
    : groupPure(files)
  return groups.map((group) => ({ target, group }))
}

/**
 * The files that share a process: those of pure rooms, which leave nothing behind that could harm the next.
 *
 * @param {readonly string[]} files
 * @returns {string[][]}
 */
function groupPure(files) {
  const pure = files.filter(isPure)
  const others = files.filter((file) => !isPure(file)).map((file) => [file])
  return pure.length === 0 ? others : [pure, ...others]
}

/** @param {number} startedMs */
async function main(startedMs) {
  const chosen = options.on.map((name) => {
    const make = targets[name]
    if (make !== undefined) return make()
    console.error(`no target "${name}": use one of ${Object.keys(targets).join(', ')}`)
    process.exit(2)
  })
  if (options.long !== undefined && options.long !== 'all' && !(options.long in longTables)) {
    const names = [...Object.keys(longTables), 'all'].join(', ')
    console.error(`no long table "${options.long}": use one of ${names}`)
    process.exit(2)
  }
  const on = await Promise.all(chosen)
  const scratch = await mkdtemp(join(tmpdir(), 'nacre-test-'))
  const folders = [scratch]
  // Tests that run nacre as another user go through it.
  await chmod(scratch, 0o711)
  const groups = new Groups()
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => {
      groups.endAll()
      for (const folder of folders) rmSync(folder, { recursive: true, force: true })
      console.log(`stopped by ${signal}`)
      process.exit(1)
    })
  }
  const common = { groups, timeoutMs }
  const durations = readDurations()
  const durationMs = (/** @type {string} */ file) => durations[file] ?? guessDurationMs(file)
  /** @type {Outcome[]} */
  const outcomes = []
  const settle = (/** @type {Outcome} */ outcome) => {
    outcomes.push(outcome)
    report(outcome)
  }
  const check = async (/** @type {string} */ name, /** @type {readonly string[]} */ command) =>
    settle(await runCheck(name, command, { ...common, scratch }))
  const script = (/** @type {string} */ name) => check(name, ['npm', 'run', '--silent', name])
  const nameOn = (/** @type {string} */ name, /** @type {Target} */ target) =>
    target.name === 'here' ? name : `${name} on ${target.name}`
  /** @type {string[]} */
  const leftOut = []
  try {
    if (!isBuilt('main.js')) await script('build')
    for (const name of on.flatMap(({ scripts }) => scripts)) {
      if (!isBuilt('nacre')) await script(name)
    }
    await mkdir(join(scratch, 'tsx'))
    const programs = on.flatMap((target) => choosePrograms(target, durationMs))
    const lengthMs = (/** @type {string[]} */ group) =>
      group.reduce((sum, file) => sum + durationMs(file), 0)
    // The longest first, so that none is waited for alone at the end.
    if (!options.fast) programs.sort((one, other) => lengthMs(other.group) - lengthMs(one.group))
    const modules = await bundleTests([...new Set(programs.flatMap(({ group }) => group))])
    folders.push(modules)

    /** @type {(() => Promise<void>)[]} */
    const queue = []
    if (options.fast) queue.push(() => script('types'))
    else if (filters.length === 0) {
      const ofSource = ['lint', 'types', 'unused', 'format:check']
      if (on.some(({ isWhole }) => isWhole))
        queue.push(...ofSource.map((name) => () => script(name)))
      for (const target of on) {
        const command = [target.node, 'test/smoke.js', ...target.smoke]
        queue.push(() => check(nameOn('smoke', target), command))
      }
    }
    const repeated = Array.from({ length: Number(options.repeat) }, () => programs).flat()
    for (const [index, { target, group }] of repeated.entries()) {
      queue.push(async () => {
        const [file = ''] = group
        if (options.fast && performance.now() - startedMs + durationMs(file) > hasteMs) {
          leftOut.push(file)
          return
        }
        const paths = group.map((name) => join(modules, nameModule(name)))
        const name = group.length === 1 ? file : `${group.length} files of pure rooms`
        const place = { scratch: join(scratch, `${index}`), paths, target }
        const outcome = await runTestFile(nameOn(name, target), { ...common, ...place })
        settle(outcome)
        if (target.isWhole && group.length === 1) durations[file] = Math.round(outcome.durationMs)
      })
    }
    const work = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await next()
    }
    await Promise.all(Array.from({ length: Number(options.jobs) }, work))
  } finally {
    for (const folder of folders) await rm(folder, { recursive: true, force: true })
  }
  await writeDurations(durations)

  const sum = (/** @type {(outcome: Outcome) => number} */ pick) =>
    outcomes.reduce((total, outcome) => total + pick(outcome), 0)
  const failed = sum(countBad)
  const skipped = sum((outcome) => outcome.skipped.length)
  const passed = sum((outcome) => outcome.passed)
  console.log('')
  if (leftOut.length > 0) {
    console.log(`left out for haste: ${leftOut.length} files, the nearest ${leftOut[0]}`)
  }
  for (const outcome of outcomes) {
    if (countBad(outcome) > 0) console.log(`failed: ${outcome.name}`)
  }
  const seed = process.env['NACRE_TEST_SEED'] ?? '1'
  console.log(
    `NACRE_TEST_SEED=${seed} repeats the property tests; another integer tries other values`,
  )
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0
}

await main(performance.now())
