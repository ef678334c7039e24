/**
 * The licences of the packages whose code is in a bundle. They ask that their notices travel with
 * every copy, and a bundle leaves the packages' own files behind.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

/**
 * A licence's own text, for packages that name it without a copy.
 *
 * @type {Readonly<Record<string, () => Promise<string>>>}
 */
const standardTexts = {
  MIT: async () => (await readFile(join(root, 'LICENSE'), 'utf8')).replace(/^Copyright.*\n+/m, ''),
  'Apache-2.0': () => readFile(join(root, 'node_modules', 'typescript', 'LICENSE'), 'utf8'),
}

/**
 * @param {import('esbuild').Metafile} metafile of a build with the project as its folder
 * @returns {Promise<string>} the notices, package by package in the order of their names
 * @throws {Error} where a package has neither a licence file nor a known licence
 */
export async function collectNotices(metafile) {
  // The single executable has its addon inside.
  /** @type {Map<string, Set<string>>} */
  const packages = new Map([['node_modules/node-pty', new Set()]])
  for (const { inputs } of Object.values(metafile.outputs)) {
    for (const [file, { bytesInOutput }] of Object.entries(inputs)) {
      const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]
      if (folder === undefined || bytesInOutput === 0) continue
      packages.set(folder, (packages.get(folder) ?? new Set()).add(file))
    }
  }
  const notices = await Promise.all([...packages].map(([folder, files]) => describe(folder, files)))
  notices.sort((one, other) => one.name.localeCompare(other.name, 'en'))
  const introduction = 'nacre contains code of these packages.\n'
  return [introduction, ...notices.map(({ text }) => text)].join(`\n${'-'.repeat(78)}\n\n`)
}

/**
 * @param {string} folder of a package, relative to the project
 * @param {Set<string>} files those whose code is in the bundle
 * @returns {Promise<{ name: string, text: string }>}
 */
async function describe(folder, files) {
  const read = (/** @type {string} */ file) => readFile(join(root, file), 'utf8')
  const { name, version, license, author } = JSON.parse(await read(`${folder}/package.json`))
  const own = (await readdir(join(root, folder))).filter((file) =>
    /^(licen[cs]e|notice)/i.test(file),
  )
  const texts = await Promise.all(own.map((file) => read(`${folder}/${file}`)))
  if (texts.length === 0) {
    const standard = standardTexts[license]
    if (!standard) throw new Error(`${name} has no licence file and an unknown licence: ${license}`)
    const holder = typeof author === 'object' ? author?.name : author
    texts.push(holder ? `Author: ${holder}\n\n${await standard()}` : await standard())
  }
  const comments = await Promise.all([...files].map(async (file) => findNotices(await read(file))))
  const head = `${name} ${version} (${license})\n`
  const all = new Set([head, ...texts, ...comments.flat()].map((text) => text.trim()))
  return { name, text: `${[...all].join('\n\n')}\n` }
}

/**
 * What a file says in comments about who wrote it, of code that it has from elsewhere too.
 *
 * @param {string} code
 */
function findNotices(code) {
  return [...code.matchAll(/\/\*.*?\*\//gs)]
    .map(([comment]) => comment)
    .filter((comment) => /copyright\s/i.test(comment))
}
