/** Stands for a head(1) or tail(1) that was taken off: it leaves the shell its pipeline and holds nothing back. */
const passesOn = ' | tee'

/** A command and the limits that stood at its end. */
export interface ExtractedLimits {
  command: string
  /** First lines of the output that are wanted. */
  head?: number
  /** Last lines of these. */
  tail?: number
}

/**
 * Takes a trailing `| head -n N` or `| tail -n N` (or both, in this order) off an agent's command, so that
 * the output is limited by nacre and the artifact keeps all of it; the status stays that of the pipeline, as the
 * shell has it. Only where the text stays the same: the whole command is one pipeline, after at most one
 * `cd … &&`, it writes no errors beside the pipe, and, where it is not read to its end, it is known to end by
 * itself. Anything else is answered as it came.
 */
export function extractLimits(command: string): ExtractedLimits {
  const stages = splitPipeline(command)
  if (stages === null || /pipefail|PIPESTATUS/.test(command)) return { command }
  const limits: { head?: number; tail?: number } = {}
  let end = stages.length
  for (const program of ['tail', 'head'] as const) {
    const count = end > 1 ? countOf(program, stages[end - 1]!.text) : null
    if (count === null) continue
    limits[program] = count
    end--
  }
  const rest = stages.slice(0, end)
  if (end === stages.length) return { command }
  // tail(1) waits for the end itself, so that only what has none is left to it.
  const ends = limits.head === undefined ? isBounded : endsByItself
  if (!rest.every(({ text }) => ends(text)) || !rest.every(isQuiet)) return { command }
  return { command: command.slice(0, rest.at(-1)!.end).trimEnd() + passesOn, ...limits }
}

/** N of `head -n N`, `-nN`, `-N`, `--lines N` or `--lines=N`; null for any other use. */
function countOf(program: string, stage: string): number | null {
  const match = /^\s*(head|tail)\s+(?:-n\s*|--lines[= ]\s*|-)([0-9]{1,7})\s*$/.exec(stage)
  const count = Number(match?.[2])
  return match?.[1] === program && count > 0 ? count : null
}

/**
 * Programs that end when their input and their work have ended. Of any other it is not known, and then
 * the pipe of the shell has to end it: what writes without end would go on to its deadline.
 */
const ending = new Set(
  (
    'cat tac nl head tail cut paste join comm column fold fmt rev tr sort uniq wc sed awk gawk mawk ' +
    'grep egrep fgrep zgrep rg ag ack ls dir tree find fd stat file du df ps pgrep lsof ss id who ' +
    'echo printf seq date env printenv uname hostname which type dirname basename realpath readlink ' +
    'diff cmp colordiff md5sum sha1sum sha256sum cksum xxd od hexdump strings jq yq tar unzip zipinfo ' +
    'git pip pip3 dpkg apt-cache rpm brew pytest eslint prettier mypy ruff shellcheck nproc lscpu ' +
    'free uptime mount nm objdump ldd gcc cc clang'
  ).split(' '),
)

/** The commands of programs that also have others, such as servers, which do not end. */
const endingCommands: Readonly<Record<string, RegExp>> = {
  npm: /^(?:test|t|ls|list|ll|install|i|ci|view|outdated|audit|pack|explain|why)$/,
  pnpm: /^(?:test|ls|list|install|i|outdated|audit|why)$/,
  yarn: /^(?:test|list|install|outdated|audit|why|info)$/,
  cargo: /^(?:build|check|clippy|test|tree|metadata|doc|fmt)$/,
  go: /^(?:build|vet|test|list|env|doc|mod|fmt)$/,
  docker: /^(?:ps|images|inspect|version|info)$/,
  podman: /^(?:ps|images|inspect|version|info)$/,
  apt: /^(?:list|show|search|policy)$/,
}

const following = /\s(?:-[a-zA-Z]*[fF]|--follow(?:=\S*)?|--retry|--watch|--monitor)(?:\s|$)/
const endlessFile = /\/dev\/(?:zero|full|u?random|stdin|tty)|\/proc\/kmsg/
/** A loop in the program of awk or sed, and a sequence to infinity. */
const endlessProgram = /\bwhile\b|for\s*\(\s*;|\binf\b/

function endsByItself(stage: string): boolean {
  const [name, ...rest] = wordsOf(stage)
  const command = rest.find((word) => !word.startsWith('-')) ?? ''
  const known = ending.has(name) || (endingCommands[name]?.test(command) ?? false)
  return known && isBounded(stage)
}

/** The name of its program, and what it is called with. */
function wordsOf(stage: string): [string, ...string[]] {
  const [program = '', ...rest] = stage
    .trim()
    .replace(/^(?:[A-Za-z_]\w*=\S*\s+)*(?:sudo\s+)?/, '')
    .split(/\s+/)
  return [program.slice(program.lastIndexOf('/') + 1), ...rest]
}

/** Whether nothing in it asks for more than there is. Options of grep and find mean other things. */
function isBounded(stage: string): boolean {
  const follows = !/^\s*(?:[efz]?grep|find)\s/.test(stage) && following.test(stage)
  return !follows && !endlessFile.test(stage) && !endlessProgram.test(stage)
}

/**
 * Programs that write errors only where they print nothing else. Those of any other come between what they
 * print, and none of head(1) or tail(1) counts them.
 */
const quiet = new Set(
  (
    'seq echo printf date env printenv uname hostname which basename dirname git ps pgrep id who ' +
    'nproc lscpu free uptime jq yq npm pnpm yarn sort'
  ).split(' '),
)

/** What reads the stage before it has no files that could be missing. */
function isQuiet({ text }: Stage, index: number): boolean {
  return index > 0 || /2>&1|&>|2>\s*\S/.test(text) || quiet.has(wordsOf(text)[0])
}

interface Stage {
  text: string
  /** Where it ends in the command. */
  end: number
}

/** A directory in plain letters or in one pair of quotes; `cd -` and names found by CDPATH may print. */
const leadingCd = /^\s*cd\s+(?:'[./~][^']*'|"[./~][^"$`\\]*"|[./~][\w./~@%+,:-]*)\s*&&/

/** The stages of a command that is one pipeline; null where it is anything else, or where that is in doubt. */
function splitPipeline(command: string): Stage[] | null {
  const first = leadingCd.exec(command)?.[0].length ?? 0
  const stages: Stage[] = []
  let start = first
  let at = first
  while (at < command.length) {
    const character = command[at]!
    const next = command[at + 1]
    if (character === "'") at = command.indexOf("'", at + 1)
    else if (character === '"') at = endOfDoubleQuotes(command, at)
    else if (character === '\\') at = next === '\n' ? -1 : at + 1
    else if (character === '|') {
      if (next === '|' || next === '&' || command[at - 1] === '>') return null
      stages.push({ text: command.slice(start, at), end: at })
      start = at + 1
    } else if (character === '&') {
      // `2>&1` and `&>file` are no list.
      if (command[at - 1] !== '>' && command[at - 1] !== '<' && next !== '>') return null
    } else if (character === '#' && /[\s|]/.test(command[at - 1] ?? ' ')) return null
    else if (character === '\n' ? command.slice(at).trim() !== '' : /[;()`]/.test(character))
      return null
    else if (character === '$' && /['"]/.test(next ?? '')) return null
    else if (character === '<' && next === '<') return null
    // An open quote, a substitution in quotes, a line that goes on.
    if (at < 0) return null
    at++
  }
  stages.push({ text: command.slice(start), end: command.length })
  const isPlain = !/^\s*(?:!|time|coproc|exec|eval)\s/.test(stages[0]!.text)
  return isPlain && stages.every(({ text }) => text.trim() !== '') ? stages : null
}

/** The place of the closing quote; -1 where there is none, or where commands are substituted within. */
function endOfDoubleQuotes(command: string, from: number): number {
  for (let at = from + 1; at < command.length; at++) {
    const character = command[at]
    if (character === '"') return at
    if (character === '`' || (character === '$' && command[at + 1] === '(')) return -1
    if (character === '\\') at++
  }
  return -1
}
