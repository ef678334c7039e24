import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'

const root = join(import.meta.dirname, '../..')

/** The source files that a file loads with itself: no types, and nothing that is loaded on first use. */
function loadedBy(file: string): Set<string> {
  const loaded = new Set([file])
  for (const from of loaded) {
    const text = readFileSync(join(root, from), 'utf8')
    for (const [, names = '', path = ''] of text.matchAll(
      /^(?:import|export) ([^']*?)from '(\.[^']+)'/gm,
    )) {
      const [, list] = /^\{([^}]*)\}/.exec(names) ?? []
      const values = list?.split(',').filter((name) => !/^\s*(?:type\b|$)/.test(name)) ?? [names]
      if (!names.startsWith('type ') && values.length > 0) {
        loaded.add(normalize(join(dirname(from), path)))
      }
    }
  }
  return loaded
}

test('the start of a shell loads at most 80 files, and no executor', () => {
  const loaded = loadedBy('lib/main.ts')
  assert.ok(loaded.has('lib/executor/become-shell.ts'))
  assert.not(loaded.has('lib/executor/executor.ts'))
  assert.ok(loaded.size <= 80, `${loaded.size} files:\n${[...loaded].sort().join('\n')}`)
})

test('the version is told by what every start loads', () => {
  const loaded = loadedBy('lib/main.ts')
  for (const late of ['lib/main/doors.ts', 'lib/main/subcommands.ts', 'lib/output/capture.ts']) {
    assert.not(loaded.has(late), late)
  }
})

test.run()
