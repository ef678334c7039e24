'use strict'

/**
 * @typedef {object} BuiltFile a file of dist/
 * @property {string} source
 * @property {string} path as stack traces name it
 * @property {Uint8Array | undefined} [cachedData] its code cache (`cachedData` of `vm.Script`), which another
 *   version of V8 than that of the build refuses and does without
 */

/**
 * A `require` for the files of dist/, as fast as their code caches make it.
 *
 * @param {(name: string) => BuiltFile} read
 * @param {NodeJS.Require} requireOther for everything that is not in dist/
 * @param {(name: string, script: Script) => void} [onCompiled] hears of each file, once
 * @returns {(name: string) => any} gives what the file exports
 */
exports.createLoad = (read, requireOther, onCompiled) => {
  const { Script } = require('node:vm')
  /** @type {Map<string, { exports: any }>} */
  const modules = new Map()

  /**
   * @param {string} name
   * @returns {any}
   */
  function load(name) {
    const loaded = modules.get(name)
    if (loaded !== undefined) return loaded.exports
    const { source, path, cachedData } = read(name)
    // As Node wraps a CommonJS module.
    const wrapped = `(function (exports, require, module, __filename) {${source}\n})`
    const script = new Script(wrapped, { filename: path, cachedData })
    const module = { exports: {} }
    modules.set(name, module)
    const requireFrom = (/** @type {string} */ id) =>
      id.startsWith('./') ? load(id.slice(2)) : requireOther(id)
    script.runInThisContext()(module.exports, requireFrom, module, path)
    onCompiled?.(name, script)
    return module.exports
  }

  return load
}

/**
 * Runs nacre with the words of the command line and sets its exit status.
 *
 * @param {() => { main(words: string[]): Promise<number> }} loadMain gives lib/main.ts, built
 */
exports.runMain = async (loadMain) => {
  // Node ends with 0 where nothing is left that could wake it, though something is still waited for.
  const endDry = () => {
    process.exitCode = 125
    console.error('nacre: internal error: it waited for what cannot come any more')
  }
  process.once('beforeExit', endDry)
  try {
    process.exitCode = await loadMain().main(process.argv.slice(2))
  } catch (error) {
    process.exitCode = 125
    // A part of nacre itself could not be opened.
    if (error instanceof Error && 'code' in error && error.code === 'EMFILE') {
      console.error('nacre: No more files can be opened: raise the limit (`ulimit -n`)')
    } else console.error('nacre: internal error:', error)
  }
  process.off('beforeExit', endDry)
}
