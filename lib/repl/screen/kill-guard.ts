import { spawn } from 'node:child_process'

/** What a program on the terminal may have asked of it; nothing here moves the cursor. */
const restored = [
  // The screen before, keys as ever, no mouse, no focus, no marks around pastes.
  ...[1047, 1, 9, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 2004, 2026].map(
    (mode) => `\\033[?${mode}l`,
  ),
  String.raw`\033>`,
  String.raw`\033[<u`,
  String.raw`\033[>4m`,
  String.raw`\033[0 q`,
  String.raw`\033[0m`,
  String.raw`\033[?25h`,
].join('')

/**
 * What raw mode takes away (uv_tty_set_mode of libuv). A shell that has the terminal back by then has seen
 * to it, and needs other modes for its own line: with `isig` on nothing is to be done.
 */
const script = `exec 3>&1
read -r farewell && exit
printf '${restored}'
case $(stty -a <&3) in *-isig*) stty brkint icrnl ixon echo icanon iexten isig <&3 ;; esac`

/**
 * A shell that waits at a pipe from nacre and gives the terminal back when nacre was killed, which nobody
 * can hear. It has no terminal of its own, so that none stops it for changing this one. To be started
 * before anything else is open that it could inherit. Gives what sends it away.
 */
export function guardTerminal(): () => void {
  const child = spawn('/bin/sh', ['-c', script], {
    stdio: ['pipe', 1, 'ignore'],
    detached: true,
  })
  // Without it everything works as long as nobody kills nacre.
  child.on('error', () => undefined)
  child.stdin?.on('error', () => undefined)
  child.unref()
  return () => child.stdin?.end('farewell\n')
}
