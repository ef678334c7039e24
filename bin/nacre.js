#!/usr/bin/env node
'use strict'

const { readFileSync } = require('node:fs')
const { join } = require('node:path')
const { createLoad } = require('./load.js')

/** Absent in Deno. */
const sea = process.getBuiltinModule('node:sea')

/** In the package, beside this folder. */
function readFromFolder(name) {
  const path = join(__dirname, '../dist', name)
  return { source: readFileSync(path, 'utf8'), path, cachedData: readCache(`${path}.cache`) }
}

function readCache(path) {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

/** In the single executable, which has them inside. */
function readFromAsset(name) {
  const asset = (key) => Buffer.from(sea.getRawAsset(key))
  return { source: asset(name).toString(), path: name, cachedData: asset(`${name}.cache`) }
}

async function run() {
  try {
    const load = createLoad(sea?.isSea() ? readFromAsset : readFromFolder, require)
    process.exitCode = await load('main.js').main(process.argv.slice(2))
  } catch (error) {
    process.exitCode = 125
    console.error('nacre: internal error:', error)
  }
}

void run()
