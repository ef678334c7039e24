#!/usr/bin/env node
'use strict'

const { main } = require('../dist/main.js')

async function run() {
  try {
    process.exitCode = await main(process.argv.slice(2))
  } catch (error) {
    process.exitCode = 125
    console.error('nacre: internal error:', error)
  }
}

void run()
