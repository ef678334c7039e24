#!/usr/bin/env node
'use strict'

// Deno takes this file for a module, which has neither, where it came by a link or `deno install --global`.
if (typeof require === 'undefined') {
  const { realpathSync } = process.getBuiltinModule('node:fs')
  const { createRequire } = process.getBuiltinModule('node:module')
  const { posix } = process.getBuiltinModule('node:path')
  const file = realpathSync(process.argv[1] ?? '')
  Object.assign(globalThis, { require: createRequire(file), __dirname: posix.dirname(file) })
}
const { readFileSync } = require('node:fs')
const path = require('node:path')
const { createLoad, runMain } = require('./load.js')

/** Absent in Deno. */
const sea = process.getBuiltinModule('node:sea')

/**
 * In the package, beside this folder.
 *
 * @param {string} name
 */
function readFromFolder(name) {
  const file = path.join(__dirname, '../dist', name)
  return { source: readFileSync(file, 'utf8'), path: file, cachedData: readCache(`${file}.cache`) }
}

/** @param {string} file */
function readCache(file) {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}

/**
 * In the single executable, which has them inside.
 *
 * @param {string} name
 */
function readFromAsset(name) {
  const asset = (/** @type {string} */ key) =>
    Buffer.from(/** @type {ArrayBuffer} */ (sea.getRawAsset(key)))
  return { source: asset(name).toString(), path: name, cachedData: asset(`${name}.cache`) }
}

void runMain(() => createLoad(sea?.isSea() ? readFromAsset : readFromFolder, require)('main.js'))
