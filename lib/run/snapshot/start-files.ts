import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { quoteWord } from '../../protocol/words.ts'
import { createId } from '../../protocol/wire.ts'
import { ifThere } from '../../system/look.ts'
import { markVariable } from '../../system/process/own-process.ts'
import { startProcess, type StartedProcess } from '../../system/process/spawn.ts'
import { removeTemporaryFolder } from '../../system/temporary-folder.ts'
import { stopTree } from '../stop.ts'

/** What a shell reports of itself after a person's start files. */
export interface SetUpParts {
  /** The definition of each, as bash itself reads it back; of zsh only the names. */
  functions: ReadonlyMap<string, string>
  /** The definition of each in bash, the value of each in zsh and fish. */
  aliases: ReadonlyMap<string, string>
  /** The value of each exported variable. */
  exports: ReadonlyMap<string, string>
  /** The shell would not read its functions back, so that they are missing. */
  hasLostFunctions: boolean
  /** The shell has met a syntax error, and has read nothing behind it. */
  hasSyntaxError: boolean
}

/** A shell whose start files are read. */
export interface StartedShell {
  file: string
  name: string
  startFiles: StartFiles
}

/** Null: the start files of such a shell are not known. */
export function describeShell(file: string): StartedShell | null {
  const name = basename(file)
  const startFiles = startFilesOf[name]
  return startFiles === undefined ? null : { file, name, startFiles }
}

interface Capture {
  startFile: string
  /** The environment in which the shell is run. */
  env: Readonly<Record<string, string>>
  /** An empty folder for this capture alone is made in here, and removed. */
  directory: string
  timeoutMs: number
}

/**
 * Runs the start files in an interactive shell without a terminal, and ends all that they started. Gives what
 * they have set up, or a sentence why it is not known.
 */
export async function readStartFiles(
  { file, name, startFiles }: StartedShell,
  { startFile, env, directory, timeoutMs }: Capture,
): Promise<SetUpParts | string> {
  const folder = mkdtempSync(join(directory, 'capture-'))
  const out = join(folder, 'out')
  const mark = createId('snapshot')
  try {
    const { HISTFILE: _, BASH_ENV: __, ...own } = env
    const child = await startProcess({
      file,
      args: startFiles.compose(startFile, out),
      argv0: name,
      cwd: folder,
      env: { ...own, [markVariable]: mark },
      // What it asks gets no answer, what it prints is not ours to show.
      stdio: ['ignore', 'ignore', 'ignore'],
      detached: true,
    })
    const end = await awaitEnd(child, timeoutMs)
    await stopTree({ pid: child.pid, mark }, { graceMs: 200 })
    // What a stop woke up has seen its commands fail.
    return (
      (end === null ? null : readParts(out)) ?? end ?? `it took more than ${timeoutMs / 1000} s`
    )
  } finally {
    removeTemporaryFolder(folder)
  }
}

/** Waits for the end of the shell, not for what holds its streams. Gives how it ended; null: it is late. */
function awaitEnd(child: StartedProcess, timeoutMs: number): Promise<string | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(null), timeoutMs)
    child.once('exit', (code, signal) => {
      clearTimeout(timer)
      resolve(`it ended the shell (${signal ?? `status ${code}`})`)
    })
  })
}

/** Null if the shell has not reported everything. */
function readParts(path: string): SetUpParts | null {
  const fields = ifThere(() => readFileSync(path, 'utf8'))?.split('\0')
  if (fields?.pop() !== 'end') return null
  const found = {
    f: new Map<string, string>(),
    a: new Map(),
    e: new Map(),
    l: new Map(),
    s: new Map(),
  }
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [kind = '', name = '', value = ''] = fields.slice(at, at + 3)
    if (kind in found) found[kind as keyof typeof found].set(name, value)
  }
  return {
    functions: found.f,
    aliases: found.a,
    exports: found.e,
    hasLostFunctions: found.l.size > 0,
    hasSyntaxError: found.s.size > 0,
  }
}

/**
 * How one kind of shell is made to read a person's start files and to report afterwards what they have set
 * up. It writes records of three texts, each ended by NUL: a letter (`f` a function, `a` an alias, `e` an
 * exported variable, `l` that it does not read its functions back, `s` that the syntax of the file is wrong),
 * a name, and the text or value. The word `end` closes them.
 */
interface StartFiles {
  /** The files of this home. If there are none, nothing is set up. */
  find(env: Readonly<Record<string, string>>): string[]
  /** The words of the interactive shell, which writes its records to `out`. */
  compose(startFile: string, out: string): string[]
}

/**
 * `return` in the person's file ends only that file; aliases and functions of it may be named like any
 * command, so `\builtin` stands before every word of ours. Each line is read when the ones before it have
 * run: what `unalias -a` takes away no longer changes the lines below it.
 */
const bash: StartFiles = {
  find: ({ HOME = '' }) => existing(join(HOME, '.bashrc')),
  compose(startFile, out) {
    const to = `>>${quoteWord(out)} 2>/dev/null`
    const functions = quoteWord(`${out}.functions`)
    const check = (file: string) => `"$BASH" --norc --noprofile -O extglob -n ${file} 2>/dev/null`
    const each = (kind: string, names: string, text: string) =>
      `for __nacre_n in $(\\builtin compgen ${names}); do ` +
      `\\builtin printf '${kind}\\0%s\\0' "$__nacre_n"; ${text}; \\builtin printf '\\0'; done`
    const script = [
      `\\builtin . ${quoteWord(startFile)}; __nacre_status=$?`,
      '\\unset -f builtin',
      '\\builtin trap - DEBUG ERR RETURN EXIT',
      '\\builtin set +euxC -f',
      `IFS=$'\\n'`,
      // A file that fails is mostly one whose last command did; only the shell can tell a syntax error.
      `case $__nacre_status in 0) ;; *) ${check(quoteWord(startFile))} ||`,
      `\\builtin printf 's\\0\\0\\0' ${to};; esac`,
      `{ ${each('a', '-a', '\\builtin alias -- "$__nacre_n"')}; } ${to}`,
      '\\builtin unalias -a',
      `\\builtin declare -f >${functions}`,
      `{ if ${check(functions)}; then`,
      each('f', '-A function', '\\builtin declare -f -- "$__nacre_n"'),
      `else \\builtin printf 'l\\0\\0\\0'; fi`,
      each('e', '-e', '\\builtin printf %s "${!__nacre_n}"'),
      `\\builtin printf end; } ${to}`,
      // What this shell was told is not for the person's history.
      '\\builtin unset HISTFILE',
      '\\builtin exit 0',
      '',
    ].join('\n')
    return ['--noprofile', '--norc', '-i', '-c', script]
  },
}

const zsh: StartFiles = {
  find({ HOME = '', ZDOTDIR = HOME }) {
    return existing(join(ZDOTDIR, '.zshrc'), join(ZDOTDIR, '.zshenv'))
  },
  compose(startFile, out) {
    const each = (kind: string, names: string, value: string) =>
      `for __nacre_n in ${names}; do \\builtin printf '${kind}\\0%s\\0%s\\0' "$__nacre_n" "${value}"; done`
    const script = [
      '\\builtin emulate -R zsh',
      '{',
      // After its start files the status is 0, also if one could not be read to its end; and a check
      // alone fails for a file that is right, as at `h=([a]=b)`.
      `case $(\\builtin command zsh -fn ${quoteWord(startFile)} 2>&1) in *': parse error'*)`,
      "\\builtin printf 's\\0\\0\\0' ;; esac",
      each('a', '${(k)aliases}', '${aliases[$__nacre_n]}'),
      each('f', '${(k)functions}', ''),
      each('e', '${(k)parameters[(R)*export*]}', '${(P)__nacre_n}'),
      `\\builtin printf end; } >>${quoteWord(out)} 2>/dev/null`,
      '\\builtin unset HISTFILE',
      '\\builtin exit 0',
    ].join('\n')
    return ['-i', '-c', script]
  },
}

/** Its aliases are functions whose description holds the words. */
const fish: StartFiles = {
  find({ HOME = '', XDG_CONFIG_HOME = join(HOME, '.config') }) {
    return existing(
      join(XDG_CONFIG_HOME, 'fish/config.fish'),
      join(XDG_CONFIG_HOME, 'fish/conf.d'),
      join(XDG_CONFIG_HOME, 'fish/fish_variables'),
    )
  },
  compose(startFile, out) {
    const file = quoteWord(startFile)
    const script =
      `begin; test -f ${file}; and not fish --no-execute ${file}; and builtin printf 's\\0\\0\\0'; ` +
      'for n in (set --names --export); ' +
      `builtin printf 'e\\0%s\\0%s\\0' $n "$$n"; end; ` +
      'for n in (functions --names); set -l d (functions --details --verbose $n)[5]; ' +
      `string match -qr '^alias \\S+[ =]' -- $d; and builtin printf 'a\\0%s\\0%s\\0' $n ` +
      `(string replace -r '^alias \\S+[ =]' '' -- $d); end; ` +
      `builtin printf end; end >>${quoteWord(out)}`
    return ['--private', '-i', '-c', script]
  },
}

function existing(...paths: string[]): string[] {
  return paths.filter((path) => existsSync(path))
}

/** By the names of their programs. */
const startFilesOf: Readonly<Record<string, StartFiles>> = { bash, zsh, fish }
