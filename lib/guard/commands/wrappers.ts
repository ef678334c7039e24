import { type OptionStyle, readOptions } from '../shell/options.ts'
import { anyText, baseName, empty, quote, Text } from '../shell/text.ts'
import type { Commands, Follow } from './call.ts'

/** How a command that starts another one reads what stands before it. */
interface Wrapper extends Pick<OptionStyle, 'shortValues' | 'longValues'> {
  /** Words of its own after the options: the duration of `timeout`. */
  readonly operands?: number
  /** `NAME=value` may stand before the command. */
  readonly assignments?: boolean
  /** Options whose value is a script for `sh -c`. */
  readonly scriptOptions?: readonly string[]
  /** The words are joined and given to a shell. */
  readonly joins?: boolean
  /** Without words it starts a shell, which reads its input: always, or with one of these options. */
  readonly startsShell?: 'always' | readonly string[]
}

const su: Wrapper = {
  operands: 1,
  shortValues: 'cgGsuwC',
  longValues: 'command group supp-group shell user whitelist-environment',
  scriptOptions: ['c', 'command'],
  startsShell: 'always',
}
const timeout: Wrapper = { shortValues: 'ks', longValues: 'kill-after signal', operands: 1 }

/** Sources: the manual pages of sudo, coreutils, util-linux, and of each one named. */
const wrappers: Readonly<Record<string, Wrapper>> = {
  ...{ nohup: {}, setsid: {}, busybox: {}, toybox: {} },
  sudo: {
    shortValues: 'CDghpRTtUru',
    longValues:
      'close-from chdir group host prompt chroot command-timeout type other-user role user',
    assignments: true,
    startsShell: ['s', 'i', 'shell', 'login'],
  },
  run0: { shortValues: 'ugD', longValues: 'user group chdir unit property slice nice setenv' },
  doas: { shortValues: 'uCa', startsShell: ['s'] },
  su,
  runuser: { ...su, operands: 0 },
  env: {
    shortValues: 'uCSP',
    longValues: 'unset chdir split-string',
    assignments: true,
    scriptOptions: ['S', 'split-string'],
  },
  ...{ command: {}, builtin: {}, exec: { shortValues: 'a' } },
  time: { shortValues: 'fo', longValues: 'format output' },
  timeout,
  gtimeout: timeout,
  nice: { shortValues: 'n0123456789', longValues: 'adjustment' },
  ionice: { shortValues: 'cnpPu', longValues: 'class classdata pid' },
  stdbuf: { shortValues: 'ioe', longValues: 'input output error' },
  chroot: { longValues: 'userspec groups', operands: 1, startsShell: 'always' },
  watch: { shortValues: 'nq', longValues: 'interval equexit', joins: true },
  ssh: { shortValues: 'BbcDEeFIiJLlmOopQRSWw', operands: 1, joins: true, startsShell: 'always' },
  'cross-env': { assignments: true },
}

/** Programs that start another one, which stands somewhere behind options that are not listed. */
const looseWrappers =
  `linux64 linux32 catchsegv unbuffer chronic ifne eatmydata rlwrap setlocale torsocks torify
  pkexec gosu su-exec setpriv sg chrt setarch strace ltrace flock taskset script fakeroot caffeinate proxychains
  proxychains4 prlimit cpulimit numactl systemd-run systemd-inhibit dbus-run-session xvfb-run
  unshare nsenter bwrap firejail proot valgrind perf gdb faketime start-stop-daemon tini dumb-init s6
  tmux screen entr retry doppler aws-vault dotenv direnv nix nix-shell devbox mise asdf poetry uv
  pipenv conda bundle npx bunx pnpm yarn npm bun shx op hyperfine concurrently nodemon watchexec
  daemonize sshpass expect cgexec runcon capsh parallel`.split(/\s+/)

/** Programs that a command behind an unlisted option is recognised by. */
const dangerous = new Set(
  `rm git dd mkfs find sh bash dash zsh ksh sudo env xargs rimraf shred tee eval timeout nohup
  nice`.split(/\s+/),
)

/** Follows what a wrapper with known options starts. */
const startInner =
  (wrapper: Wrapper): Follow =>
  ({ name, args, scope: outer, stdin, shell }) => {
    const { operands: own = 0, scriptOptions = [], startsShell = [] } = wrapper
    const options = readOptions(args, { ...wrapper, stopsAtOperand: true })
    const scope = outer.clone()
    let words: readonly Text[] = options.operands
    if (words[0]?.is('-')) words = words.slice(1)
    while (wrapper.assignments && words[0]?.test(/^[A-Za-z_]\w*=/)) {
      const at = words[0].chars.indexOf('=')
      scope.assign(words[0].chars.slice(0, at), [words[0].slice(at + 1)])
      words = words.slice(1)
    }
    words = words.slice(own)
    // `ssh host -t script`
    if (name === 'ssh') words = readOptions(words, { ...wrapper, stopsAtOperand: true }).operands
    const scripts = options.valuesOf(...scriptOptions)
    // `su user -c script`: the option comes after the operand.
    const late = scriptOptions.includes('c') ? words.findIndex((word) => word.is('-c')) : -1
    if (late >= 0) scripts.push(words[late + 1] ?? empty)
    // `env -S 'a b' c`: the text is split as words, then the rest follows.
    const rest = name === 'env' ? words.map(quote) : []
    const outputs = scripts.map((script) =>
      shell.runScript(Text.join([script, ...rest], ' '), scope, stdin),
    )
    if (words.length > 0 && wrapper.joins) {
      outputs.push(shell.runScript(Text.join(words, ' '), scope, stdin))
    } else if (words.length > 0) outputs.push(shell.runWords(words, scope, stdin))
    else if (stdin && (startsShell === 'always' || options.has(...startsShell))) {
      shell.runScript(stdin, scope, null)
    }
    return Text.join(outputs)
  }

/** `nix develop -c`, `nix-shell --run`: what follows is a script. */
const scriptOption = /^(?:-\w*c|--run|--command|--exec|--shell-command)$/

/** Each of their words may be one: `tmux new 'ls -l'`. */
const takesScripts = /^(?:tmux|screen|concurrently|hyperfine|watchexec|nodemon|entr)$/

/** Reads on from each word that names a program which a rule may catch. */
const startAnywhere: Follow = ({ name, words, scope, stdin, shell }) => {
  for (let index = 1; index < words.length; index++) {
    const word = words[index] ?? empty
    const base = baseName(word).chars
    const before = words[index - 1]?.chars ?? ''
    if (dangerous.has(base.replace(/\..*/, '')) || wrapperCommands.has(base)) {
      if (name === base) continue
      shell.runWords(words.slice(index), scope.clone(), stdin)
      return anyText
    }
    if (scriptOption.test(before) || (takesScripts.test(name) && word.test(/\s/))) {
      shell.runScript(word, scope.clone(), stdin)
    }
  }
  return anyText
}

/** Commands that start another one. */
export const wrapperCommands: Commands = new Map([
  ...looseWrappers.map((name): [string, Follow] => [name, startAnywhere]),
  ...Object.entries(wrappers).map(([name, own]): [string, Follow] => [name, startInner(own)]),
])
