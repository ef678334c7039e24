import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parseInputMode } from '../../../lib/run/terminal/waiting-for-input.ts'

const answer = (modes: string) => `speed 38400 baud; rows 24; columns 80; line = 0;
intr = ^C; quit = ^\\; erase = ^?; min = 1; time = 0;
-parenb -ixoff opost -olcuc onlcr
isig ${modes} -xcase -echonl -noflsh -tostop -echoprt echoctl echoke`

test('the modes of stty say what a terminal expects', () => {
  assert.is(parseInputMode(answer('icanon iexten echo echoe echok')), 'line')
  assert.is(parseInputMode(answer('icanon iexten -echo echoe echok')), 'password')
  assert.is(parseInputMode(answer('-icanon -iexten -echo -echoe echok')), 'raw')
  assert.is(parseInputMode(answer('-icanon iexten echo echoe echok')), 'raw')
})

test('a terminal of which nothing is known takes lines', () => {
  assert.is(parseInputMode(''), 'line')
})

test.run()
