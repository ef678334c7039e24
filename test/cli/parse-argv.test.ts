import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Flag } from '../../lib/protocol/request/fields.ts'
import * as shape from '../../lib/protocol/shape/shape.ts'
import { parseArgv } from '../../lib/cli/parse-argv.ts'

const flags: Flag[] = [
  { name: 'ignore-case', short: 'i', shape: null, description: '' },
  { name: 'context', short: 'C', shape: shape.number('', { minimum: 0 }), description: '' },
  { name: 'tool', shape: shape.list(shape.text()), description: '' },
]

const read = (...argv: string[]) => parseArgv(argv, flags)

test('a switch with a dash in its name and a short one is true, not the text "true"', () => {
  assert.equal(read('-i', 'word').options, { ignoreCase: true })
  assert.equal(read('word', '--ignore-case').options, { ignoreCase: true })
})

test('words keep their places around options and their values', () => {
  const { options, positionals } = read('a', '-C', '3', 'b', '--tool', '-x', '--tool=y', '--', '-i')
  assert.equal(positionals, ['a', 'b', '-i'])
  assert.equal(options, { context: 3, tool: ['-x', 'y'] })
})

test.run()
