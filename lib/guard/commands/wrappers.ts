import { readOptions } from '../shell/options.ts'

/** How a command that starts another one reads what stands before it. */
export interface Wrapper {
  /** Short options that take a value. */
  readonly shortValues?: string
  /** Long options whose value is the next word. */
  readonly longValues?: readonly string[]
  /** Words of its own after the options: the duration of `timeout`. */
  readonly operands?: number
  /** `NAME=value` may stand before the command. */
  readonly assignments?: boolean
  /** Options whose value is a script for `sh -c`. */
  readonly scriptOptions?: readonly string[]
  /** Options whose value is split into words in front of the rest. */
  readonly splitOptions?: readonly string[]
  /** Options whose value is the directory to start in. */
  readonly directoryOptions?: readonly string[]
  /** With one of these nothing is started. */
  readonly idleOptions?: readonly string[]
  /** The words are joined and given to a shell. */
  readonly joins?: boolean
  /** The command stands somewhere behind options that are not listed here. */
  readonly anywhere?: boolean
}

const su: Wrapper = {
  shortValues: 'cgGsuwC',
  longValues: [
    'command',
    'session-command',
    'group',
    'supp-group',
    'shell',
    'user',
    'whitelist-environment',
  ],
  scriptOptions: ['c', 'command', 'session-command'],
}
const tracer: Wrapper = {
  shortValues: 'oepsuEabIOPSXUzlnxFAD',
  longValues: ['output', 'trace', 'attach', 'string-limit', 'user', 'env'],
}
const anywhere: Wrapper = { anywhere: true }

/** Sources: the manual pages of sudo, coreutils, util-linux, strace, and of each one named. */
export const wrappers: Readonly<Record<string, Wrapper>> = {
  sudo: {
    shortValues: 'CDghpRTtUru',
    longValues: [
      'close-from',
      'chdir',
      'group',
      'host',
      'prompt',
      'chroot',
      'command-timeout',
      'type',
      'other-user',
      'role',
      'user',
    ],
    assignments: true,
    directoryOptions: ['D', 'chdir'],
    idleOptions: [
      'l',
      'list',
      'v',
      'validate',
      'e',
      'edit',
      'V',
      'version',
      'K',
      'remove-timestamp',
    ],
  },
  doas: { shortValues: 'uCa', idleOptions: ['C'] },
  su,
  runuser: su,
  pkexec: { shortValues: 'u', longValues: ['user'] },
  gosu: { operands: 1 },
  'su-exec': { operands: 1 },
  setpriv: {
    longValues: [
      'reuid',
      'regid',
      'groups',
      'inh-caps',
      'ambient-caps',
      'bounding-set',
      'securebits',
    ],
  },
  sg: { operands: 1, shortValues: 'c', scriptOptions: ['c'] },
  env: {
    shortValues: 'uCSP',
    longValues: ['unset', 'chdir', 'split-string'],
    assignments: true,
    splitOptions: ['S', 'split-string'],
    directoryOptions: ['C', 'chdir'],
  },
  command: { idleOptions: ['v', 'V'] },
  builtin: {},
  exec: { shortValues: 'a' },
  nohup: {},
  time: { shortValues: 'fo', longValues: ['format', 'output'] },
  timeout: { shortValues: 'ks', longValues: ['kill-after', 'signal'], operands: 1 },
  gtimeout: { shortValues: 'ks', longValues: ['kill-after', 'signal'], operands: 1 },
  nice: { shortValues: 'n0123456789', longValues: ['adjustment'] },
  ionice: { shortValues: 'cnpPu', longValues: ['class', 'classdata', 'pid'] },
  chrt: { shortValues: 'pTPD', operands: 1 },
  stdbuf: { shortValues: 'ioe', longValues: ['input', 'output', 'error'] },
  setsid: {},
  setarch: { operands: 1 },
  linux64: {},
  linux32: {},
  strace: tracer,
  ltrace: tracer,
  flock: {
    shortValues: 'wEc',
    longValues: ['timeout', 'conflict-exit-code', 'command'],
    operands: 1,
    scriptOptions: ['c', 'command'],
  },
  taskset: { operands: 1, idleOptions: ['p', 'pid'] },
  busybox: {},
  toybox: {},
  chroot: { longValues: ['userspec', 'groups'], operands: 1 },
  script: {
    shortValues: 'cEIOBTmo',
    longValues: [
      'command',
      'echo',
      'log-in',
      'log-out',
      'log-io',
      'log-timing',
      'logging-format',
      'output-limit',
    ],
    scriptOptions: ['c', 'command'],
    operands: 1,
  },
  watch: { shortValues: 'nq', longValues: ['interval', 'equexit'], joins: true },
  ssh: { shortValues: 'BbcDEeFIiJLlmOopQRSWw', operands: 1, joins: true },
  catchsegv: {},
  unbuffer: {},
  chronic: {},
  eatmydata: {},
  fakeroot: { shortValues: 'lsib' },
  caffeinate: { shortValues: 'tw' },
  rlwrap: {},
  setlocale: {},
  torsocks: {},
  torify: {},
  proxychains: { shortValues: 'f' },
  proxychains4: { shortValues: 'f' },
  prlimit: anywhere,
  cpulimit: anywhere,
  numactl: anywhere,
  systemd_run: anywhere,
  'systemd-run': anywhere,
  'systemd-inhibit': anywhere,
  'dbus-run-session': anywhere,
  'xvfb-run': anywhere,
  unshare: anywhere,
  nsenter: anywhere,
  bwrap: anywhere,
  firejail: anywhere,
  proot: anywhere,
  valgrind: anywhere,
  perf: anywhere,
  gdb: anywhere,
  faketime: anywhere,
  'start-stop-daemon': anywhere,
  tini: anywhere,
  'dumb-init': anywhere,
  s6: anywhere,
  tmux: anywhere,
  screen: anywhere,
  entr: anywhere,
  retry: anywhere,
  doppler: anywhere,
  'aws-vault': anywhere,
  dotenv: anywhere,
  direnv: anywhere,
  nix: anywhere,
  'nix-shell': anywhere,
  devbox: anywhere,
  mise: anywhere,
  asdf: anywhere,
  poetry: anywhere,
  uv: anywhere,
  pipenv: anywhere,
  conda: anywhere,
  bundle: anywhere,
  npx: anywhere,
  bunx: anywhere,
  pnpm: anywhere,
  yarn: anywhere,
  npm: anywhere,
  bun: anywhere,
  shx: anywhere,
  op: anywhere,
  'cross-env': { assignments: true },
  hyperfine: anywhere,
  concurrently: anywhere,
  nodemon: anywhere,
  watchexec: anywhere,
  daemonize: anywhere,
  sshpass: anywhere,
  expect: anywhere,
  cgexec: anywhere,
  runcon: anywhere,
  capsh: anywhere,
}

export interface Unwrapped {
  readonly words: readonly string[]
  readonly scripts: readonly string[]
  readonly assignments: readonly string[]
  readonly directory: string | null
}

/** What a wrapper starts; null: nothing. */
export function unwrap(args: readonly string[], wrapper: Wrapper): Unwrapped | null {
  const { shortValues = '', longValues = [], operands: own = 0 } = wrapper
  const { flags, values, operands } = readOptions(args, {
    shortValues,
    longValues,
    stopsAtOperand: true,
  })
  if (flags.some((flag) => wrapper.idleOptions?.includes(flag))) return null
  const valueOf = (names: readonly string[] = []): string[] =>
    names.flatMap((name) => values.get(name) ?? [])
  let words = [...operands]
  if (words[0] === '-') words.shift()
  const assignments: string[] = []
  while (wrapper.assignments && /^[A-Za-z_]\w*=/.test(words[0] ?? ''))
    assignments.push(words.shift() ?? '')
  const scripts = valueOf(wrapper.scriptOptions)
  words = words.slice(own)
  // `flock file -c script`, `su user -c script`: the option comes after the operand.
  const late = words.findIndex((word) => /^-\w*c$|^--command$/.test(word))
  if (wrapper.scriptOptions && late >= 0) scripts.push(words[late + 1] ?? '')
  const attached = wrapper.scriptOptions && words.find((word) => word.startsWith('--command='))
  if (attached) scripts.push(attached.slice('--command='.length))
  return {
    words,
    scripts,
    assignments,
    directory: valueOf(wrapper.directoryOptions)[0] ?? null,
  }
}
