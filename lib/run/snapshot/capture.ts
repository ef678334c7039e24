import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProcess, type StartedProcess } from '../../system/process/spawn.ts'
import { removeTemporaryFolder } from '../../system/temporary-folder.ts'
import { createId } from '../../protocol/wire.ts'
import { quoteWord } from '../../protocol/words.ts'
import { stopTree } from '../stop.ts'
import { ifThere } from '../../system/look.ts'
import { markVariable } from '../../system/process/own-process.ts'

/** What a shell says of itself after a person's start files. */
export interface CapturedParts {
  /** The definition of each, as the shell itself reads it back. */
  functions: ReadonlyMap<string, string>
  aliases: ReadonlyMap<string, string>
  /** The value of each exported variable. */
  exports: ReadonlyMap<string, string>
  /** As the shell lists them. */
  optionsBefore: string
  optionsAfter: string
  /** The part that has to be read before the functions. */
  prelude: string
  /** The shell has met a fault of syntax, and has read nothing behind it. */
  hasSyntaxFault: boolean
}

export type Capture = { kind: 'captured'; parts: CapturedParts } | { kind: 'failed'; why: string }

export interface CaptureOptions {
  /** The shell's program. */
  file: string
  name: string
  startFiles: StartFiles
  startFile: string
  /** The environment in which it is run. */
  env: Readonly<Record<string, string>>
  /** An empty folder for this capture alone is made in here, and removed. */
  directory: string
  timeoutMs: number
}

/** Runs the start files in an interactive shell without a terminal, and ends all that they started. */
export async function captureSetUp(options: CaptureOptions): Promise<Capture> {
  const folder = mkdtempSync(join(options.directory, 'capture-'))
  const out = join(folder, 'out')
  const wrapper = join(folder, 'rc')
  const mark = createId('snapshot')
  const { file, name, startFiles, startFile, timeoutMs } = options
  const { args, wrapperText } = startFiles.compose({ startFile, wrapper, out })
  try {
    if (wrapperText !== undefined) writeFileSync(wrapper, wrapperText, { mode: 0o600 })
    const { HISTFILE: _, BASH_ENV: __, ...env } = options.env
    const child = await startProcess({
      file,
      args,
      argv0: name,
      cwd: folder,
      env: { ...env, [markVariable]: mark },
      // What it asks gets no answer, what it prints is not ours to show.
      stdio: ['ignore', 'ignore', 'ignore'],
      detached: true,
    })
    const how = await awaitEnd(child, timeoutMs)
    await stopTree({ pid: child.pid, mark }, { graceMs: 200 })
    // What a stop woke up has seen its commands fail.
    const parts = how.late ? null : readParts(out)
    return parts ? { kind: 'captured', parts } : { kind: 'failed', why: how.text }
  } finally {
    removeTemporaryFolder(folder)
  }
}

/** Waits for the end of the shell, not for what holds its streams. Tells how it ended. */
function awaitEnd(
  child: StartedProcess,
  timeoutMs: number,
): Promise<{ text: string; late: boolean }> {
  return new Promise((resolve) => {
    const late = { text: `it took more than ${timeoutMs / 1000} s`, late: true }
    const timer = setTimeout(() => resolve(late), timeoutMs)
    const end = (text: string) => {
      clearTimeout(timer)
      resolve({ text, late: false })
    }
    child.once('exit', (code, signal) => end(`it ended the shell (${signal ?? `status ${code}`})`))
  })
}

/** Gives null where the shell has not told everything. */
function readParts(path: string): CapturedParts | null {
  const fields = ifThere(() => readFileSync(path, 'utf8'))?.split('\0')
  if (fields?.pop() !== 'end') return null
  const found = { f: new Map<string, string>(), a: new Map(), e: new Map() }
  const options = { b: '', o: '', p: '' }
  let hasSyntaxFault = false
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [kind = '', name = '', value = ''] = fields.slice(at, at + 3)
    if (kind === 'f' || kind === 'a' || kind === 'e') found[kind].set(name, value)
    else if (kind === 'b' || kind === 'o' || kind === 'p') options[kind] = value
    else if (kind === 's') hasSyntaxFault = true
  }
  return {
    functions: found.f,
    aliases: found.a,
    exports: found.e,
    optionsBefore: options.b,
    optionsAfter: options.o,
    prelude: options.p,
    hasSyntaxFault,
  }
}

/**
 * How one kind of shell is made to read a person's start files and to tell afterwards what they have set
 * up. What it tells are records of three texts, each ended by NUL: a letter (`f` a function, `a` an alias,
 * `e` an exported variable, `b` and `o` the options before and after, `p` what must be set before the rest
 * is read, `s` that the syntax of the file is wrong), a name, and the text or value. The word `end` closes
 * them.
 */
export interface StartFiles {
  /** The files of this home. Where there is none, nothing is set up. */
  find(env: Readonly<Record<string, string>>): string[]
  /** The words of the interactive shell; the file `wrapper`, where there is a text for it, is one of them. */
  compose(places: { startFile: string; wrapper: string; out: string }): {
    args: string[]
    wrapperText?: string
  }
}

/**
 * `return` in the person's file ends only that file; aliases and functions of it may be named like any
 * command, so `\builtin` stands before every word of ours. Each line is read when the ones before it have
 * run: what `unalias -a` takes away no longer changes the lines below it.
 */
const bash: StartFiles = {
  find: ({ HOME = '' }) => existing(join(HOME, '.bashrc')),
  compose({ startFile, wrapper, out }) {
    const to = `>>${quoteWord(out)} 2>/dev/null`
    const options = '$(\\builtin shopt -p; \\builtin shopt -po)'
    const each = (kind: string, names: string, text: string) =>
      `for __nacre_n in $(\\builtin compgen ${names}); do ` +
      `\\builtin printf '${kind}\\0%s\\0' "$__nacre_n"; ${text}; \\builtin printf '\\0'; done`
    const wrapperText = [
      `__nacre_before="${options}"`,
      `\\builtin . ${quoteWord(startFile)}; __nacre_status=$?`,
      '\\unset -f builtin',
      '\\builtin trap - DEBUG ERR RETURN EXIT',
      // Before the values are read: this one could end the shell here, and the next ones disturb.
      '\\builtin set +e',
      `__nacre_after="${options}"`,
      '\\builtin set +euxC -f',
      `IFS=$'\\n'`,
      // A file that fails is mostly one whose last command did; only the shell can tell a fault of syntax.
      `case $__nacre_status in 0) ;; *) "$BASH" -O extglob -n ${quoteWord(startFile)} 2>/dev/null ||`,
      `\\builtin printf 's\\0\\0\\0' ${to};; esac`,
      `{ ${each('a', '-a', '\\builtin alias -- "$__nacre_n"')}; } ${to}`,
      '\\builtin unalias -a',
      `{ ${each('f', '-A function', '\\builtin declare -f -- "$__nacre_n"')}`,
      each('e', '-e', '\\builtin printf %s "${!__nacre_n}"'),
      `\\builtin printf 'b\\0\\0%s\\0o\\0\\0%s\\0end' "$__nacre_before" "$__nacre_after"`,
      `} ${to}`,
      // What this shell was told is not for the person's history.
      '\\builtin unset HISTFILE',
      '\\builtin exit 0',
      '',
    ].join('\n')
    return { args: ['--noprofile', '--rcfile', wrapper, '-i'], wrapperText }
  },
}

/** Completions are functions that zsh loads when they are first used; they are of no use to a command. */
const zsh: StartFiles = {
  find({ HOME = '', ZDOTDIR = HOME }) {
    return existing(join(ZDOTDIR, '.zshrc'), join(ZDOTDIR, '.zshenv'))
  },
  compose({ startFile, out }) {
    const each = (kind: string, names: string, text: string) =>
      `for __nacre_n in ${names}; do ` +
      `\\builtin printf '${kind}\\0%s\\0' "$__nacre_n"; ${text}; \\builtin printf '\\0'; done`
    const load = '\\builtin printf "builtin autoload -Uz -- %s" "${(q)__nacre_n}"'
    const script = [
      '__nacre_o="$(\\builtin setopt)"',
      '\\builtin emulate -R zsh',
      '{',
      // After its start files the status is 0, also where one could not be read to its end; and a check
      // alone fails where a file is right, as at `h=([a]=b)`.
      `case $(\\builtin command zsh -fn ${quoteWord(startFile)} 2>&1) in *': parse error'*)`,
      "\\builtin printf 's\\0\\0\\0' ;; esac",
      each('a', '${(k)aliases} ${(k)galiases}', '\\builtin alias -L -- "$__nacre_n"'),
      'for __nacre_n in ${(k)functions}; do case ${functions[$__nacre_n]} in',
      `  *'builtin autoload -X'*) [[ $__nacre_n = _* ]] && continue`,
      `  \\builtin printf 'f\\0%s\\0' "$__nacre_n"; ${load} ;;`,
      `  *) \\builtin printf 'f\\0%s\\0' "$__nacre_n"; \\builtin functions -- "$__nacre_n" ;;`,
      `esac; \\builtin printf '\\0'; done`,
      each('e', '${(k)parameters[(R)*export*]}', '\\builtin printf %s "${(P)__nacre_n}"'),
      `\\builtin printf 'p\\0\\0%s\\0o\\0\\0%s\\0end' "fpath=(\${(qq)fpath})" "$__nacre_o"`,
      `} >>${quoteWord(out)} 2>/dev/null`,
      '\\builtin unset HISTFILE',
      '\\builtin exit 0',
    ].join('\n')
    return { args: ['-i', '-c', script] }
  },
}

/**
 * Its variables are a person's like any other's; its functions mean nothing to another shell, but for those
 * that its `alias` has made, whose description holds the words.
 */
const fish: StartFiles = {
  find({ HOME = '', XDG_CONFIG_HOME = join(HOME, '.config') }) {
    return existing(
      join(XDG_CONFIG_HOME, 'fish/config.fish'),
      join(XDG_CONFIG_HOME, 'fish/conf.d'),
      join(XDG_CONFIG_HOME, 'fish/fish_variables'),
    )
  },
  compose({ startFile, out }) {
    const file = quoteWord(startFile)
    const script =
      `begin; test -f ${file}; and not fish --no-execute ${file}; and builtin printf 's\\0\\0\\0'; ` +
      'for n in (set --names --export); ' +
      `builtin printf 'e\\0%s\\0%s\\0' $n "$$n"; end; ` +
      'for n in (functions --names); set -l d (functions --details --verbose $n)[5]; ' +
      `string match -qr '^alias \\S+[ =]' -- $d; and builtin printf 'a\\0%s\\0%s\\0' $n ` +
      `(string replace -r '^alias \\S+[ =]' '' -- $d); end; ` +
      `builtin printf end; end >>${quoteWord(out)}`
    return { args: ['--private', '-i', '-c', script] }
  },
}

function existing(...paths: string[]): string[] {
  return paths.filter((path) => existsSync(path))
}

/** The start files of each shell, by the name of its program. */
export const startFilesOf: ReadonlyMap<string, StartFiles> = new Map([
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
])
