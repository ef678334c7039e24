#!/usr/bin/env node
'use strict'

const { main } = require('../dist/main.js')

async function run() {
  process.exitCode = await main(process.argv.slice(2))
}

void run()
