import { keys } from '../../helpers/keys.ts'
import type { Scene } from '../../helpers/scenes.ts'

const cancel = keys.ctrl('c')

/** The line: editing, history, completion, what a person is told of it. */
export const lineScenes: readonly Scene[] = [
  {
    name: 'an unfinished loop goes on in the next line',
    shells: ['bash', 'zsh'],
    steps: [
      { type: '!for i in 1 2\r', shows: /for i in 1 2\n\s*\n/ },
      { type: 'do echo "at $i"\r', shows: /echo "at \$i"\n\s*\n/, screen: 'unfinished' },
      { type: 'done\r', shows: 'at 2\n✓ exit 0' },
    ],
  },
  {
    name: 'a here-document goes on to its end',
    shells: ['bash', 'zsh'],
    steps: [
      { type: '!cat <<END\r', shows: /<<END\n\s*\n/ },
      { type: 'within\rEND\r', shows: 'within\n✓ exit 0' },
    ],
  },
  {
    name: 'a line longer than the window is wide',
    steps: [
      {
        type: '!echo word 漢字 word word word word 漢字漢字漢字漢字漢字漢字 word word word word word end',
        shows: 'end',
      },
    ],
    leave: cancel,
  },
  {
    name: 'more lines than the editor shows',
    steps: [
      {
        type: keys.paste(
          `!echo ${Array.from({ length: 9 }, (_, at) => `a${at}\\`).join('\n')}\nend`,
        ),
        shows: 'end',
      },
    ],
    leave: cancel,
  },
  {
    name: 'what was typed before is suggested in grey',
    steps: [
      { type: '!echo something to find\r', shows: 'something to find\n✓ exit 0' },
      { type: '! echo so', shows: '! echo something to find\n~/code' },
    ],
    leave: cancel,
  },
  {
    name: 'Up goes through what begins like the line',
    steps: [
      { type: '!echo first of two\r', shows: 'first of two\n✓ exit 0' },
      { type: '!true\r', shows: /! true\n✓ exit 0/ },
      { type: '! echo f', shows: /> ! echo f/ },
      { type: keys.up, shows: /> ! echo first of two\n/ },
    ],
    leave: cancel,
  },
  {
    name: 'what was typed with ! is recalled in bash mode without it',
    steps: [
      { type: '!echo of both modes\r', shows: 'of both modes\n✓ exit 0' },
      { type: '!\r', shows: '[BASH]' },
      { type: keys.up, shows: 'bash> echo of both modes' },
      { type: '\r', shows: /(?:of both modes\n✓ exit 0[^]*){2}/ },
    ],
    leave: 'exit\r',
  },
  {
    name: 'Ctrl-R searches in all of the history',
    steps: [
      { type: keys.ctrl('r'), shows: 'history:' },
      { type: 'some find', shows: /history: some find\n› / },
    ],
    leave: keys.escape,
  },
  {
    name: 'Ctrl-R that finds nothing says so',
    steps: [{ type: `${keys.ctrl('r')}not there`, shows: 'nothing found' }],
    leave: keys.escape,
  },
  {
    name: 'slash commands are completed',
    steps: [{ type: '/h', shows: '/history' }],
    leave: cancel,
  },
  {
    name: 'the arguments of a slash command are completed',
    steps: [{ type: '/sandbox \t', shows: 'read-only' }],
    leave: cancel,
  },
  {
    name: 'paths are completed as the shell does',
    steps: [{ type: '!cat no\t', shows: '!cat notes.txt' }],
    leave: cancel,
  },
  {
    name: 'paths are completed within quotes',
    steps: [{ type: '!ls "wi\t', shows: '!ls "with space/' }],
    leave: cancel,
  },
  {
    name: 'variables are completed',
    shells: ['bash'],
    steps: [{ type: '!echo $HISTC\t', shows: /HISTC\w+/ }],
    leave: cancel,
  },
  {
    name: 'functions, and the options of a command, are completed as the shell was told',
    shells: ['bash'],
    steps: [
      {
        type: '!deploy() { echo "$1"; }; complete -W "--stage --verbose" deploy\r',
        shows: '✓ exit 0',
      },
      { type: '!depl\t', shows: /> !deploy\n/ },
      { type: '--s\t', shows: '!deploy --stage' },
      { type: '\r', shows: '--stage\n✓ exit 0' },
    ],
  },
  {
    name: 'the palette',
    steps: [
      { type: keys.ctrl('p'), shows: 'palette:', screen: 'all of it' },
      { type: 'line runs', shows: /palette: line runs\n› / },
    ],
    leave: keys.escape,
  },
  {
    name: 'the palette runs what is picked',
    steps: [
      { type: keys.ctrl('p'), shows: 'palette:' },
      { type: 'guard\r', shows: 'Nothing is allowed beforehand.' },
    ],
  },
  {
    name: 'the line in an editor',
    steps: [
      { type: `${keys.ctrl('x')}${keys.ctrl('e')}`, shows: '> !echo edited' },
      { type: '\r', shows: 'edited\n✓ exit 0' },
    ],
  },
  {
    name: 'Ctrl-C on an empty line tells how nacre is left',
    steps: [{ type: cancel, shows: 'leaves nacre' }],
  },
  {
    name: 'a message without a model',
    steps: [{ type: 'hello there\r', shows: /No model[^]*\n>/ }],
  },
]
