import { keys } from '../../helpers/keys.ts'
import type { Scene } from '../../helpers/scenes.ts'

/** A job that ends when it is told to. */
const job = `!sh -c 'echo begun; read x; echo "heard $x"'\r`
/** Who answers a question at once has not read it. */
const asked = 'yes (this once)'

/** Jobs, the viewer, the guard's question, and the slash commands. */
export const toolScenes: readonly Scene[] = [
  {
    name: 'a job: left, listed, visited, ended',
    steps: [
      { type: job, shows: /begun\n+running/ },
      { type: keys.ctrl('b'), shows: /goes on in the background[^]*\n>/, screen: 'left' },
      { type: '/jobs\r', shows: /running · \d+.*sh -c/, screen: 'listed' },
      { type: '/attach\r', shows: /begun\n+running · .*Ctrl-\] leaves/, screen: 'visited' },
      { type: '\u001D', shows: 'goes on after', screen: 'left again' },
      { type: '/attach\r', shows: /begun\n+running[^]*$/ },
      { type: 'me\r', shows: 'heard me\n✓ exit 0' },
    ],
  },
  {
    name: 'what is typed ahead is seen',
    asRoot: true,
    steps: [
      { type: '!sleep 100\r', shows: /^running · /m },
      { type: '!echo next\r', shows: '!echo next⏎', screen: 'while it runs' },
      { type: keys.ctrl('b'), shows: 'next\n✓ exit 0' },
      { type: '/kill\r', shows: '✗ stopped' },
    ],
  },
  {
    name: 'a job is followed in the viewer',
    asRoot: true,
    steps: [
      { type: `!sh -c 'echo one; sleep 0.2; seq 1 40; sleep 100'\r`, shows: /40\n+running/ },
      { type: keys.ctrl('b'), shows: 'goes on in the background' },
      { type: '/view -f\r', shows: 'follows', screen: 'its end' },
      { type: 'q/kill\r', shows: '✗ stopped' },
    ],
  },
  {
    name: 'leaving with a job asks',
    asRoot: true,
    steps: [
      { type: '!sleep 100\r', shows: /^running · /m },
      { type: keys.ctrl('b'), shows: /goes on in the background[^]*\n>/ },
      { type: '/quit\r', shows: 'Leave all the same?', screen: 'the question' },
      { type: keys.escape, shows: '? no' },
      { type: '/kill\r', shows: '✗ stopped' },
    ],
  },
  {
    name: 'the viewer',
    steps: [
      { type: '!seq 1 3000\r', shows: '✓ exit 0' },
      { type: 'v\r', shows: 'of 3,000', screen: 'opens at the end' },
      { type: 'g', shows: /^1\n2\n/, screen: 'the start' },
      { type: '/77\r', shows: /^77\n/, screen: 'found' },
      { type: 'n', shows: /^177\n/ },
      { type: 'N', shows: /^77\n/ },
      { type: '/nowhere\r', shows: 'not found', screen: 'not found' },
      { type: ':1500\r', shows: /^1500\n/, screen: 'a line' },
      { type: 'h', shows: 'q Esc leave', screen: 'its help' },
      { type: 'h', shows: /^1500\n/ },
      { type: 's', shows: 'save as: nacre-output.txt', screen: 'asks where to save' },
      { type: '\r', shows: 'saved as', screen: 'saved' },
      { type: 's\r', shows: 'is there already' },
      { type: 'y', shows: 'copied' },
      { type: '|', shows: /\n\| $|\n\|$/ },
      { type: 'grep -c 7\r', shows: /\n813\n✓ exit 0/ },
    ],
  },
  {
    name: 'the viewer hands over to the pager',
    steps: [
      { type: '!seq 1 2\r', shows: '✓ exit 0' },
      { type: 'v\r', shows: 'of 2' },
      { type: '|\r', shows: /PAGER\n1\n2\n✓ exit 0/ },
    ],
  },
  {
    name: 'the guard asks',
    steps: [
      { type: '!rm -rf $NOPE\r', shows: asked, screen: 'the question' },
      { type: keys.escape, shows: '✗ denied' },
    ],
  },
  {
    name: '/help',
    steps: [{ type: '/help\r', shows: /\/quit\s+leave nacre\n>/ }],
  },
  {
    name: 'short answers',
    asRoot: true,
    steps: [
      { type: '/jobs\r', shows: '> /jobs' },
      { type: '/guard\r', shows: 'Nothing is allowed beforehand.' },
      { type: '/model\r', shows: '/model provider/name' },
      { type: '/sandbox\r', shows: 'Sandbox: off', screen: 'of settings' },
      { type: '/copy\r', shows: /Copied|nothing/ },
      { type: '/cd sub\r', shows: '~/code/sub' },
      { type: '/cd ..\r', shows: /\n~\/code \(main\)$/ },
      { type: '/nonsense\r', shows: /No such command[^]*\n>/ },
    ],
  },
  {
    name: '/again runs the last command',
    steps: [
      { type: '!echo once\r', shows: 'once\n✓ exit 0' },
      { type: '/again\r', shows: /once\n✓ exit 0[^]*once\n✓ exit 0/ },
    ],
  },
  {
    name: '/artifacts',
    steps: [{ type: '/artifacts\r', shows: /art_[^]*\n>/ }],
  },
  {
    // From here on the status bar names it.
    name: 'the model that is chosen stands in the status bar',
    steps: [{ type: '/model ollama/small\r', shows: /\n~\/code \(main\) · ollama\/small$/ }],
  },
]
