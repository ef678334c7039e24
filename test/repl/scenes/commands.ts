import { keys } from '../../helpers/keys.ts'
import type { Scene } from '../../helpers/scenes.ts'

/** Commands in the person's shell, from `!` and from bash mode. */
export const commandScenes: readonly Scene[] = [
  {
    name: 'a command, its output and its end',
    steps: [{ type: '!echo one; echo two >&2\r', shows: 'two\n✓ exit 0' }],
  },
  {
    name: 'a failure says what it means',
    steps: [{ type: '!grep x /dev/null\r', shows: '✗ exit 1' }],
  },
  {
    name: 'a pipeline says which of its stages failed',
    steps: [{ type: '!false | true\r', shows: '✓ exit 0' }],
  },
  {
    name: 'a command that there is not',
    steps: [{ type: '!no-such-program\r', shows: '✗ exit 127' }],
  },
  {
    name: 'the shell keeps its state from line to line',
    steps: [
      { type: '!cd sub\r', shows: /✓ exit 0[^]*~\/code\/sub/ },
      { type: "!alias hey='echo alias'\r", shows: /alias[^]*✓ exit 0/ },
      { type: '!hey; basename $PWD\r', shows: /\nsub\n✓ exit 0/ },
      { type: '!cd ..\r', shows: /\n~\/code \(main\)$/ },
    ],
  },
  {
    name: 'wide characters and lines wider than the window',
    steps: [
      {
        type: '!echo 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字; printf "no newline"\r',
        shows: 'no newline\n✓ exit 0',
      },
    ],
  },
  {
    name: 'a line that is drawn over',
    steps: [
      {
        type: '!printf "10 %%\\r50 %%\\r"; sleep 0.1; printf "100 %%\\n"\r',
        shows: '100 %\n✓ exit 0',
      },
    ],
  },
  {
    name: 'long output is folded',
    steps: [{ type: '!seq 1 3000\r', shows: '3000\nartifact' }],
  },
  {
    name: 'a program reads a line',
    steps: [
      {
        type: `!sh -c 'printf "name? "; read x; echo "got $x"'\r`,
        shows: /name\? *\nrunning/,
        screen: 'it waits',
      },
      { type: 'somebody\r', shows: 'got somebody\n✓ exit 0' },
    ],
  },
  {
    name: 'a program asks for a secret',
    steps: [
      {
        type: `!sh -c 'stty -echo; printf "Password: "; read x; stty echo; echo; echo "\${#x} letters"'\r`,
        shows: 'a secret is not shown',
        screen: 'it waits',
      },
      { type: 'secret\r', shows: '6 letters\n✓ exit 0' },
    ],
  },
  {
    name: 'Ctrl-C interrupts',
    steps: [
      {
        type: '!sleep 100\r',
        shows: /^running · .* · Ctrl-C stops/m,
        screen: 'it runs',
        runs: 'sleep 100',
      },
      { type: keys.ctrl('c'), shows: '✗ exit 130' },
    ],
  },
  {
    name: 'Ctrl-Z suspends, and fg goes on',
    steps: [
      { type: '!sleep 100\r', shows: /^running · /m, runs: 'sleep 100' },
      { type: keys.ctrl('z'), shows: '… suspended', screen: 'suspended' },
      // fish passes by what comes before it has said so.
      {
        type: '!fg\r',
        shows: /! fg\n(?:[^]*foreground|[^]*continued|sleep 100\n)[^]*running · /,
        runs: 'sleep 100',
      },
      // In fish `fg` has no status of its own.
      { type: keys.ctrl('c'), shows: /✗ exit 130|✓ exit 0/ },
    ],
  },
  {
    name: 'a program has the whole screen, and gives it back',
    steps: [
      {
        type: `!sh -c 'printf "\\033[?1049h\\033[2J\\033[H"; echo "all of it"; read x; printf "\\033[?1049l"'\r`,
        shows: /^all of it$/,
        screen: 'the whole screen',
      },
      { type: '\r', shows: '✓ exit 0' },
    ],
  },
  {
    // bash alone: others tell the end of `exit` itself, and that of the shell a moment earlier or later.
    name: 'a shell that ends is replaced',
    shells: ['bash'],
    steps: [
      { type: '!exit 3\r', shows: 'gets a new one' },
      { type: '!echo new\r', shows: 'new\n✓ exit 0' },
    ],
  },
  {
    name: 'what has no command in it leaves everything as it is',
    shells: ['bash', 'zsh'],
    steps: [
      { type: '!false\r', shows: '✗ exit 1' },
      { type: '!# a comment\r', shows: />$/m },
      { type: '!echo $?\r', shows: '1\n✓ exit 0' },
    ],
  },
  {
    name: '/sandbox changes the shell',
    steps: [
      { type: '/sandbox read-only\r', shows: /gets a new\s+shell in it/ },
      { type: '!true\r', shows: /! true\n[^]*[✓✗]/ },
      { type: '/sandbox off\r', shows: /off; your next/ },
      { type: '!true\r', shows: /no sandbox\n[^]*✓ exit 0/ },
    ],
  },
  {
    name: 'bash mode',
    steps: [
      { type: '!\r', shows: '[BASH]', screen: 'begins' },
      { type: 'echo here\r', shows: 'here\n✓ exit 0' },
      { type: keys.ctrl('c'), shows: 'leaves bash mode', screen: 'Ctrl-C tells how it ends' },
      { type: '/history here\r', shows: /! echo here\n\/history here\nbash>/ },
    ],
    leave: 'exit\r',
  },
]
