/**
 * Completes a lock file made where the registry lacks the platform packages of other systems:
 *
 *     node .ci/tools/complete-lock.js [package-lock.json]
 *
 * npm leaves such packages out of the lock file, and `npm ci` then refuses it as "not in sync",
 * everywhere. Their versions are pinned by the package that wants them, and their names say the
 * system, so the missing entries are certain; only their integrity is not known.
 * Run it after `npm install` has changed package-lock.json; it does nothing to a complete one.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { argv, stdout } from 'node:process'

const systems = new Set(['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32'])
const processors = new Set(['arm', 'arm64', 'ia32', 'ppc64', 'riscv64', 's390x', 'x64'])
/**
 * The C library in a name such as linux-x64-musl, linux-arm-gnueabihf.
 *
 * @type {readonly [mark: string, name: string][]}
 */
const libraries = [
  ['musl', 'musl'],
  ['gnu', 'glibc'],
]

/**
 * @typedef {object} Package an entry of the lock file, of which only this is read
 * @property {Record<string, string>} [optionalDependencies]
 * @property {Record<string, string>} [engines]
 * @property {string} [license]
 * @property {boolean} [dev]
 */

/**
 * Makes the entry of one missing platform package.
 *
 * @param {string} name
 * @param {string} version
 * @param {Package} wanting the package that wants it
 * @returns {object}
 */
function describe(name, version, wanting) {
  const words = name.slice(name.lastIndexOf('/') + 1).split('-')
  const os = words.find((word) => systems.has(word))
  const cpu = words.find((word) => processors.has(word))
  if (os === undefined || cpu === undefined || !/^\d+\.\d+\.\d+$/.test(version)) {
    throw new Error(`cannot tell the system or the version of ${name}@${version}`)
  }
  const libc = os === 'linux' && libraries.find(([mark]) => words.at(-1)?.startsWith(mark))
  return {
    version,
    cpu: [cpu],
    ...(wanting.dev ? { dev: true } : {}),
    ...(libc ? { libc: [libc[1]] } : {}),
    ...(wanting.license ? { license: wanting.license } : {}),
    optional: true,
    os: [os],
    ...(wanting.engines ? { engines: wanting.engines } : {}),
  }
}

const file = argv[2] ?? 'package-lock.json'
/** @type {{ packages: Record<string, Package> }} */
const lock = JSON.parse(readFileSync(file, 'utf8'))
/** @type {Record<string, object>} */
const added = {}
for (const [at, wanting] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(wanting.optionalDependencies ?? {})) {
    const key = `node_modules/${name}`
    if (key in lock.packages || `${at}/${key}` in lock.packages) continue
    added[key] = describe(name, version, wanting)
  }
}
const entries = Object.entries({ ...lock.packages, ...added })
lock.packages = Object.fromEntries(entries.sort(([a], [b]) => a.localeCompare(b, 'en')))
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
stdout.write(`${file}: ${Object.keys(added).length} added\n`)
